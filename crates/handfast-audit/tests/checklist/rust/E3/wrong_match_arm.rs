// expect: E3=finding
use axum::extract::Path as Segment;
use axum::http::StatusCode;
use std::fs;
use std::path::Path;

const BOX: &str = "/srv/box";

fn is_name(name: &str) -> bool {
    !name.is_empty() && name.len() <= 30 && name.bytes().all(|b| b.is_ascii_lowercase())
}

pub async fn sync(Segment(name): Segment<String>, body: String) -> Result<(), StatusCode> {
    let path = Path::new(BOX).join(&name);
    match body.as_str() {
        "make" => {
            if !is_name(&name) {
                return Err(StatusCode::BAD_REQUEST);
            }
            fs::create_dir(&path).map_err(|_| StatusCode::CONFLICT)
        }
        "drop" => fs::remove_dir(&path).map_err(|_| StatusCode::CONFLICT),
        _ => Err(StatusCode::BAD_REQUEST),
    }
}
