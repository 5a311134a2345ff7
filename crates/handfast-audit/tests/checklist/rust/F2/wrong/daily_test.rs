use daily::Daily;

#[test]
fn it_appends() {
    let dir = tempfile::tempdir().unwrap();
    Daily::new(dir.path()).append("acme", "x").unwrap();
    let day = format!("{:?}", std::time::SystemTime::now());
    assert!(dir.path().join("acme").join(day).exists());
}
