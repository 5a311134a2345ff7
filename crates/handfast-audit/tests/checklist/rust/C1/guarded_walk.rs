// expect: C1=yes C2=yes
use axum::extract::Query;
use axum::http::StatusCode;
use std::fs;
use std::path::{Path, PathBuf};

const TREE: &str = "/srv/tree";

#[derive(serde::Deserialize)]
pub struct Params {
    path: String,
}

fn walk(relative: &str) -> Result<PathBuf, StatusCode> {
    let mut here = PathBuf::from(TREE);
    for part in relative.split('/') {
        if part.is_empty() || part == "." || part == ".." {
            return Err(StatusCode::BAD_REQUEST);
        }
        here = here.join(part);
        let info = fs::symlink_metadata(&here).map_err(|_| StatusCode::NOT_FOUND)?;
        if info.file_type().is_symlink() {
            return Err(StatusCode::BAD_REQUEST);
        }
    }
    Ok(here)
}

pub async fn read(Query(params): Query<Params>) -> Result<Vec<u8>, StatusCode> {
    let path = walk(&params.path)?;
    fs::read(path).map_err(|_| StatusCode::NOT_FOUND)
}
