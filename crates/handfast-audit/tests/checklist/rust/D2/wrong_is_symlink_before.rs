// expect: D2=finding
use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use axum::extract::Path as Segment;
use axum::http::StatusCode;
use std::fs;
use std::path::Path;

const BOX: &str = "/srv/box";

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= 30 && name.bytes().all(|b| b.is_ascii_lowercase())
}

pub async fn read(Segment(name): Segment<String>) -> Result<String, StatusCode> {
    if !is_name(&name) {
        return Err(StatusCode::BAD_REQUEST);
    }
    let path = Path::new(BOX).join(&name);
    if path.is_symlink() {
        return Err(StatusCode::FORBIDDEN);
    }
    let mut text = String::new();
    let mut file = fs::File::open(&path).map_err(|_| StatusCode::NOT_FOUND)?;
    file.read_to_string(&mut text).map_err(|_| StatusCode::NOT_FOUND)?;
    Ok(text)
}
