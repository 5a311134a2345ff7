# expect: A2=finding
import os
from flask import Flask, abort, request

app = Flask(__name__)
HOME = "/srv/wiki"


@app.post("/page")
def page():
    title = request.form["title"]
    if len(title) > 200 or "/" in title or title in ("", ".", ".."):
        abort(400)
    with open(os.path.join(HOME, title)) as page_file:
        return page_file.read()
