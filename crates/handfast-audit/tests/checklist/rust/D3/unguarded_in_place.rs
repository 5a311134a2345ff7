// expect: D3=finding
use std::io::Write;
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
    let mut file = fs::File::create(Path::new(BOX).join(&name)).map_err(|_| StatusCode::CONFLICT)?;
    file.write_all(body.as_bytes()).map_err(|_| StatusCode::CONFLICT)
}
