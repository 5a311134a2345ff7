use store::Store;

#[test]
fn it_saves() {
    let dir = tempfile::tempdir().unwrap();
    Store::new(dir.path()).save("a", b"x").unwrap();
    assert_eq!(std::fs::read(dir.path().join("a")).unwrap(), b"x");
}
