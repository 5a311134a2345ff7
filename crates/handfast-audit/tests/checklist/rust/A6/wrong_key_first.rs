// expect: A6=finding A1=yes
use sha2::{Digest, Sha256};
use axum::extract::Path as Segment;
use axum::http::StatusCode;
use std::fs;
use std::path::Path;

const BOX: &str = "/srv/box";

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= 30 && name.bytes().all(|b| b.is_ascii_lowercase())
}

pub async fn preview(Segment(name): Segment<String>) -> Result<Vec<u8>, StatusCode> {
    let key = Sha256::digest(name.as_bytes());
    remember(&key);
    if !is_name(&name) {
        return Err(StatusCode::BAD_REQUEST);
    }
    fs::read(Path::new(BOX).join(&name)).map_err(|_| StatusCode::NOT_FOUND)
}
