# expect: A1=finding A4=yes
import os
from flask import Flask, abort, request, send_file

app = Flask(__name__)
DOCS = "/srv/docs"


@app.route("/doc")
def doc():
    name = request.args["name"]
    if ".." in name or name.startswith("/"):
        abort(400)
    return send_file(os.path.join(DOCS, name))
