// expect: C3=yes D2=yes
use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
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
    let mut file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK)
        .open(Path::new(BOX).join(&name))
        .map_err(|_| StatusCode::NOT_FOUND)?;
    let info = file.metadata().map_err(|_| StatusCode::NOT_FOUND)?;
    if !info.is_file() {
        return Err(StatusCode::BAD_REQUEST);
    }
    let mut text = String::new();
    file.read_to_string(&mut text).map_err(|_| StatusCode::NOT_FOUND)?;
    Ok(text)
}
