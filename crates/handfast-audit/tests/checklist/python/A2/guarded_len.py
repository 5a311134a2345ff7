# expect: A1=yes A2=yes
import os
import re
from aiohttp import web

CACHE = "/var/cache/tiles"


async def tile(request):
    layer = request.match_info["layer"]
    if len(layer) > 40 or not re.fullmatch(r"[A-Za-z0-9_]+", layer):
        raise web.HTTPBadRequest()
    return web.FileResponse(os.path.join(CACHE, layer))
