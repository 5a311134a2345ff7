# expect: E1=finding
import os
import re
import threading
from flask import Flask, abort, request

app = Flask(__name__)
BOX = "/srv/box"
guard = threading.Lock()


@app.post("/save")
def save():
    name = request.form["name"]
    guard.acquire()
    if not re.fullmatch(r"[a-z]{1,30}", name):
        abort(400)
    with open(os.path.join(BOX, name), "w") as handle:
        handle.write("x")
    guard.release()
    return "ok"
