// expect: D5=finding
use std::io::Read;
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
    let mut file = fs::File::open(&path).map_err(|_| StatusCode::NOT_FOUND)?;
    let info = fs::metadata(&path).map_err(|_| StatusCode::NOT_FOUND)?;
    if !info.is_file() {
        return Err(StatusCode::BAD_REQUEST);
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(|_| StatusCode::NOT_FOUND)?;
    Ok(text)
}
