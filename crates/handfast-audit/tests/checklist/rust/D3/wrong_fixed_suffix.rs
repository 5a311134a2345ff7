// expect: D3=finding
use axum::extract::Path as Segment;
use axum::http::StatusCode;
use std::fs;
use std::path::Path;

const BOX: &str = "/srv/box";

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= 30 && name.bytes().all(|b| b.is_ascii_lowercase())
}

pub async fn save(Segment(name): Segment<String>, body: String) -> Result<(), StatusCode> {
    if !is_name(&name) {
        return Err(StatusCode::BAD_REQUEST);
    }
    let path = Path::new(BOX).join(&name);
    let temp = Path::new(BOX).join(format!("{name}.tmp"));
    fs::write(&temp, body).map_err(|_| StatusCode::CONFLICT)?;
    fs::rename(&temp, &path).map_err(|_| StatusCode::CONFLICT)
}
