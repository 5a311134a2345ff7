use daily::Daily;

#[test]
fn it_appends() {
    let dir = tempfile::tempdir().unwrap();
    Daily::new(dir.path()).append("acme", "x").unwrap();
}
