from freezegun import freeze_time
import daily


@freeze_time("2024-02-29")
def test_append(tmp_path, monkeypatch):
    monkeypatch.setattr(daily, "ROOT", str(tmp_path))
    (tmp_path / "acme").mkdir()
    daily.append("acme", "x")
    assert (tmp_path / "acme" / "2024-02-29").exists()
