// expect: C2=finding
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
    let info = fs::metadata(&path).map_err(|_| StatusCode::NOT_FOUND)?;
    if info.file_type().is_symlink() {
        return Err(StatusCode::BAD_REQUEST);
    }
    fs::read(path).map_err(|_| StatusCode::NOT_FOUND)
}
