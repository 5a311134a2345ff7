// expect: E1=yes
use std::sync::Mutex;

static GUARD: Mutex<()> = Mutex::new(());

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
    let _held = GUARD.lock().unwrap();
    fs::write(Path::new(BOX).join(&name), body).map_err(|_| StatusCode::CONFLICT)
}
