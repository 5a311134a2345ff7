// expect: A4=yes

use axum::extract::Path as Segment;
use axum::http::StatusCode;
use std::fs;
use std::path::{Component, Path};

const SHARE: &str = "/srv/share";

fn is_plain(relative: &Path) -> bool {
    relative.components().all(|c| matches!(c, Component::Normal(_)))
}

pub async fn file(Segment(name): Segment<String>) -> Result<Vec<u8>, StatusCode> {
    let relative = Path::new(&name);
    if !is_plain(relative) {
        return Err(StatusCode::NOT_FOUND);
    }
    fs::read(Path::new(SHARE).join(relative)).map_err(|_| StatusCode::NOT_FOUND)
}
