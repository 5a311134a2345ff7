// expect: A4=finding B3=finding
use rocket::fs::NamedFile;
use std::path::Path;

const STATIC: &str = "/srv/static";

#[get("/file?<name>")]
async fn file(name: String) -> Option<NamedFile> {
    NamedFile::open(Path::new(STATIC).join(name)).await.ok()
}
