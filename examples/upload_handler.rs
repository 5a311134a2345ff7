//! An upload handler: names come from clients, files land in one directory and nowhere else.
//!
//! ```console
//! $ mkdir uploads
//! $ cargo run -p handfast-examples --bin upload-handler -- ./uploads
//! $ curl --data-binary @report.pdf http://127.0.0.1:3000/files/report.pdf
//! ```
//!
//! Without a directory it shows itself what it does, in a temporary one.
#![allow(clippy::print_stdout, reason = "an example")]
#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        reason = "tests look at the tree from outside"
    )
)]

use std::error::Error;
use std::sync::Arc;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::{DefaultBodyLimit, Path, State};
use axum::http::{Request, StatusCode};
use axum::routing::get;
use handfast::{ErrorKind, NameRules, RelPath, Root};
use tower::ServiceExt;

const LARGEST: usize = 8 << 20;

/// The service. The directory is pinned once, here, and handed to every request.
fn service(uploads: Root) -> Router {
    Router::new()
        .route("/files/{name}", get(download).put(upload).post(upload))
        .layer(DefaultBodyLimit::max(LARGEST))
        .with_state(Arc::new(uploads))
}

async fn upload(
    State(uploads): State<Arc<Root>>,
    Path(name): Path<String>,
    body: Bytes,
) -> Result<StatusCode, (StatusCode, String)> {
    let path = safe(&name).map_err(refused)?;
    // Refuses a link, a device, a directory; replaces the file whole, or leaves it as it was.
    uploads.write(&path, body).map_err(refused)?;
    Ok(StatusCode::CREATED)
}

async fn download(
    State(uploads): State<Arc<Root>>,
    Path(name): Path<String>,
) -> Result<Vec<u8>, (StatusCode, String)> {
    let path = safe(&name).map_err(refused)?;
    uploads.read(&path).map_err(refused)
}

/// The only way from a client's text to a path: one segment of harmless letters.
fn safe(name: &str) -> Result<RelPath, handfast::Error> {
    let path = RelPath::parse(name)?;
    let rules = NameRules::new()
        .only(|letter| letter.is_ascii_alphanumeric() || matches!(letter, '-' | '_' | '.'))
        .no_leading_dot()
        .portable();
    path.require(&rules)?;
    Ok(path)
}

/// An error holds no host path and no link's target: it can be shown to clients.
fn refused(error: handfast::Error) -> (StatusCode, String) {
    let status = match error.kind() {
        ErrorKind::NotFound => StatusCode::NOT_FOUND,
        ErrorKind::Invalid | ErrorKind::TooLong => StatusCode::BAD_REQUEST,
        ErrorKind::Limit | ErrorKind::Quota => StatusCode::PAYLOAD_TOO_LARGE,
        ErrorKind::Busy | ErrorKind::Raced => StatusCode::SERVICE_UNAVAILABLE,
        ErrorKind::Io => StatusCode::INTERNAL_SERVER_ERROR,
        _ => StatusCode::FORBIDDEN,
    };
    (status, format!("{error}\n"))
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    if let Some(dir) = std::env::args_os().nth(1) {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
        println!("listening on http://{}/files/", listener.local_addr()?);
        axum::serve(listener, service(Root::open_ambient(dir)?)).await?;
        return Ok(());
    }
    let dir = tempfile::tempdir()?;
    let app = service(Root::open_ambient(dir.path())?);
    for (method, name) in [
        ("PUT", "report.pdf"),
        ("GET", "report.pdf"),
        ("PUT", "..%2Fescape"),
    ] {
        println!("{method} {name}: {}", ask(&app, method, name).await?);
    }
    Ok(())
}

async fn ask(app: &Router, method: &str, name: &str) -> Result<StatusCode, Box<dyn Error>> {
    let request = Request::builder()
        .method(method)
        .uri(format!("/files/{name}"))
        .body(Body::from("hello"))?;
    Ok(app.clone().oneshot(request).await?.status())
}

#[cfg(test)]
mod tests {
    use super::{StatusCode, ask, service};
    use handfast::Root;

    #[tokio::test]
    async fn files_come_and_go_and_nothing_leaves_the_directory() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::create_dir(dir.path().join("uploads")).unwrap();
        std::os::unix::fs::symlink("../secret", dir.path().join("uploads/link")).unwrap();
        let app = service(Root::open_ambient(dir.path().join("uploads")).unwrap());
        for (method, name, answer) in [
            ("GET", "a.txt", StatusCode::NOT_FOUND),
            ("PUT", "a.txt", StatusCode::CREATED),
            ("GET", "a.txt", StatusCode::OK),
            ("PUT", "link", StatusCode::FORBIDDEN),
            ("PUT", "..%2Fsecret", StatusCode::BAD_REQUEST),
            ("PUT", "%2Fetc%2Fpasswd", StatusCode::BAD_REQUEST),
            ("PUT", ".hidden", StatusCode::BAD_REQUEST),
            ("PUT", "nul%00byte", StatusCode::BAD_REQUEST),
            ("PUT", "CON", StatusCode::BAD_REQUEST),
        ] {
            assert_eq!(
                ask(&app, method, name).await.unwrap(),
                answer,
                "{method} {name}"
            );
        }
        assert!(!dir.path().join("secret").exists());
        assert_eq!(
            std::fs::read(dir.path().join("uploads/a.txt")).unwrap(),
            b"hello"
        );
    }
}
