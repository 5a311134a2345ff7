// expect: A1=finding A4=finding

use actix_web::{HttpResponse, web};
use regex::Regex;
use std::path::Path;

const NOTES: &str = "/srv/notes";

pub async fn note(id: web::Path<String>) -> HttpResponse {
    let id = id.into_inner();
    let pattern = Regex::new(r"[a-z]+").unwrap();
    if !pattern.is_match(&id) {
        return HttpResponse::BadRequest().finish();
    }
    match std::fs::read(Path::new(NOTES).join(&id)) {
        Ok(bytes) => HttpResponse::Ok().body(bytes),
        Err(_) => HttpResponse::NotFound().finish(),
    }
}
