//! Files as resources: `file` URIs below the allowed directories.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use handfast::ErrorKind;
use handfast::files::LastLink;
use serde_json::{Value, json};

use crate::call::{self, Asking, Call};
use crate::server::Server;
use crate::text::names;
use crate::tools::{content, list_directory, read_media_file};
use crate::trouble::Trouble;
use crate::uri::{file_path, file_uri};
use crate::view::ClientView;

/// What every URI of a file fits.
pub(crate) const TEMPLATE: &str = "file://{+path}";

/// The type of a directory.
const DIRECTORY: &str = "inode/directory";

/// The allowed directories. What is in them is found by reading them.
pub(crate) fn list(view: &ClientView) -> Value {
    let dirs = view.allowed.iter().map(|allowed| {
        json!({
            "uri": file_uri(&allowed.spelled),
            "name": names::path(&allowed.spelled),
            "description": "An allowed directory. Reading it lists what is in it.",
            "mimeType": DIRECTORY,
        })
    });
    dirs.collect()
}

/// The one template.
pub(crate) fn templates() -> Value {
    json!([{
        "uriTemplate": TEMPLATE,
        "name": "file",
        "title": "A file or directory",
        "description": "The content of a file in an allowed directory, or what a directory holds.",
    }])
}

/// What is at a URI: the text of a file, its bytes if they are no text, or the list of a directory.
pub(crate) fn read(server: &Server, asking: Asking<'_>, uri: &str) -> Result<Value, Trouble> {
    let path = file_path(uri).map(|path| names::path(&path));
    let logged = path.as_deref().unwrap_or_default();
    call::perform(server, asking, "resources/read", logged, |call| {
        let path = path.as_deref().ok_or_else(|| {
            let text = "Resource not found: only file URIs of absolute paths are resources here";
            Trouble::new(ErrorKind::NotFound, text)
        })?;
        contents(call, uri, path)
    })
}

fn contents(call: &Call<'_>, uri: &str, path: &str) -> Result<Value, Trouble> {
    let place = call.place_of(path)?;
    let status = call.looking().metadata(place.rel(), LastLink::Follow);
    if status.is_ok_and(|status| status.is_dir()) {
        let page = list_directory::page(call, &place)?;
        let mut text = list_directory::text(call, &place, &page.shown);
        if page.cut.is_some() {
            text.push_str("\n[This is not all: the tool list_directory goes on.]");
        }
        return Ok(json!([{"uri": uri, "mimeType": DIRECTORY, "text": text}]));
    }
    let (bytes, _) =
        content::versioned(call, &place)?.ok_or_else(|| content::too_large(call, &place))?;
    let mime = read_media_file::mime(&place.path);
    let contents = match String::from_utf8(bytes) {
        Ok(text) if !text.contains('\0') => {
            let mime = match mime {
                "application/octet-stream" => "text/plain",
                mime => mime,
            };
            json!({"uri": uri, "mimeType": mime, "text": text})
        }
        Ok(text) => json!({"uri": uri, "mimeType": mime, "blob": STANDARD.encode(text)}),
        Err(error) => {
            json!({"uri": uri, "mimeType": mime, "blob": STANDARD.encode(error.as_bytes())})
        }
    };
    Ok(json!([contents]))
}
