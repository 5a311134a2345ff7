use store::Store;
use std::path::Path;

#[test]
fn it_saves() {
    std::fs::create_dir_all("/tmp/store-test").unwrap();
    Store::new(Path::new("/tmp/store-test")).save("a", b"x").unwrap();
}
