# expect: A4=finding
import os
from flask import Flask, request

app = Flask(__name__)
INBOX = "/srv/inbox"


@app.post("/empty")
def empty():
    box = os.path.basename(request.form["box"])
    for entry in os.listdir(os.path.join(INBOX, box)):
        print(entry)
    return "ok"
