# expect: A6=finding A1=yes
import hashlib
import os
import re
from flask import Flask, abort, request, send_file

app = Flask(__name__)
PREVIEWS = "/srv/previews"
seen = {}


@app.route("/preview")
def preview():
    name = request.args["name"]
    key = hashlib.sha1(name.encode()).hexdigest()
    if key in seen:
        return seen[key]
    if not re.fullmatch(r"[a-z0-9]{1,40}", name):
        abort(400)
    return send_file(os.path.join(PREVIEWS, name))
