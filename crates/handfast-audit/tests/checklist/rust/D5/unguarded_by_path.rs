// expect: D5=finding
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
    let path = Path::new(BOX).join(&name);
    let file = fs::File::open(&path).map_err(|_| StatusCode::NOT_FOUND)?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o600)).map_err(|_| StatusCode::NOT_FOUND)?;
    drop(file);
    Ok(())
}
