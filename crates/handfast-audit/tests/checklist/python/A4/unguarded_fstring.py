# expect: A4=finding B3=finding
from flask import Flask, request

app = Flask(__name__)


@app.route("/log")
def log():
    day = request.args.get("day")
    with open(f"/var/log/app/{day}.log") as handle:
        return handle.read()
