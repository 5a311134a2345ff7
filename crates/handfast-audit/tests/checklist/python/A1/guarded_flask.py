# expect: A1=yes A2=yes A4=yes
import os
import re
from flask import Flask, abort, request, send_file

app = Flask(__name__)
REPORTS = "/srv/reports"
REPORT_ID = re.compile(r"[a-z0-9]{1,32}")


@app.get("/report")
def report():
    report_id = request.args.get("id", "")
    if not REPORT_ID.fullmatch(report_id):
        abort(404)
    return send_file(os.path.join(REPORTS, report_id + ".pdf"))
