// expect: D3=yes
use std::io::Write;
use tempfile::NamedTempFile;
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
    let mut temp = NamedTempFile::new_in(BOX).map_err(|_| StatusCode::CONFLICT)?;
    temp.write_all(body.as_bytes()).map_err(|_| StatusCode::CONFLICT)?;
    temp.persist(&path).map_err(|_| StatusCode::CONFLICT)?;
    Ok(())
}
