# expect: D4=finding A4=finding
import os
from flask import Flask, request

app = Flask(__name__)
BOX = "/srv/box"


@app.post("/remove")
def remove():
    os.remove(os.path.join(BOX, request.form["name"]))
    return "ok"
