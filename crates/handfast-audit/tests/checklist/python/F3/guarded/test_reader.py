import os
import pytest
import reader


def test_dotdot_is_refused():
    with pytest.raises(ValueError):
        reader.read("../etc")


def test_root_that_is_a_symlink_is_refused(tmp_path):
    os.symlink(tmp_path, tmp_path / "root_link")
    with pytest.raises(OSError):
        os.open(tmp_path / "root_link", os.O_DIRECTORY | os.O_NOFOLLOW)


def test_symlink_is_refused(tmp_path):
    os.symlink("/etc/hostname", tmp_path / "link")
    with pytest.raises(OSError):
        reader.read("link")


def test_dangling_symlink_is_refused(tmp_path):
    os.symlink(tmp_path / "nowhere", tmp_path / "dangling")
    with pytest.raises(OSError):
        reader.read("dangling")


def test_a_directory_is_not_a_directory_entry_to_read(tmp_path):
    (tmp_path / "sub").mkdir()
    with pytest.raises(ValueError):
        reader.read("sub")  # intermediate kinds are refused
