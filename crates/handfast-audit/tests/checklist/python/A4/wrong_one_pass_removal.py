# expect: A4=finding
import os
from flask import Flask, request, send_file

app = Flask(__name__)
IMAGES = "/srv/images"


@app.route("/image")
def image():
    name = request.args["name"].replace("../", "")
    return send_file(os.path.join(IMAGES, name))
