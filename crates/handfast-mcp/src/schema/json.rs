//! The table as JSON, in the order in which the reference server writes it.

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};
use serde_json::{Value, json};

use super::{Argument, Hints, Kind, Offer, Output, Tool};

const DRAFT: &str = "https://json-schema.org/draft/2020-12/schema";

/// What a tool does whose answer may be a commit.
const COMMITS: Hints = Hints::Writes {
    idempotent: false,
    destructive: true,
};

/// The array of tools; without those that change files if nothing may be changed.
pub(crate) fn list(offer: &Offer) -> String {
    let tools: Vec<Listed> = offer
        .all()
        .filter(|tool| !(offer.read_only && tool.changes()))
        .map(|tool| Listed(tool, offer))
        .collect();
    serde_json::to_string(&tools).unwrap_or_else(|_| "[]".to_owned())
}

struct Listed<'a>(&'static Tool, &'a Offer);

impl Serialize for Listed<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let tool = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", tool.name)?;
        map.serialize_entry("title", tool.title)?;
        map.serialize_entry("description", tool.about)?;
        map.serialize_entry("inputSchema", &ArgumentSchema(tool.arguments))?;
        // It only looks, unless the person's answer commits what it proposes.
        let told = match tool.name {
            "propose_changes" if self.1.commits => COMMITS,
            _ => tool.hints,
        };
        map.serialize_entry("annotations", &hints(told))?;
        map.serialize_entry("outputSchema", &AnswerSchema(tool.output))?;
        map.end()
    }
}

struct ArgumentSchema(&'static [Argument]);

impl Serialize for ArgumentSchema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("$schema", DRAFT)?;
        map.serialize_entry("type", "object")?;
        map.serialize_entry("properties", &Properties(self.0))?;
        let required: Vec<&str> = self
            .0
            .iter()
            .filter(|argument| argument.required)
            .map(|argument| argument.name)
            .collect();
        if !required.is_empty() {
            map.serialize_entry("required", &required)?;
        }
        map.end()
    }
}

struct Properties(&'static [Argument]);

impl Serialize for Properties {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(
            self.0
                .iter()
                .map(|argument| (argument.name, property(argument))),
        )
    }
}

fn property(argument: &Argument) -> Value {
    let mut schema = match argument.kind {
        Kind::Text => json!({"type": "string"}),
        Kind::Number => json!({"type": "number"}),
        Kind::Flag => json!({"type": "boolean", "default": false}),
        Kind::SomeTexts => json!({"type": "array", "items": {"type": "string"}, "minItems": 1}),
        Kind::AnyTexts => json!({"type": "array", "items": {"type": "string"}, "default": []}),
        Kind::SortBy => json!({"type": "string", "enum": ["name", "size"], "default": "name"}),
        Kind::Edits => json!({
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "oldText": {"type": "string", "description": "The passage to replace"},
                    "newText": {"type": "string", "description": "What to put in its place"},
                    "replaceAll": {"type": "boolean", "description": "Every place that fits, not only the first"},
                },
                "required": ["oldText", "newText"],
            },
        }),
    };
    if let (Some(about), Some(map)) = (argument.about, schema.as_object_mut()) {
        map.insert("description".to_owned(), Value::from(about));
    }
    schema
}

fn hints(hints: Hints) -> Value {
    match hints {
        Hints::Reads => json!({"readOnlyHint": true, "openWorldHint": false}),
        Hints::Writes {
            idempotent,
            destructive,
        } => json!({
            "readOnlyHint": false,
            "idempotentHint": idempotent,
            "destructiveHint": destructive,
            "openWorldHint": false,
        }),
    }
}

/// The schema of structured answers: a text, or media blocks.
struct AnswerSchema(Output);

impl Serialize for AnswerSchema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let content = match self.0 {
            Output::Text | Output::Archive => json!({"type": "string"}),
            Output::Media => media(),
        };
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("$schema", DRAFT)?;
        map.serialize_entry("type", "object")?;
        let mut properties = json!({ "content": content });
        if let Some(map) = properties.as_object_mut() {
            let optional = |kind: &str, about: &str| json!({"type": kind, "description": about});
            map.insert(
                "version".to_owned(),
                optional(
                    "string",
                    "Which version of the file this is, for expectedVersion",
                ),
            );
            map.insert(
                "truncated".to_owned(),
                optional("boolean", "Something was left out; the text says what"),
            );
            map.insert(
                "next".to_owned(),
                optional("string", "Give this as cursor to go on"),
            );
            if self.0 == Output::Archive {
                map.insert("archive".to_owned(), archive());
            }
        }
        map.serialize_entry("properties", &properties)?;
        map.serialize_entry("required", &["content"])?;
        map.serialize_entry("additionalProperties", &false)?;
        map.end()
    }
}

/// What became of an archive.
fn archive() -> Value {
    let refusal = json!({
        "rule": {"type": "string", "description": "The rule, for programs"},
        "detail": {"type": "string"},
    });
    let mut member = refusal.clone();
    member["name"] = json!({"type": "string", "description": "The name, as the archive tells it"});
    json!({
        "type": "object",
        "properties": {
            "extracted": {"type": "boolean"},
            "format": {"type": "string"},
            "sha256": {"type": "string", "description": "The digest of the archive, if it was read to its end"},
            "members": {"type": "integer", "description": "How many were accepted"},
            "bytes": {"type": "integer", "description": "Bytes of content"},
            "refusal": {
                "type": "object",
                "description": "Why the archive as a whole is refused",
                "properties": refusal,
                "required": ["rule", "detail"],
                "additionalProperties": false,
            },
            "refused": {
                "type": "array",
                "description": "The members that are refused",
                "items": {
                    "type": "object",
                    "properties": member,
                    "required": ["name", "rule", "detail"],
                    "additionalProperties": false,
                },
            },
            "refusedInAll": {"type": "integer", "description": "How many members are refused, listed or not"},
        },
        "required": ["extracted", "members", "bytes", "refused", "refusedInAll"],
        "additionalProperties": false,
    })
}

fn media() -> Value {
    json!({
        "type": "array",
        "items": {"anyOf": [
            {
                "type": "object",
                "properties": {
                    "type": {"type": "string", "enum": ["image", "audio"]},
                    "data": {"type": "string"},
                    "mimeType": {"type": "string"},
                },
                "required": ["type", "data", "mimeType"],
                "additionalProperties": false,
            },
            {
                "type": "object",
                "properties": {
                    "type": {"type": "string", "const": "resource"},
                    "resource": {
                        "type": "object",
                        "properties": {
                            "uri": {"type": "string"},
                            "mimeType": {"type": "string"},
                            "blob": {"type": "string"},
                        },
                        "required": ["uri", "blob"],
                        "additionalProperties": false,
                    },
                },
                "required": ["type", "resource"],
                "additionalProperties": false,
            },
        ]},
    })
}
