# expect: C3=yes D2=yes
import os
import re
import stat
from flask import Flask, abort, request

app = Flask(__name__)
BOX = "/srv/box"


@app.route("/read")
def read():
    name = request.args["name"]
    if not re.fullmatch(r"[a-z]{1,30}", name):
        abort(400)
    fd = os.open(os.path.join(BOX, name), os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    if not stat.S_ISREG(os.fstat(fd).st_mode):
        os.close(fd)
        abort(400)
    with os.fdopen(fd) as handle:
        return handle.read()
