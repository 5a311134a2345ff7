// expect: B3=finding
use axum::extract::Path as Segment;
use axum::http::StatusCode;
use std::fs;
use std::path::Path;

const BOX: &str = "/srv/box";

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= 30 && name.bytes().all(|b| b.is_ascii_lowercase())
}

pub async fn page(Segment(name): Segment<String>) -> Result<String, StatusCode> {
    let root = fs::canonicalize(BOX).map_err(|_| StatusCode::NOT_FOUND)?;
    let path = fs::canonicalize(root.join(&name)).map_err(|_| StatusCode::NOT_FOUND)?;
    if !path.to_string_lossy().starts_with(&*root.to_string_lossy()) {
        return Err(StatusCode::NOT_FOUND);
    }
    fs::read_to_string(path).map_err(|_| StatusCode::NOT_FOUND)
}
