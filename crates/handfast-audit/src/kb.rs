//! The knowledge base: what the calls of each language mean.
//!
//! Rows are data (`knowledge/*.toml`), one file per family, and a project can add its own. An
//! unknown key is an error: a misspelt one must not silently weaken an audit.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use serde::Deserialize;
use sha2::{Digest, Sha256};

use crate::lang::Lang;
use crate::quick::Quick;

/// One row: some calls or fields that mean the same.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Row {
    /// Qualified names: `os.makedirs`, `pathlib.Path.mkdir`, `*.mkdir` for any receiver.
    #[serde(default)]
    pub(crate) call: Vec<String>,
    /// Fields that are read: `request.args`.
    #[serde(default)]
    pub(crate) field: Vec<String>,
    pub(crate) role: Role,
    /// What exactly, within the role.
    #[serde(default)]
    pub(crate) what: String,
    /// Which argument it is about; the receiver for `self`.
    #[serde(default)]
    pub(crate) arg: Slot,
    /// The second argument: root, prefix, destination.
    pub(crate) other: Option<Slot>,
    /// Where flags or a mode stand.
    pub(crate) flags: Option<Slot>,
    /// Flags that the call always has.
    #[serde(default)]
    pub(crate) fixed: Vec<String>,
    /// Where a directory descriptor stands.
    pub(crate) dirfd: Option<Slot>,
    /// A call that is anchored by its receiver: which kind of anchor.
    pub(crate) anchored: Option<String>,
    /// What is returned.
    #[serde(default)]
    pub(crate) returns: String,
    /// How a source is shown, and what kind it is.
    #[serde(default)]
    pub(crate) label: String,
    /// Only if the call has this keyword or option set to true.
    pub(crate) when: Option<String>,
    /// A line that uses the call, written as `$`; the tests run it.
    #[cfg_attr(not(test), expect(dead_code, reason = "run by the tests"))]
    pub(crate) example: Option<String>,
}

/// An argument: a position, a keyword, or the receiver.
#[derive(Clone, Debug, Deserialize)]
#[serde(untagged)]
pub(crate) enum Slot {
    At(usize),
    Either(usize, String),
    Named(String),
}

impl Default for Slot {
    fn default() -> Self {
        Self::At(0)
    }
}

/// What a row says.
#[derive(Clone, Copy, Debug, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Role {
    /// External text.
    Source,
    /// Something the operator decides.
    Config,
    /// A path operation; `what` is its kind.
    Sink,
    Join,
    /// `what`: `lexical` or `canonical`.
    Norm,
    /// A part or another spelling; `what` says which.
    Part,
    /// A collection; `what`: `split`, `components`, `parents`, `chars`.
    Coll,
    /// A truth value; `what` says which.
    Test,
    /// Returns only if something holds; `what` says what.
    Check,
    Stat,
    /// An operation on a descriptor.
    Fd,
    Lock,
    Unlock,
    /// A key or hash derived from its argument.
    Key,
    Temp,
    Random,
    Clock,
    Spawn,
    /// Opens a directory as a handle with anchored operations.
    Handle,
    /// A value object: the result has a type and nothing else happens.
    Value,
    /// Gives its argument back.
    Same,
    /// Builds open options step by step.
    Builder,
    /// Ends the process or always throws.
    Exit,
    /// Registers a handler for requests.
    Route,
    /// Harmless: no effect on files.
    Pure,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct KnowledgeFile {
    #[serde(default)]
    row: Vec<Row>,
}

/// The rows of one family, by name.
#[derive(Debug, Default)]
pub(crate) struct Family {
    pub(crate) rows: Vec<Row>,
    calls: HashMap<String, Vec<usize>, Quick>,
    fields: HashMap<String, usize, Quick>,
    /// Last parts of the names of path operations, each with the types it is a method of.
    words: BTreeMap<String, BTreeSet<String>>,
    /// Full names of path operations.
    sinks: HashSet<String, Quick>,
    /// What calls are methods or functions of.
    owners: HashSet<String, Quick>,
}

impl Family {
    fn add(&mut self, rows: Vec<Row>) {
        for row in rows {
            let index = self.rows.len();
            for name in &row.call {
                self.calls.entry(name.clone()).or_default().push(index);
                if let Some((of, _)) = name.rsplit_once('.') {
                    self.owners.insert(of.to_owned());
                }
            }
            for name in &row.field {
                self.fields.insert(name.clone(), index);
            }
            self.rows.push(row);
        }
        self.index_operations();
    }

    /// Which names can be those of path operations, and on what they are called.
    fn index_operations(&mut self) {
        let made: BTreeSet<&str> = self.rows.iter().map(|row| row.returns.as_str()).collect();
        for row in &self.rows {
            let starts = row.role == Role::Spawn && row.what != "shell" && row.what != "argument";
            if !starts && !matches!(row.role, Role::Sink | Role::Temp | Role::Handle) {
                continue;
            }
            let on_self = matches!(&row.arg, Slot::Named(name) if name == "self");
            for name in &row.call {
                let (of, last) = name.rsplit_once('.').unwrap_or(("", name));
                let types = self.words.entry(last.to_owned()).or_default();
                // What makes an object of a type is not called on one.
                let is_made = made.contains(of) && row.returns != of;
                if of == "*" || on_self || row.anchored.is_some() || is_made {
                    types.insert(of.to_owned());
                }
                self.sinks.insert(name.clone());
            }
        }
    }

    /// The rows of a call, the later ones first: what a project adds wins.
    pub(crate) fn call(&self, name: &str) -> &[usize] {
        self.calls.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether something is known of the methods of a type.
    pub(crate) fn has_methods(&self, ty: &str) -> bool {
        self.owners.contains(ty)
    }

    pub(crate) fn field(&self, name: &str) -> Option<usize> {
        self.fields.get(name).copied()
    }

    /// The words by which a text with a path operation can be told, each with the words of which one has
    /// to stand in the same text: modules and types. With none of them the word alone is enough.
    pub(crate) fn operation_words(&self) -> BTreeMap<String, Vec<String>> {
        let mut all: BTreeMap<String, Option<BTreeSet<String>>> = BTreeMap::new();
        let sinks: BTreeSet<&String> = self.sinks.iter().collect();
        for name in sinks {
            // `Command::new`: the type says more than the word.
            let (of, last) = match name.rsplit_once('.') {
                Some((of, "new")) => of.rsplit_once('.').unwrap_or(("", of)),
                Some((of, last)) => (of, last),
                None => ("", name.as_str()),
            };
            let entry = all.entry(last.to_owned()).or_insert(Some(BTreeSet::new()));
            let known = of
                .split('.')
                .filter(|part| !part.is_empty() && *part != "java");
            let near: Vec<&str> = known.collect();
            if near.is_empty() || near.contains(&"*") {
                *entry = None;
            } else if let Some(needs) = entry {
                needs.extend([near[0], near[near.len() - 1]].map(str::to_owned));
            }
        }
        let plain = |needs: Option<BTreeSet<String>>| needs.into_iter().flatten().collect();
        all.into_iter()
            .map(|(word, needs)| (word, plain(needs)))
            .collect()
    }

    /// Whether this is the last part of the name of a path operation.
    pub(crate) fn is_sink_word(&self, last: &str) -> bool {
        self.words.contains_key(last)
    }

    /// Last parts of path operations that are called on objects, with the objects' types.
    pub(crate) fn sink_methods(&self) -> impl Iterator<Item = (&str, &BTreeSet<String>)> {
        let methods = self.words.iter().filter(|(_, types)| !types.is_empty());
        methods.map(|(last, types)| (last.as_str(), types))
    }

    /// Whether a qualified name is that of a path operation, in any of its spellings.
    pub(crate) fn is_sink(&self, name: &str) -> bool {
        if self.sinks.contains(name) {
            return true;
        }
        let (of, last) = name.rsplit_once('.').unwrap_or(("", name));
        let last = last.strip_suffix("Sync").unwrap_or(last);
        let of = of.strip_prefix("std.").unwrap_or(of);
        let of = of.strip_suffix(".promises").unwrap_or(of);
        let of = of.strip_suffix(".default").unwrap_or(of);
        let of = if of == "fs-extra" { "fs" } else { of };
        match of {
            "" | "builtins" | "std" => self.sinks.contains(last),
            _ => self.sinks.contains(&format!("{of}.{last}")),
        }
    }
}

/// What is known of all languages.
#[derive(Debug)]
pub struct Knowledge {
    families: BTreeMap<&'static str, Family>,
    hash: String,
}

const BUILT_IN: [(&str, &str); 6] = [
    ("python", include_str!("../knowledge/python.toml")),
    ("javascript", include_str!("../knowledge/javascript.toml")),
    ("go", include_str!("../knowledge/go.toml")),
    ("rust", include_str!("../knowledge/rust.toml")),
    ("c", include_str!("../knowledge/c.toml")),
    ("java", include_str!("../knowledge/java.toml")),
];

/// A file of rows that cannot be used.
#[derive(Debug)]
pub struct KnowledgeError {
    /// Which file or family.
    pub name: String,
    /// What is wrong with it.
    pub detail: String,
}

impl std::fmt::Display for KnowledgeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "knowledge of {}: {}", self.name, self.detail)
    }
}

impl std::error::Error for KnowledgeError {}

impl Knowledge {
    /// What is built in, and rows of a project: pairs of a language's name and TOML text.
    ///
    /// # Errors
    /// A language that is not known, text that is not TOML, an unknown key, a row without a call.
    pub fn new(extra: &[(String, String)]) -> Result<Self, KnowledgeError> {
        let mut digest = Sha256::new();
        let mut families: BTreeMap<&'static str, Family> = BTreeMap::new();
        for (name, text) in BUILT_IN {
            digest.update(text.as_bytes());
            families.entry(name).or_default().add(parse(name, text)?);
        }
        for (name, text) in extra {
            digest.update(text.as_bytes());
            let lang = Lang::of_name(name).ok_or_else(|| KnowledgeError {
                name: name.clone(),
                detail: "no such language".to_owned(),
            })?;
            families
                .entry(lang.family())
                .or_default()
                .add(parse(name, text)?);
        }
        let hash = digest.finalize();
        let hash = hash
            .iter()
            .take(8)
            .map(|byte| format!("{byte:02x}"))
            .collect();
        Ok(Self { families, hash })
    }

    pub(crate) fn family(&self, lang: Lang) -> &Family {
        static EMPTY: std::sync::OnceLock<Family> = std::sync::OnceLock::new();
        let empty = EMPTY.get_or_init(Family::default);
        self.families.get(lang.family()).unwrap_or(empty)
    }

    /// A short hash of all rows.
    #[must_use]
    pub fn hash(&self) -> &str {
        &self.hash
    }
}

fn parse(name: &str, text: &str) -> Result<Vec<Row>, KnowledgeError> {
    let fail = |detail: String| KnowledgeError {
        name: name.to_owned(),
        detail,
    };
    let file: KnowledgeFile = toml::from_str(text).map_err(|error| fail(error.to_string()))?;
    for row in &file.row {
        if row.call.is_empty() && row.field.is_empty() {
            return Err(fail("a row names neither a call nor a field".to_owned()));
        }
    }
    Ok(file.row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_in_parses_and_a_wrong_key_does_not() {
        Knowledge::new(&[]).unwrap();
        let wrong = "[[row]]\ncall = [\"a\"]\nrole = \"sink\"\nknd = \"read\"\n";
        let error = Knowledge::new(&[("python".to_owned(), wrong.to_owned())]).unwrap_err();
        assert!(error.to_string().contains("knd"), "{error}");
        let error = Knowledge::new(&[("cobol".to_owned(), String::new())]).unwrap_err();
        assert!(error.to_string().contains("no such language"), "{error}");
    }
}

#[cfg(test)]
mod rows {
    //! Every row is used by its own example.

    use super::{Family, Knowledge};
    use crate::interp::{Declared, Interp};
    use crate::lang::Lang;
    use crate::lower::lower;
    use crate::program::{Program, SourceFile};

    /// The example inside a function that has everything it needs.
    fn wrap(lang: Lang, imports: &str, line: &str) -> String {
        match lang {
            Lang::Python => format!("{imports}\ndef f(p, root, fd, z, x):\n    return {line}\n"),
            Lang::Go => format!(
                "package a\nimport (\n{imports})\nfunc F(p string, root string, h *os.Root, f *os.File, st os.FileInfo, r *http.Request, c *gin.Context) {{\n\t{line}\n}}\n"
            ),
            Lang::Rust => format!(
                "fn f(p: &str, root: &Path, h: &handfast::Root, d: &cap_std::fs::Dir) {{ {line}; }}\n"
            ),
            Lang::Java => format!(
                "{imports}class A {{ void f(String p, String root, HttpServletRequest r, Object x) {{ {line}; }} }}\n"
            ),
            Lang::Cpp => format!("void f(char *p, char *root, int fd) {{ {line}; }}\n"),
            _ => format!("{imports}\nfunction f(p, root, fd) {{ return {line} }}\n"),
        }
    }

    fn imports(lang: Lang, name: &str) -> String {
        let module = name.rsplit_once('.').map_or("", |(module, _)| module);
        match lang {
            Lang::Python => {
                let mut all = "import os, re, stat, pathlib, threading, datetime\n".to_owned();
                let first = module.split('.').next().unwrap_or("");
                if !first.is_empty()
                    && !matches!(
                        first,
                        "*" | "self"
                            | "request"
                            | "regex"
                            | "file"
                            | "app"
                            | "current_app"
                            | "logger"
                            | "log"
                            | "web"
                    )
                {
                    all.push_str(&format!("import {first}\n"));
                }
                all
            }
            Lang::Go => {
                let path = module
                    .replace('.', "/")
                    .replacen("github/com", "github.com", 1)
                    .replacen("golang/org", "golang.org", 1);
                let mut all = String::from("\"os\"\n\"regexp\"\n\"syscall\"\n");
                if path.contains('/') {
                    all.push_str(&format!("\"{path}\"\n"));
                }
                all
            }
            Lang::Java => {
                let mut all = String::from(
                    "import java.nio.file.Path;\nimport java.io.File;\nimport jakarta.servlet.http.HttpServletRequest;\nimport java.util.List;\n",
                );
                let known = name.strip_prefix("java.").unwrap_or("");
                let ty = known.split('.').next().unwrap_or("");
                if !ty.is_empty() {
                    all.push_str(&format!("import java.x.{ty};\n"));
                }
                all
            }
            Lang::JavaScript => {
                let mut all = "import fs from 'fs'; import crypto from 'crypto';\n".to_owned();
                let module = if name.contains('.') { module } else { name };
                if module.contains('-')
                    || matches!(module, "rimraf" | "mkdirp" | "del" | "sanitize")
                {
                    let local = module.replace('-', "_");
                    all.push_str(&format!("import {local} from '{module}';\n"));
                }
                all
            }
            _ => String::new(),
        }
    }

    fn missed(lang: Lang, family: &Family, knowledge: &Knowledge) -> Vec<String> {
        let mut out = Vec::new();
        for (index, row) in family.rows.iter().enumerate() {
            let Some(example) = &row.example else {
                continue;
            };
            for name in &row.call {
                let last = name.rsplit('.').next().unwrap_or(name);
                let mut shown = name.replacen("*.", "x.", 1);
                if lang == Lang::JavaScript {
                    let module = name
                        .rsplit_once('.')
                        .map_or(name.as_str(), |(module, _)| module);
                    shown = shown.replace(module, &module.replace('-', "_"));
                }
                if lang == Lang::Go
                    && (name.starts_with("github.com") || name.starts_with("golang.org"))
                {
                    let parts: Vec<&str> = name.rsplit('.').take(2).collect();
                    shown = format!("{}.{}", parts[1], parts[0]);
                }
                if lang == Lang::Go {
                    shown = shown
                        .replace("http.Request.", "r.")
                        .replace("gin.Context.", "c.")
                        .replace("v5.URLParam", "chi.URLParam");
                }
                if lang == Lang::Java {
                    shown = shown.replace("java.", "");
                }
                if matches!(lang, Lang::Rust | Lang::Cpp) && !shown.starts_with("x.") {
                    shown = shown.replace('.', "::");
                }
                let line = example.replace("$M", last).replace('$', &shown);
                let text = wrap(lang, &imports(lang, name), &line);
                let module = lower(lang, 0, &text).unwrap();
                let program = Program::new(vec![SourceFile {
                    path: "a".to_owned(),
                    lang,
                    text,
                    module,
                    is_test: false,
                }]);
                let declared = Declared::default();
                let mut interp = Interp::new(&program, knowledge, &declared, 0);
                interp.run_top(0);
                let functions = program.files[0].module.functions.len();
                for function in 0..functions {
                    if function != program.files[0].module.top {
                        interp.run_entry((0, u32::try_from(function).unwrap()));
                    }
                }
                let same = |hit: &usize| {
                    family.rows[*hit].role == row.role && family.rows[*hit].what == row.what
                };
                if !interp.hits.contains(&index) && !interp.hits.iter().any(same) {
                    out.push(format!("{lang}: {name}: {line}"));
                }
            }
        }
        out
    }

    #[test]
    fn every_row_is_used_by_its_example() {
        let knowledge = Knowledge::new(&[]).unwrap();
        let mut out = Vec::new();
        for lang in [
            Lang::Python,
            Lang::JavaScript,
            Lang::Go,
            Lang::Rust,
            Lang::Cpp,
            Lang::Java,
        ] {
            out.extend(missed(lang, knowledge.family(lang), &knowledge));
        }
        assert!(out.is_empty(), "{}\n{}", out.len(), out.join("\n"));
    }
}
