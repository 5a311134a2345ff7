// expect: B3=yes A4=yes C1=yes

use axum::extract::{Path, State};
use axum::http::StatusCode;
use cap_std::ambient_authority;
use cap_std::fs::Dir;
use std::sync::Arc;

pub struct Site {
    dir: Dir,
}

impl Site {
    pub fn open() -> std::io::Result<Site> {
        let dir = Dir::open_ambient_dir("/srv/site", ambient_authority())?;
        Ok(Site { dir })
    }

    pub fn page(&self, name: &str) -> std::io::Result<String> {
        self.dir.read_to_string(name)
    }
}

pub async fn page(State(site): State<Arc<Site>>, Path(name): Path<String>) -> Result<String, StatusCode> {
    site.page(&name).map_err(|_| StatusCode::NOT_FOUND)
}
