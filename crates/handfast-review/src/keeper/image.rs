//! Contents that a browser shows as images.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use handfast::ErrorKind;
use handfast_session::Error;
use handfast_session::change::Side;

use super::{Keeper, change, path_of, stale};
use crate::protocol::{KeeperReply, Which};

/// The largest image that is shown.
pub(super) const MAX_IMAGE: u64 = 8 << 20;

impl Keeper {
    pub(super) fn image(
        &self,
        name: &str,
        key: &str,
        which: Which,
        digest: &str,
    ) -> Result<KeeperReply, Error> {
        let path = path_of(key)?;
        let session = self.open(name)?;
        let change = change::find(&session, &path, true, true)?;
        let side: Option<&Side> = match which {
            Which::Before => change.before.as_ref(),
            Which::After => change.after.as_ref(),
        };
        if side.and_then(|side| side.digest.as_deref()) != Some(digest) {
            return Err(stale(format!("`{path}`")));
        }
        let content = change.contents().map(|(before, after)| match which {
            Which::Before => before,
            Which::After => after,
        });
        let content = content.filter(|content| content.len() as u64 <= MAX_IMAGE);
        let found = content.and_then(|content| Some((media_type(content)?, content)));
        let (kind, content) = found.ok_or_else(|| {
            Error::refused(ErrorKind::Unsupported, "this is no image that is shown")
        })?;
        Ok(KeeperReply::Image(
            kind.to_owned(),
            STANDARD.encode(content),
        ))
    }
}

/// The type by the first bytes. SVG is no image here: it is text, and is shown as that.
pub(super) fn media_type(content: &[u8]) -> Option<&'static str> {
    const KNOWN: [(&[u8], &str); 4] = [
        (b"\x89PNG\r\n\x1a\n", "image/png"),
        (b"\xff\xd8\xff", "image/jpeg"),
        (b"GIF87a", "image/gif"),
        (b"GIF89a", "image/gif"),
    ];
    if content.starts_with(b"RIFF") && content.get(8..12) == Some(b"WEBP") {
        return Some("image/webp");
    }
    let known = KNOWN.iter().find(|(magic, _)| content.starts_with(magic));
    known.map(|(_, kind)| *kind)
}
