# expect: A4=finding
import os
from http.server import BaseHTTPRequestHandler

ROOT = "/srv/www"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        path = os.path.join(ROOT, self.path.lstrip("/"))
        with open(path, "rb") as handle:
            self.wfile.write(handle.read())
