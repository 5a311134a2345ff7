# expect: B3=finding A4=finding
from flask import Flask, request
from storage import read

app = Flask(__name__)


@app.route("/page")
def page():
    return read(request.args["p"])
