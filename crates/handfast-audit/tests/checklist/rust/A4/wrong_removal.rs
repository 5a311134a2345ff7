// expect: A4=finding

use actix_files::NamedFile;
use actix_web::{Result, web};
use std::path::PathBuf;

const IMAGES: &str = "/srv/images";

pub async fn image(name: web::Path<String>) -> Result<NamedFile> {
    let name = name.replace("../", "");
    let path: PathBuf = [IMAGES, &name].iter().collect();
    Ok(NamedFile::open(path)?)
}
