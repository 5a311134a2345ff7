import daily


def test_append(tmp_path, monkeypatch):
    monkeypatch.setattr(daily, "ROOT", str(tmp_path))
    (tmp_path / "acme").mkdir()
    daily.append("acme", "x")
