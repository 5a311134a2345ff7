# expect: C3=finding
import os
import re
from flask import Flask, abort, request

app = Flask(__name__)
BOX = "/srv/box"


@app.route("/read")
def read():
    name = request.args["name"]
    if not re.fullmatch(r"[a-z]{1,30}", name):
        abort(400)
    fd = os.open(os.path.join(BOX, name), os.O_RDONLY | os.O_NOFOLLOW)
    return os.read(fd, 4096)
