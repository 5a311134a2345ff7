import pytest
import reader


def test_reads(tmp_path, monkeypatch):
    monkeypatch.setattr(reader, "ROOT", str(tmp_path))
    (tmp_path / "a").write_text("x")
    assert reader.read("a") == "x"


def test_dotdot(tmp_path):
    with pytest.raises(ValueError):
        reader.read("../a")
