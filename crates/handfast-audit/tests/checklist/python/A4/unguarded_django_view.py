# expect: A4=finding B3=finding
import os
from django.conf import settings
from django.http import HttpResponse


def download(request, filename):
    path = os.path.join(settings.MEDIA_ROOT, filename)
    with open(path, "rb") as handle:
        return HttpResponse(handle.read())
