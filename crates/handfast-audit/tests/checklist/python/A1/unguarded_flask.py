# expect: A1=finding A2=finding A4=finding B3=finding
import os
from flask import Flask, request, send_file

app = Flask(__name__)
REPORTS = "/srv/reports"


@app.get("/report")
def report():
    return send_file(os.path.join(REPORTS, request.args["id"]))
