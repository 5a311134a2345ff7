import os
import tempfile
import store

SHARED = os.path.join(tempfile.gettempdir(), "store-test")


def test_save():
    os.makedirs(SHARED, exist_ok=True)
    store.ROOT = SHARED
    store.save("a", "text")
    assert open(os.path.join(SHARED, "a")).read() == "text"
