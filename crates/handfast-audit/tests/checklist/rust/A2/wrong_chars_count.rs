// expect: A2=finding

use axum::extract::Path as Segment;
use axum::http::StatusCode;
use std::fs;
use std::path::Path;

const BOX: &str = "/srv/box";

pub async fn read(Segment(name): Segment<String>) -> Result<Vec<u8>, StatusCode> {
    if name.chars().count() > 200 || name.contains('/') || name == ".." {
        return Err(StatusCode::BAD_REQUEST);
    }
    fs::read(Path::new(BOX).join(&name)).map_err(|_| StatusCode::NOT_FOUND)
}
