// expect: A4=finding B3=finding

use axum::extract::Query;
use axum::http::StatusCode;

#[derive(serde::Deserialize)]
pub struct Params {
    day: String,
}

pub async fn log(Query(params): Query<Params>) -> Result<String, StatusCode> {
    let path = format!("/var/log/app/{}.log", params.day);
    tokio::fs::read_to_string(&path).await.map_err(|_| StatusCode::NOT_FOUND)
}
