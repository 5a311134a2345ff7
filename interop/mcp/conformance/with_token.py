"""Puts a token on every request: the conformance suite sends none, and the server answers nobody without one.

    python3 with_token.py SERVER_URL TOKEN

Prints the port that it listens on. Everything else of a request is passed on as it came, also a foreign `Host`
or `Origin`, which the server has to refuse itself.
"""

import http.client
import http.server
import sys
import urllib.parse

SERVER = urllib.parse.urlsplit(sys.argv[1])
TOKEN = sys.argv[2]


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def pass_on(self):
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        own = f":{self.server.server_address[1]}"
        connection = http.client.HTTPConnection(SERVER.hostname, SERVER.port, timeout=30)
        connection.putrequest(self.command, self.path, skip_host=True, skip_accept_encoding=True)
        for name, value in self.headers.items():
            if name.lower() in ("host", "origin"):
                # Our own address stands for the server's.
                value = value.replace(own, f":{SERVER.port}")
            if name.lower() not in ("authorization", "connection", "transfer-encoding", "content-length"):
                connection.putheader(name, value)
        connection.putheader("Content-Length", str(len(body)))
        connection.putheader("Authorization", f"Bearer {TOKEN}")
        connection.endheaders(body)
        answer = connection.getresponse()
        content = answer.read()
        self.send_response_only(answer.status, answer.reason)
        for name, value in answer.getheaders():
            if name.lower() not in ("content-length", "connection"):
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)
        connection.close()

    do_POST = do_GET = do_DELETE = do_PUT = do_OPTIONS = pass_on

    def log_message(self, *_):
        pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(server.server_address[1], flush=True)
server.serve_forever()
