// expect: A4=finding B3=finding

use axum::extract::Path as Segment;
use axum::http::StatusCode;
use std::fs;
use std::path::Path;

const SHARE: &str = "/srv/share";

pub async fn file(Segment(name): Segment<String>) -> Result<Vec<u8>, StatusCode> {
    let path = Path::new(SHARE).join(&name);
    if !path.starts_with(SHARE) {
        return Err(StatusCode::NOT_FOUND);
    }
    fs::read(path).map_err(|_| StatusCode::NOT_FOUND)
}
