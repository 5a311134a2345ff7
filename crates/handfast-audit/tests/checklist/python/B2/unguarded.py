# expect: B2=finding
import os
from flask import Flask, request


class Store:
    def __init__(self, root):
        self.root = os.path.realpath(root)

    def read(self, name):
        with open(os.path.join(self.root, name), "rb") as handle:
            return handle.read()


app = Flask(__name__)
store = Store("/srv/store")


@app.route("/get")
def get():
    return store.read(request.args["f"])
