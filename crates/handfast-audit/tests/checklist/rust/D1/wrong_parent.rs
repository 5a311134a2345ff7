// expect: D1=finding
use axum::extract::Path as Segment;
use axum::http::StatusCode;
use std::fs;
use std::path::Path;

const BOX: &str = "/srv/box";

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= 30 && name.bytes().all(|b| b.is_ascii_lowercase())
}

fn ensure_parent(path: &Path) -> std::io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    Ok(())
}

pub async fn save(Segment((tenant, name)): Segment<(String, String)>, body: String) -> Result<(), StatusCode> {
    let path = Path::new(BOX).join(&tenant).join(&name);
    ensure_parent(&path).map_err(|_| StatusCode::CONFLICT)?;
    fs::write(path, body).map_err(|_| StatusCode::CONFLICT)
}
