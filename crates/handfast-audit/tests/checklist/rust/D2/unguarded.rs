// expect: D2=finding
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
    tokio::fs::read(Path::new(BOX).join(&name)).await.map_err(|_| StatusCode::NOT_FOUND)
}
