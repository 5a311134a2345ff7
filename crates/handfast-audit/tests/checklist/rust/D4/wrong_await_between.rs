// expect: D4=finding
use std::os::unix::fs::PermissionsExt;
use axum::extract::Path as Segment;
use axum::http::StatusCode;
use std::fs;
use std::path::Path;

const BOX: &str = "/srv/box";

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= 30 && name.bytes().all(|b| b.is_ascii_lowercase())
}

pub async fn remove(Segment(name): Segment<String>) -> Result<(), StatusCode> {
    if !is_name(&name) {
        return Err(StatusCode::BAD_REQUEST);
    }
    let path = Path::new(BOX).join(&name);
    let info = fs::symlink_metadata(&path).map_err(|_| StatusCode::NOT_FOUND)?;
    if info.file_type().is_symlink() {
        return Err(StatusCode::BAD_REQUEST);
    }
    tell_everybody(&name).await;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).map_err(|_| StatusCode::NOT_FOUND)
}
