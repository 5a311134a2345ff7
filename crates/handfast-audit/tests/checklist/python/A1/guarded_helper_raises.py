# expect: A1=yes A4=yes
import re
from pathlib import Path
from django.http import FileResponse, Http404

MEDIA = Path("/srv/media")
SLUG = re.compile(r"\A[a-z0-9]+(-[a-z0-9]+)*\Z")


def require_slug(value):
    if not isinstance(value, str) or not value:
        raise Http404("no slug")
    if len(value) > 80:
        raise Http404("slug too long")
    if SLUG.match(value) is None:
        raise Http404("bad slug")
    return value


def avatar(request):
    slug = require_slug(request.GET.get("user"))
    return FileResponse((MEDIA / "avatars" / slug).open("rb"))
