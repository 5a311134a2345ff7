//! `read_media_file`: base64, with the type that the name's end says.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use handfast::NameRef;
use handfast_session::VirtualPath;

use super::content;
use crate::answer::{Answer, Media, Resource};
use crate::call::Call;
use crate::trouble::Trouble;

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

pub(super) fn run(call: &Call<'_>) -> Result<Answer, Trouble> {
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
                uri: file_uri(&real),
                mime,
                blob: data,
            },
        },
    };
    Ok(Answer::media(media).with_version(Some(version)))
}

fn mime(path: &VirtualPath) -> &'static str {
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

fn file_uri(path: &VirtualPath) -> String {
    let mut uri = "file:///".to_owned();
    for byte in path.as_rel().as_bytes() {
        let plain = byte.is_ascii_graphic() && !b"\"#%<>?\\^`{}".contains(byte);
        match plain {
            true => uri.push(char::from(*byte)),
            false => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    uri
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_and_addresses() {
        let path = |text: &str| VirtualPath::parse(text).unwrap();
        assert_eq!(mime(&path("/a/B.PNG")), "image/png");
        assert_eq!(mime(&path("/a/.png")), "application/octet-stream");
        assert_eq!(mime(&path("/a.png/x")), "application/octet-stream");
        assert_eq!(
            file_uri(&path("/a b/ä#?.txt")),
            "file:///a%20b/%C3%A4%23%3F.txt"
        );
    }
}
