//! Files as resources: `file` URIs below the allowed directories.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use handfast::ErrorKind;
use handfast::files::LastLink;
use handfast_session::VirtualPath;
use serde_json::{Value, json};

use crate::call::{self, Asking, Call};
use crate::server::Server;
use crate::subscriptions::Mark;
use crate::text::names;
use crate::tools::{content, list_directory, pages, read_media_file};
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
    let path = file_path(uri);
    let logged = path.as_ref().map(names::path).unwrap_or_default();
    call::perform(server, asking, "resources/read", &logged, |call| {
        contents(call, uri, path.as_ref().ok_or_else(no_file_uri)?)
    })
}

/// Begins to watch what is at a URI: its path, and how it is now. Something must be there.
pub(crate) fn subscribe(
    server: &Server,
    asking: Asking<'_>,
    uri: &str,
) -> Result<(VirtualPath, Mark), Trouble> {
    let path = file_path(uri);
    let logged = path.as_ref().map(names::path).unwrap_or_default();
    let mark = call::perform(server, asking, "resources/subscribe", &logged, |call| {
        let place = call.place_at(path.as_ref().ok_or_else(no_file_uri)?)?;
        let status = call.files().metadata(place.rel(), LastLink::Follow);
        let status = status.map_err(|error| call.trouble(&error, "stat", &place))?;
        Ok(Mark::new(&status))
    })?;
    Ok((path.ok_or_else(no_file_uri)?, mark))
}

/// How what is at a path is now; nothing if it is not there, or the client may not see it.
pub(crate) fn mark(server: &Server, asking: Asking<'_>, path: &VirtualPath) -> Option<Mark> {
    let status = call::look(server, asking, |call| {
        let place = call.place_at(path)?;
        let status = call.looking().metadata(place.rel(), LastLink::Follow);
        status.map_err(|error| call.trouble(&error, "stat", &place))
    });
    status.ok().map(|status| Mark::new(&status))
}

fn no_file_uri() -> Trouble {
    let text = "Resource not found: only file URIs of absolute paths are resources here";
    Trouble::new(ErrorKind::NotFound, text)
}

fn contents(call: &Call<'_>, uri: &str, path: &VirtualPath) -> Result<Value, Trouble> {
    let place = call.place_at(path)?;
    let status = call.looking().metadata(place.rel(), LastLink::Follow);
    if status.is_ok_and(|status| status.is_dir()) {
        let page = pages::first(call, &place)?;
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
