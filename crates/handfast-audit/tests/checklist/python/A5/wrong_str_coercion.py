# expect: A5=finding
import os
from flask import Flask, request

app = Flask(__name__)
JOBS = "/srv/jobs"


@app.post("/job")
def job():
    name = str(request.json.get("name"))
    return open(os.path.join(JOBS, name)).read()
