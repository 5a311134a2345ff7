// expect: A5=finding

use axum::extract::Query;
use axum::http::StatusCode;
use std::collections::HashMap;
use std::fs;
use std::path::Path;

const BOX: &str = "/srv/box";

pub async fn drop_box(Query(query): Query<HashMap<String, String>>) -> Result<(), StatusCode> {
    let name = query.get("name").cloned().unwrap_or_default();
    if name.contains("..") {
        return Err(StatusCode::BAD_REQUEST);
    }
    fs::remove_dir_all(Path::new(BOX).join(name)).map_err(|_| StatusCode::NOT_FOUND)
}
