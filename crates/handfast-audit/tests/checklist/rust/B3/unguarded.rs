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
    fs::read_to_string(Path::new(BOX).join(&name)).map_err(|_| StatusCode::NOT_FOUND)
}
