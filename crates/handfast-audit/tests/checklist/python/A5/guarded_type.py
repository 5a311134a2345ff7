# expect: A5=yes
import os
import re
from flask import Flask, abort, request

app = Flask(__name__)
JOBS = "/srv/jobs"


@app.post("/job")
def job():
    name = request.json["name"]
    if not isinstance(name, str) or not name:
        abort(400)
    if not re.fullmatch("[a-z]{1,20}", name):
        abort(400)
    return open(os.path.join(JOBS, name)).read()
