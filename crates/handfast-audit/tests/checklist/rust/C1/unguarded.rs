// expect: C1=finding C2=finding C3=finding
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
    fs::read(Path::new(TREE).join(&params.path)).map_err(|_| StatusCode::NOT_FOUND)
}
