// expect: C1=finding
use axum::extract::Query;
use axum::http::StatusCode;
use std::fs;
use std::path::{Path, PathBuf};

const TREE: &str = "/srv/tree";

#[derive(serde::Deserialize)]
pub struct Params {
    path: String,
}

pub async fn read(Query(params): Query<Params>) -> Result<Vec<u8>, StatusCode> {
    if params.path.split('/').any(|part| part == "..") {
        return Err(StatusCode::BAD_REQUEST);
    }
    let path = Path::new(TREE).join(&params.path);
    let info = fs::symlink_metadata(&path).map_err(|_| StatusCode::NOT_FOUND)?;
    if info.file_type().is_symlink() {
        return Err(StatusCode::BAD_REQUEST);
    }
    fs::read(path).map_err(|_| StatusCode::NOT_FOUND)
}
