use reader::Reader;

#[test]
fn dotdot_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    assert!(Reader::new(dir.path()).save("../a", b"x").is_err());
}
