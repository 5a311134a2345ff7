//! An MCP server's tools as a victim, over its standard input and output.

use std::io::{self, BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout};

use handfast::{Error, ErrorKind};
use serde_json::{Value, json};

use crate::victims::{Names, Returned};

/// A client of a server that was started for it.
pub(super) struct Tools {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    next: u64,
}

impl Tools {
    pub(super) fn new(input: ChildStdin, output: ChildStdout) -> Self {
        Self {
            input,
            output: BufReader::new(output),
            next: 0,
        }
    }

    /// Calls a tool; gives its text and the version that is beside it.
    pub(super) fn tool(&mut self, name: &str, arguments: &Value) -> Result<Returned, Error> {
        self.next += 1;
        let call = json!({"jsonrpc": "2.0", "id": self.next, "method": "tools/call",
            "params": {"name": name, "arguments": arguments}});
        let answer = self.exchange_lines(&call).map_err(Error::from)?;
        let result = &answer["result"];
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        if result["isError"] == true || answer.get("error").is_some() {
            let said = match text {
                "" => answer["error"].to_string(),
                text => text.to_owned(),
            };
            return Err(Error::refused(kind(&said), said));
        }
        let version = result["_meta"]["handfast/version"].as_str();
        Ok(Returned {
            version: version.and_then(|version| version.parse().ok()),
            ..Returned::text(text)
        })
    }

    fn exchange_lines(&mut self, message: &Value) -> io::Result<Value> {
        writeln!(self.input, "{message}")?;
        self.input.flush()?;
        let mut line = String::new();
        if self.output.read_line(&mut line)? == 0 {
            return Err(io::Error::other("the MCP server ended"));
        }
        Ok(serde_json::from_str(&line)?)
    }
}

impl Tools {
    /// Makes the call of a victim; `Unsupported` for verbs that the server has no tool for.
    pub(super) fn call(&mut self, verb: &str, names: &Names<'_>) -> Result<Returned, Error> {
        let at = |name: &str| {
            let path = names.at(name)?;
            Ok::<_, Error>(format!("/{}", String::from_utf8_lossy(path.as_bytes())))
        };
        match verb {
            "read" | "read-versioned" => self.tool("read_text_file", &json!({"path": at("data")?})),
            "metadata" => self.tool("get_file_info", &json!({"path": at("data")?})),
            "read-dir" => self.tool("list_directory", &json!({"path": at("tree/sub")?})),
            "write" => self.tool(
                "write_file",
                &json!({"path": at("f")?, "content": "inside"}),
            ),
            "write-if" => {
                let read = self.tool("read_text_file", &json!({"path": at("f")?}))?;
                let version = read.version.map(|version| version.to_string());
                let arguments =
                    json!({"path": at("f")?, "content": "inside", "expectedVersion": version});
                self.tool("write_file", &arguments)
            }
            "create-dir" => self.tool("create_directory", &json!({"path": at("d")?})),
            "rename-onto" => self.tool(
                "move_file",
                &json!({"source": at("f")?, "destination": at("spot")?}),
            ),
            "rename" => self.tool(
                "move_file",
                &json!({"source": at("f")?, "destination": at("renamed")?}),
            ),
            _ => Err(Error::refused(
                ErrorKind::Unsupported,
                "the server has no such tool",
            )),
        }
    }
}

/// The kind behind a refusal's words, which are all that a client gets.
fn kind(text: &str) -> ErrorKind {
    const BEGINNINGS: [(&str, ErrorKind); 14] = [
        ("Access denied - symlink target outside", ErrorKind::Escape),
        ("Access denied - symbolic links", ErrorKind::Link),
        ("Access denied - a symbolic link", ErrorKind::Link),
        (
            "Access denied - the file has other names",
            ErrorKind::HardLink,
        ),
        ("Access denied - not a regular", ErrorKind::Kind),
        ("Access denied", ErrorKind::Denied),
        ("EACCES", ErrorKind::Denied),
        ("ELOOP", ErrorKind::Link),
        ("ENOENT", ErrorKind::NotFound),
        ("ENOTDIR", ErrorKind::NotADirectory),
        ("EEXIST", ErrorKind::Exists),
        ("EAGAIN", ErrorKind::Raced),
        ("EBUSY", ErrorKind::Busy),
        ("Stale", ErrorKind::Stale),
    ];
    BEGINNINGS
        .iter()
        .find(|(beginning, _)| text.starts_with(beginning))
        .map_or(ErrorKind::Io, |(_, kind)| *kind)
}
