// expect: A1=yes A2=yes A4=yes

use axum::extract::Path;
use axum::http::StatusCode;
use std::path::PathBuf;

const REPORTS: &str = "/srv/reports";

fn is_report_id(id: &str) -> bool {
    !id.is_empty() && id.len() <= 32 && id.bytes().all(|b| b.is_ascii_alphanumeric())
}

pub async fn report(Path(id): Path<String>) -> Result<Vec<u8>, StatusCode> {
    if !is_report_id(&id) {
        return Err(StatusCode::NOT_FOUND);
    }
    let path = PathBuf::from(REPORTS).join(format!("{id}.pdf"));
    tokio::fs::read(path).await.map_err(|_| StatusCode::NOT_FOUND)
}
