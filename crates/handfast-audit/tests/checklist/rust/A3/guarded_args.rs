// expect: A3=yes
use std::process::Command;
use axum::extract::Path as Segment;
use axum::http::StatusCode;
use std::fs;
use std::path::Path;

const BOX: &str = "/srv/box";

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= 30 && name.bytes().all(|b| b.is_ascii_lowercase())
}

pub async fn gc(Segment(name): Segment<String>) -> Result<(), StatusCode> {
    if !is_name(&name) {
        return Err(StatusCode::BAD_REQUEST);
    }
    fs::read_dir(Path::new(BOX).join(&name)).map_err(|_| StatusCode::NOT_FOUND)?;
    Command::new("git").arg("gc").arg("--").arg(&name).status().map_err(|_| StatusCode::BAD_GATEWAY)?;
    Ok(())
}
