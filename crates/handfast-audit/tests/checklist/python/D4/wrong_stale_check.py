# expect: D4=finding
import os
import re
import stat
from aiohttp import web

BOX = "/srv/box"


async def remove(request):
    name = request.match_info["name"]
    if not re.fullmatch(r"[a-z]{1,30}", name):
        raise web.HTTPBadRequest()
    path = os.path.join(BOX, name)
    if stat.S_ISLNK(os.lstat(path).st_mode):
        raise web.HTTPBadRequest()
    await notify_watchers(name)
    os.chmod(path, 0o600)
    return web.Response()
