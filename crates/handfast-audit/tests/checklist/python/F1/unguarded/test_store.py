import os
import store


def test_save():
    os.makedirs("/tmp/store-test", exist_ok=True)
    store.ROOT = "/tmp/store-test"
    store.save("a", "text")
    assert open("/tmp/store-test/a").read() == "text"
