use store::Store;

#[test]
fn it_saves() {
    let dir = std::env::temp_dir().join("store-test");
    std::fs::create_dir_all(&dir).unwrap();
    Store::new(&dir).save("a", b"x").unwrap();
}
