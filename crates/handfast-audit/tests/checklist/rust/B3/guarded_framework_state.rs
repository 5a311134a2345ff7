// expect: B3=yes C1=yes A4=yes
use std::sync::Arc;

use axum::extract::{Path, State};
use handfast::{RelPath, Root};

pub struct App {
    root: Root,
}

pub async fn get(
    State(app): State<Arc<App>>,
    Path(name): Path<String>,
) -> Result<Vec<u8>, handfast::Error> {
    let rel = RelPath::parse(name.as_bytes())?;
    app.root.read(&rel)
}
