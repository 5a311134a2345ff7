//! A change as a patch that `git apply` takes.

use handfast::FileKind;
use sha1::{Digest, Sha1};

use super::hunk::{Hunk, hex};
use super::{Change, Content, NotShown, Side};
use crate::overlay::DiffKind;

/// What a patch cannot hold of a change, in words.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct Unpatchable(pub String);

impl Change {
    /// The change as raw bytes of a patch, with paths below the mount; and what of it a patch cannot
    /// hold. Needs [`ReviewOptions::keep_content`](super::ReviewOptions).
    #[must_use]
    pub fn patch(&self) -> (Vec<u8>, Vec<Unpatchable>) {
        let mut missing = Vec::new();
        let mut out = Vec::new();
        if self.is_dir() {
            missing.extend(self.of_a_directory().map(|why| Unpatchable(why.to_owned())));
            return (out, missing);
        }
        if let Content::NotShown { why, .. } = &self.content
            && (*why != NotShown::Binary || self.contents.is_none())
        {
            missing.push(Unpatchable(
                "its content is too long, or may not be read".to_owned(),
            ));
            return (out, missing);
        }
        let kind = |side: &Option<Side>| side.as_ref().map(|side| side.kind);
        match (kind(&self.before), kind(&self.after)) {
            (Some(old), Some(new)) if old != new => {
                // Git takes another kind for two files.
                self.one_patch(self.before.as_ref(), None, &mut out);
                self.one_patch(None, self.after.as_ref(), &mut out);
            }
            _ => self.one_patch(self.before.as_ref(), self.after.as_ref(), &mut out),
        }
        missing.extend(self.of_the_mode().map(Unpatchable));
        (out, missing)
    }

    fn of_a_directory(&self) -> Option<&'static str> {
        match self.kind {
            // Directories come and go with their files.
            DiffKind::Added | DiffKind::Deleted => None,
            DiffKind::Renamed => Some("a directory that moves as a whole"),
            DiffKind::Changed => Some("a directory in place of something else"),
            DiffKind::Mode => Some("the mode of a directory"),
        }
    }

    /// Git knows two modes of files.
    fn of_the_mode(&self) -> Option<String> {
        let after = self
            .after
            .as_ref()
            .filter(|side| side.kind == FileKind::File)?;
        let mode = after.mode?;
        let before = self.before.as_ref().and_then(|side| side.mode);
        let holds = mode == 0o644 || mode == 0o755 || before == Some(mode);
        (!holds).then(|| format!("the mode {mode:04o}"))
    }

    fn one_patch(&self, before: Option<&Side>, after: Option<&Side>, out: &mut Vec<u8>) {
        let new = &self.below;
        let old = self.from_below.as_ref().unwrap_or(new);
        let mut head = |line: String| {
            out.extend_from_slice(line.as_bytes());
            out.push(b'\n');
        };
        let (a, b) = (quoted("a/", old), quoted("b/", new));
        head(format!("diff --git {a} {b}"));
        match (before, after) {
            (None, Some(after)) => head(format!("new file mode {}", git_mode(after))),
            (Some(before), None) => head(format!("deleted file mode {}", git_mode(before))),
            (Some(before), Some(after)) if git_mode(before) != git_mode(after) => {
                head(format!("old mode {}", git_mode(before)));
                head(format!("new mode {}", git_mode(after)));
            }
            _ => {}
        }
        if old != new {
            let same = if self.content == Content::Same {
                100
            } else {
                50
            };
            head(format!("similarity index {same}%"));
            head(format!("rename from {}", quoted("", old)));
            head(format!("rename to {}", quoted("", new)));
        }
        let (one, two) = (self.bytes_of(before, true), self.bytes_of(after, false));
        if one == two && before.is_some() && after.is_some() {
            return;
        }
        head(format!(
            "index {}..{}",
            blob(before, &one),
            blob(after, &two)
        ));
        if matches!(self.content, Content::NotShown { .. }) {
            out.extend_from_slice(b"GIT binary patch\n");
            literal(&two, out);
            literal(&one, out);
            return;
        }
        if one.is_empty() && two.is_empty() {
            return;
        }
        let name = |there: bool, name: &str| match there {
            true => name.to_owned(),
            false => "/dev/null".to_owned(),
        };
        head(format!("--- {}", name(before.is_some(), &a)));
        head(format!("+++ {}", name(after.is_some(), &b)));
        let subject = super::hunk::Subject {
            path: new,
            before: "",
            after: "",
        };
        for hunk in super::hunk::between(&one, &two, &subject) {
            raw(&hunk, out);
        }
    }

    /// What git has for the content of one side: of a link its target.
    fn bytes_of(&self, side: Option<&Side>, is_before: bool) -> Vec<u8> {
        let Some(side) = side else {
            return Vec::new();
        };
        if let Some(target) = &side.target {
            return target.clone();
        }
        match (&self.contents, is_before) {
            (Some((before, _)), true) => before.clone(),
            (Some((_, after)), false) => after.clone(),
            (None, _) => Vec::new(),
        }
    }
}

fn raw(hunk: &Hunk, out: &mut Vec<u8>) {
    out.extend_from_slice(hunk.header().as_bytes());
    out.push(b'\n');
    for line in &hunk.lines {
        out.push(line.tag.sign() as u8);
        out.extend_from_slice(&line.bytes);
        if !line.bytes.ends_with(b"\n") {
            out.extend_from_slice(b"\n\\ No newline at end of file\n");
        }
    }
}

fn git_mode(side: &Side) -> &'static str {
    match side.kind {
        FileKind::Symlink => "120000",
        _ if side.mode.unwrap_or(0) & 0o100 != 0 => "100755",
        _ => "100644",
    }
}

/// The name that git gives to content.
fn blob(side: Option<&Side>, content: &[u8]) -> String {
    if side.is_none() {
        return "0".repeat(40);
    }
    let mut digest = Sha1::new();
    digest.update(format!("blob {}\0", content.len()));
    digest.update(content);
    hex(&digest.finalize())
}

/// A path as git writes it: bytes that are no plain text stand in octal between quotes.
fn quoted(prefix: &str, path: &[u8]) -> String {
    let is_plain = |byte: &u8| matches!(byte, b' '..=b'~') && !matches!(byte, b'"' | b'\\');
    let mut text = prefix.to_owned();
    if path.iter().all(is_plain) {
        text.extend(path.iter().map(|byte| char::from(*byte)));
        return text;
    }
    for byte in path {
        match byte {
            b'"' | b'\\' => text.extend(['\\', char::from(*byte)]),
            byte if is_plain(byte) => text.push(char::from(*byte)),
            byte => text.push_str(&format!("\\{byte:03o}")),
        }
    }
    format!("\"{text}\"")
}

/// Content as a literal of a binary patch: deflated without compression, in base 85.
fn literal(content: &[u8], out: &mut Vec<u8>) {
    out.extend_from_slice(format!("literal {}\n", content.len()).as_bytes());
    for line in stored(content).chunks(52) {
        let length = line.len() as u8;
        out.push(match length {
            1..=26 => b'A' + length - 1,
            _ => b'a' + length - 27,
        });
        for group in line.chunks(4) {
            let mut word = [0; 4];
            word[..group.len()].copy_from_slice(group);
            out.extend_from_slice(&base85(u32::from_be_bytes(word)));
        }
        out.push(b'\n');
    }
    out.push(b'\n');
}

fn base85(mut word: u32) -> [u8; 5] {
    const DIGITS: &[u8; 85] =
        b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;<=>?@^_`{|}~";
    let mut text = [0; 5];
    for place in text.iter_mut().rev() {
        *place = DIGITS[(word % 85) as usize];
        word /= 85;
    }
    text
}

/// A zlib stream of stored blocks.
fn stored(content: &[u8]) -> Vec<u8> {
    let mut stream = vec![0x78, 0x01];
    let mut blocks = content.chunks(0xffff).peekable();
    if blocks.peek().is_none() {
        stream.extend_from_slice(&[1, 0, 0, 0xff, 0xff]);
    }
    while let Some(block) = blocks.next() {
        let length = block.len() as u16;
        stream.push(u8::from(blocks.peek().is_none()));
        stream.extend_from_slice(&length.to_le_bytes());
        stream.extend_from_slice(&(!length).to_le_bytes());
        stream.extend_from_slice(block);
    }
    let (mut low, mut high) = (1_u32, 0_u32);
    for byte in content {
        low = (low + u32::from(*byte)) % 65521;
        high = (high + low) % 65521;
    }
    stream.extend_from_slice(&((high << 16) | low).to_be_bytes());
    stream
}
