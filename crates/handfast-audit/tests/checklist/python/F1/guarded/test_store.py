from store import save


def test_save(tmp_path, monkeypatch):
    monkeypatch.setattr("store.ROOT", str(tmp_path))
    save("a", "text")
    assert (tmp_path / "a").read_text() == "text"
