// expect: D2=yes
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

fn open_plain(name: &str) -> std::io::Result<fs::File> {
    OpenOptions::new().read(true).custom_flags(libc::O_NOFOLLOW).open(Path::new(BOX).join(name))
}

pub async fn read(Segment(name): Segment<String>) -> Result<String, StatusCode> {
    if !is_name(&name) {
        return Err(StatusCode::BAD_REQUEST);
    }
    let mut text = String::new();
    let mut file = open_plain(&name).map_err(|_| StatusCode::NOT_FOUND)?;
    file.read_to_string(&mut text).map_err(|_| StatusCode::NOT_FOUND)?;
    Ok(text)
}
