# expect: D1=finding
import os
from flask import Flask, request

app = Flask(__name__)
ROOT = "/srv/jobs"


@app.post("/job")
def job():
    os.makedirs(os.path.join(ROOT, request.form["name"]), exist_ok=True)
    return "ok"
