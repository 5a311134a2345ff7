// expect: D5=yes
use std::fs::OpenOptions;
use std::io::{Read, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::os::unix::fs::PermissionsExt;
use axum::extract::Path as Segment;
use axum::http::StatusCode;
use std::fs;
use std::path::Path;

const BOX: &str = "/srv/box";

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= 30 && name.bytes().all(|b| b.is_ascii_lowercase())
}

pub async fn lock_down(Segment(name): Segment<String>) -> Result<(), StatusCode> {
    if !is_name(&name) {
        return Err(StatusCode::BAD_REQUEST);
    }
    let file = OpenOptions::new()
        .read(true)
        .custom_flags(libc::O_NOFOLLOW)
        .open(Path::new(BOX).join(&name))
        .map_err(|_| StatusCode::NOT_FOUND)?;
    file.metadata().map_err(|_| StatusCode::NOT_FOUND)?;
    file.set_permissions(fs::Permissions::from_mode(0o600)).map_err(|_| StatusCode::NOT_FOUND)
}
