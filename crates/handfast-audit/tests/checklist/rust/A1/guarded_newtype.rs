// expect: A1=yes A4=yes

use axum::extract::Query;
use axum::http::StatusCode;
use std::collections::HashMap;
use std::path::{Path, PathBuf};

const MEDIA: &str = "/srv/media";

struct Slug(String);

impl Slug {
    fn parse(text: &str) -> Result<Slug, StatusCode> {
        if text.is_empty() || text.len() > 64 {
            return Err(StatusCode::BAD_REQUEST);
        }
        if !text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit()) {
            return Err(StatusCode::BAD_REQUEST);
        }
        Ok(Slug(text.to_owned()))
    }

    fn below(&self, root: &Path) -> PathBuf {
        root.join(&self.0)
    }
}

pub async fn avatar(Query(query): Query<HashMap<String, String>>) -> Result<Vec<u8>, StatusCode> {
    let slug = Slug::parse(&query["user"])?;
    std::fs::read(slug.below(Path::new(MEDIA))).map_err(|_| StatusCode::NOT_FOUND)
}
