// expect: C3=finding C2=yes
use axum::extract::Path as Segment;
use axum::http::StatusCode;
use std::fs;
use std::path::Path;

const BOX: &str = "/srv/box";

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= 30 && name.bytes().all(|b| b.is_ascii_lowercase())
}

pub async fn read(Segment(name): Segment<String>) -> Result<Vec<u8>, StatusCode> {
    if !is_name(&name) {
        return Err(StatusCode::BAD_REQUEST);
    }
    let path = Path::new(BOX).join(&name);
    if path.is_symlink() {
        return Err(StatusCode::BAD_REQUEST);
    }
    fs::read(path).map_err(|_| StatusCode::NOT_FOUND)
}
