// expect: A1=finding A4=yes

use axum::extract::Query;
use axum::http::StatusCode;
use std::path::Path;

const DOCS: &str = "/srv/docs";

#[derive(serde::Deserialize)]
pub struct Params {
    name: String,
}

pub async fn doc(Query(params): Query<Params>) -> Result<String, StatusCode> {
    if params.name.contains("..") {
        return Err(StatusCode::BAD_REQUEST);
    }
    std::fs::read_to_string(Path::new(DOCS).join(&params.name)).map_err(|_| StatusCode::NOT_FOUND)
}
