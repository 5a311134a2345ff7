# expect: A6=finding
import hashlib
import os
from flask import Flask, request, send_file

app = Flask(__name__)
PREVIEWS = "/srv/previews"
seen = {}


@app.route("/preview")
def preview():
    name = request.args["name"]
    key = hashlib.sha1(name.encode()).hexdigest()
    seen[key] = True
    return send_file(os.path.join(PREVIEWS, name))
