// expect: A1=finding A2=finding A4=finding B3=finding

use axum::extract::Path;
use axum::http::StatusCode;
use std::path::PathBuf;

const REPORTS: &str = "/srv/reports";

pub async fn report(Path(id): Path<String>) -> Result<Vec<u8>, StatusCode> {
    let path = PathBuf::from(REPORTS).join(id);
    tokio::fs::read(path).await.map_err(|_| StatusCode::NOT_FOUND)
}
