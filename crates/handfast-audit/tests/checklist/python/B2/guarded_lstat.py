# expect: B2=yes
import os
import stat
from flask import Flask, request, send_file


class Store:
    def __init__(self, root):
        info = os.lstat(root)
        if stat.S_ISLNK(info.st_mode) or not stat.S_ISDIR(info.st_mode):
            raise ValueError("the store must be a real directory")
        self.root = os.path.realpath(root)

    def read(self, name):
        with open(os.path.join(self.root, name), "rb") as handle:
            return handle.read()


app = Flask(__name__)
store = Store("/srv/store")


@app.route("/get")
def get():
    return store.read(request.args["f"])
