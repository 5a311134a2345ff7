//! What a tool answers, and how that is written.

use std::borrow::Cow;
use std::collections::BTreeMap;

use handfast::Version;
use serde::Serialize;

use crate::trouble::Trouble;

/// What a tool found or did.
#[derive(Debug)]
pub(crate) struct ToolResult {
    body: Body,
    /// Which version of a file this was about.
    version: Option<Version>,
    /// What the client should know besides: that something was cut, or fitted twice.
    notes: Vec<String>,
    /// Whether this is not all.
    truncated: bool,
    /// The `cursor` that goes on.
    next: Option<String>,
    /// What became of an archive.
    archive: Option<Box<Archive>>,
    /// What was asked for was not done.
    failed: bool,
}

/// What became of an archive, and which members were refused.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Archive {
    pub(crate) extracted: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) format: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) sha256: Option<String>,
    pub(crate) members: usize,
    pub(crate) bytes: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) refusal: Option<Refused>,
    pub(crate) refused: Vec<Refused>,
    pub(crate) refused_in_all: usize,
}

/// A member that was refused, or the archive itself.
#[derive(Debug, Serialize)]
pub(crate) struct Refused {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) name: Option<String>,
    pub(crate) rule: &'static str,
    pub(crate) detail: String,
}

/// Something was left out of an answer.
#[derive(Debug)]
pub(crate) struct Cut {
    /// What, and how to go on, in words.
    pub(crate) note: String,
    /// The `cursor` that goes on, if one does.
    pub(crate) next: Option<String>,
}

#[derive(Debug)]
enum Body {
    Text(String),
    Media(Media),
}

/// A file that is not text.
#[derive(Clone, Debug, Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
pub(crate) enum Media {
    /// A picture.
    Image {
        data: String,
        #[serde(rename = "mimeType")]
        mime: &'static str,
    },
    /// Sound.
    Audio {
        data: String,
        #[serde(rename = "mimeType")]
        mime: &'static str,
    },
    /// Anything else.
    Resource { resource: Resource },
}

/// A file as an embedded resource.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Resource {
    pub(crate) uri: String,
    #[serde(rename = "mimeType")]
    pub(crate) mime: &'static str,
    pub(crate) blob: String,
}

impl ToolResult {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::of(Body::Text(text.into()))
    }

    pub(crate) fn media(media: Media) -> Self {
        Self::of(Body::Media(media))
    }

    fn of(body: Body) -> Self {
        Self {
            body,
            version: None,
            notes: Vec::new(),
            truncated: false,
            next: None,
            archive: None,
            failed: false,
        }
    }

    /// What became of an archive; `failed` if nothing came of it.
    pub(crate) fn with_archive(mut self, archive: Archive, failed: bool) -> Self {
        (self.archive, self.failed) = (Some(Box::new(archive)), failed);
        self
    }

    pub(crate) fn with_version(mut self, version: Option<Version>) -> Self {
        self.version = version;
        self
    }

    pub(crate) fn with_note(mut self, note: Option<String>) -> Self {
        self.notes.extend(note);
        self
    }

    pub(crate) fn with_cut(mut self, cut: Option<Cut>) -> Self {
        if let Some(cut) = cut {
            self.notes.push(cut.note);
            self.truncated = true;
            self.next = cut.next;
        }
        self
    }
}

#[derive(Serialize)]
#[serde(untagged)]
enum Block<'a> {
    Text {
        #[serde(rename = "type")]
        kind: &'static str,
        text: &'a str,
    },
    Media(&'a Media),
}

#[derive(Serialize)]
#[serde(untagged)]
enum Content<'a> {
    Text(Cow<'a, str>),
    Media([&'a Media; 1]),
}

/// All that many clients show to a model, so it says everything: also what the notes say, and the
/// version.
#[derive(Serialize)]
struct Structured<'a> {
    content: Content<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<String>,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    truncated: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    next: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    archive: Option<&'a Archive>,
}

#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct WrittenAnswer<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    result_type: Option<&'static str>,
    content: Vec<Block<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    structured_content: Option<Structured<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    is_error: Option<bool>,
    #[serde(rename = "_meta", skip_serializing_if = "BTreeMap::is_empty")]
    meta: BTreeMap<&'static str, String>,
}

/// The text with what there is to say about it, in a paragraph at its end.
fn noted<'a>(text: &'a str, notes: &[String]) -> Cow<'a, str> {
    match notes {
        [] => Cow::Borrowed(text),
        notes => Cow::Owned(format!("{text}\n\n{}", notes.join("\n"))),
    }
}

fn text_block(text: &str) -> Block<'_> {
    Block::Text { kind: "text", text }
}

/// Writes the result of a call as JSON; `result_type` for the era that wants one.
pub(crate) fn write(
    outcome: &Result<ToolResult, Trouble>,
    result_type: Option<&'static str>,
) -> serde_json::Result<Vec<u8>> {
    let mut meta = BTreeMap::new();
    let mut text;
    let written = match outcome {
        Ok(answer) => {
            if let Some(version) = answer.version {
                meta.insert("handfast/version", version.to_string());
            }
            let (block, content) = match &answer.body {
                Body::Text(text) => (text_block(text), Content::Text(noted(text, &answer.notes))),
                Body::Media(media) => (Block::Media(media), Content::Media([media])),
            };
            let mut blocks = vec![block];
            blocks.extend(answer.notes.iter().map(|note| text_block(note)));
            WrittenAnswer {
                result_type,
                content: blocks,
                structured_content: Some(Structured {
                    content,
                    version: answer.version.map(|version| version.to_string()),
                    truncated: answer.truncated,
                    next: answer.next.as_deref(),
                    archive: answer.archive.as_deref(),
                }),
                is_error: answer.failed.then_some(true),
                meta,
            }
        }
        Err(trouble) => {
            text = trouble.text.clone();
            if let Some(version) = &trouble.version {
                meta.insert("handfast/version", version.to_string());
                text.push_str(&format!(" Its version now: {version}"));
            }
            WrittenAnswer {
                result_type,
                content: vec![text_block(&text)],
                structured_content: None,
                is_error: Some(true),
                meta,
            }
        }
    };
    serde_json::to_vec(&written)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(outcome: Result<ToolResult, Trouble>, result_type: Option<&'static str>) -> String {
        String::from_utf8(write(&outcome, result_type).unwrap()).unwrap()
    }

    #[test]
    fn the_envelope_is_the_reference_servers() {
        assert_eq!(
            shown(Ok(ToolResult::text("T")), None),
            r#"{"content":[{"type":"text","text":"T"}],"structuredContent":{"content":"T"}}"#
        );
        let trouble = Trouble::new(handfast::ErrorKind::NotFound, "no");
        assert_eq!(
            shown(Err(trouble), Some("complete")),
            r#"{"resultType":"complete","content":[{"type":"text","text":"no"}],"isError":true}"#
        );
        let media = Media::Image {
            data: "iVBORw0KGgo=".to_owned(),
            mime: "image/png",
        };
        let block = r#"{"type":"image","data":"iVBORw0KGgo=","mimeType":"image/png"}"#;
        assert_eq!(
            shown(Ok(ToolResult::media(media)), None),
            format!(r#"{{"content":[{block}],"structuredContent":{{"content":[{block}]}}}}"#)
        );
    }

    #[test]
    fn notes_are_blocks_of_their_own_and_at_the_end_of_the_structured_text() {
        let answer = ToolResult::text("T").with_cut(Some(Cut {
            note: "cut".to_owned(),
            next: Some("7".to_owned()),
        }));
        let structured = r#"{"content":"T\n\ncut","truncated":true,"next":"7"}"#;
        let blocks = r#"[{"type":"text","text":"T"},{"type":"text","text":"cut"}]"#;
        assert_eq!(
            shown(Ok(answer), None),
            format!(r#"{{"content":{blocks},"structuredContent":{structured}}}"#)
        );
    }
}
