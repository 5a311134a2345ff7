use daily::Daily;

#[tokio::test]
async fn it_appends() {
    tokio::time::pause();
    let dir = tempfile::tempdir().unwrap();
    Daily::new(dir.path()).append("acme", "x").unwrap();
}
