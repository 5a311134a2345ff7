// expect: C5=finding
use axum::extract::Path as Segment;
use axum::http::StatusCode;
use std::fs;
use std::path::Path;

const BOX: &str = "/srv/box";

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= 30 && name.bytes().all(|b| b.is_ascii_lowercase())
}

pub async fn create(Segment(name): Segment<String>, body: String) -> Result<(), StatusCode> {
    if !is_name(&name) {
        return Err(StatusCode::BAD_REQUEST);
    }
    let path = Path::new(BOX).join(&name);
    if path.exists() {
        return Err(StatusCode::CONFLICT);
    }
    fs::write(path, body).map_err(|_| StatusCode::INTERNAL_SERVER_ERROR)
}
