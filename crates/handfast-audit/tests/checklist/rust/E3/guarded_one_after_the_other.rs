// expect: E3=na
use axum::extract::Path;
use handfast::{RelPath, Root};

pub async fn put(Path(tenant): Path<String>, body: Vec<u8>) -> Result<(), handfast::Error> {
    let root = Root::open_ambient("/srv/tenants")?;
    let dir = RelPath::parse(tenant.as_bytes())?;
    root.create_dir_all(&dir)?;
    let file = RelPath::parse(format!("{tenant}/state").as_bytes())?;
    root.write(&file, &body)?;
    Ok(())
}
