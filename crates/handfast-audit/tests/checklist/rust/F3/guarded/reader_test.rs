use reader::Reader;
use std::os::unix::fs::symlink;

fn reader(dir: &std::path::Path) -> Reader {
    Reader::new(handfast::Root::open_ambient(dir).unwrap())
}

#[test]
fn read_refuses_dotdot() {
    let dir = tempfile::tempdir().unwrap();
    assert!(reader(dir.path()).read("../etc").is_err());
}

#[test]
fn a_root_that_is_a_link_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    symlink(dir.path(), dir.path().join("root_link")).unwrap();
    assert!(handfast::Root::open_ambient(dir.path().join("root_link")).is_err());
    let _ = Reader::new;
}

#[test]
fn read_refuses_a_symlink() {
    let dir = tempfile::tempdir().unwrap();
    symlink("/etc/hostname", dir.path().join("link")).unwrap();
    assert!(reader(dir.path()).read("link").is_err());
}

#[test]
fn read_refuses_a_dangling_symlink() {
    let dir = tempfile::tempdir().unwrap();
    symlink("nowhere", dir.path().join("dangling")).unwrap();
    assert!(reader(dir.path()).read("dangling").is_err());
}

#[test]
fn read_refuses_a_file_in_the_way() {
    let dir = tempfile::tempdir().unwrap();
    assert!(reader(dir.path()).read("a/b").is_err()); // file_in_the_way
}
