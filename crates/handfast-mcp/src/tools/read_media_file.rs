//! `read_media_file`: base64, with the type that the name's end says.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use handfast::NameRef;
use handfast_session::VirtualPath;

use super::content;
use crate::answer::{Media, Resource, ToolResult};
use crate::call::Call;
use crate::trouble::Trouble;
use crate::uri::file_uri;

const TYPES: [(&str, &str); 11] = [
    ("png", "image/png"),
    ("jpg", "image/jpeg"),
    ("jpeg", "image/jpeg"),
    ("gif", "image/gif"),
    ("webp", "image/webp"),
    ("bmp", "image/bmp"),
    ("svg", "image/svg+xml"),
    ("mp3", "audio/mpeg"),
    ("wav", "audio/wav"),
    ("ogg", "audio/ogg"),
    ("flac", "audio/flac"),
];

pub(super) fn run(call: &Call<'_>) -> Result<ToolResult, Trouble> {
    let place = call.place("path")?;
    let real = call.resolved(&place)?;
    let (bytes, version) =
        content::versioned(call, &place)?.ok_or_else(|| content::too_large(call, &place))?;
    let data = STANDARD.encode(&bytes);
    let mime = mime(&real);
    let media = match mime {
        mime if mime.starts_with("image/") => Media::Image { data, mime },
        mime if mime.starts_with("audio/") => Media::Audio { data, mime },
        mime => Media::Resource {
            resource: Resource {
                uri: file_uri(&call.view.spelled(&real)),
                mime,
                blob: data,
            },
        },
    };
    Ok(ToolResult::media(media).with_version(Some(version)))
}

/// The type that the end of a name says.
pub(crate) fn mime(path: &VirtualPath) -> &'static str {
    let name = path.as_rel().name().map_or(&[][..], NameRef::as_bytes);
    let end = match name.iter().rposition(|byte| *byte == b'.') {
        // A dot at the beginning hides a name and ends nothing.
        None | Some(0) => &[],
        Some(dot) => &name[dot + 1..],
    };
    TYPES
        .iter()
        .find(|(known, _)| end.eq_ignore_ascii_case(known.as_bytes()))
        .map_or("application/octet-stream", |(_, mime)| mime)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_by_the_end_of_a_name() {
        let path = |text: &str| VirtualPath::parse(text).unwrap();
        assert_eq!(mime(&path("/a/B.PNG")), "image/png");
        assert_eq!(mime(&path("/a/.png")), "application/octet-stream");
        assert_eq!(mime(&path("/a.png/x")), "application/octet-stream");
    }
}
