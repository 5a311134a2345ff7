//! `fs --session NAME`: the verbs of `fs` inside of a session.

use std::ffi::OsStr;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;

use clap::Args;
use handfast::{ErrorKind, FileKind, RenameMode, TreeLimits, Version, escape};
use handfast_session::{Error, Put, Session};

use super::place::StateArgs;
use super::told;
use crate::failure::Failure;
use crate::fs::answer::{Answer, Answered, Done};
use crate::fs::{Verb, ls, mode, write};
use crate::json::Object;
use crate::log::{LogChoice, Recording};
use crate::output::{self, Output};
use crate::time::rfc3339;

#[derive(Debug, Args)]
pub(crate) struct InSession {
    /// Work in this session instead; paths are absolute then
    #[arg(
        long,
        value_name = "NAME",
        conflicts_with = "root",
        help_heading = "Session"
    )]
    session: Option<String>,

    #[command(flatten)]
    state: StateArgs,
}

/// One verb on one path or two.
struct Asked<'a> {
    verb: &'static str,
    deed: &'static str,
    path: &'a OsStr,
    to: Option<&'a OsStr>,
}

impl Asked<'_> {
    fn failed(&self, error: &Error) -> Box<Failure> {
        let shown = self.path.to_string_lossy();
        let mut failure = told::failed(self.verb, self.deed, &shown, error);
        failure.path = escape(self.path.as_bytes());
        failure.sentence = match self.to {
            Some(to) => format!(
                "cannot {} `{}` to `{}`",
                self.deed,
                failure.path,
                escape(to.as_bytes())
            ),
            None => format!("cannot {} `{}`", self.deed, failure.path),
        };
        failure.destination = self.to.map(|to| escape(to.as_bytes()));
        failure
    }

    fn fields(&self) -> Object {
        let fields = Object::new().with_bytes("path", self.path.as_bytes());
        match self.to {
            Some(to) => fields.with_bytes("destination", to.as_bytes()),
            None => fields,
        }
    }

    fn done(&self, note: &str) -> Answered {
        let shown = escape(self.path.as_bytes());
        let note = match self.to {
            Some(to) => format!("{note} `{shown}` to `{}`", escape(to.as_bytes())),
            None => format!("{note} `{shown}`"),
        };
        Done::answer(self.fields(), note)
    }

    fn version(&self, text: Option<&str>) -> Result<Option<Version>, Box<Failure>> {
        let parse = |text: &str| {
            text.parse().map_err(|_| {
                let why = "`--if-version` is not a version that this program printed";
                told::misused(self.verb, self.deed, why)
            })
        };
        text.map(parse).transpose()
    }
}

impl InSession {
    pub(crate) fn is_given(&self) -> bool {
        self.session.is_some()
    }

    /// What came of the verb, and the log it was told to.
    pub(crate) fn run(
        &self,
        verb: &Verb,
        log: &LogChoice,
        out: &mut Output,
    ) -> Result<(Answered, Option<Recording>), Box<Failure>> {
        let name = self.session.as_deref().unwrap_or_default();
        let (opening, recording) = log.open_session(verb.name())?;
        let session = self.state.open_with(verb.name(), name, opening)?;
        Ok((run(&session, verb, out), recording))
    }
}

fn run(session: &Session, verb: &Verb, out: &mut Output) -> Answered {
    let one = |deed, path| Asked {
        verb: verb.name(),
        deed,
        path,
        to: None,
    };
    let two = |deed, path, to| Asked {
        to: Some(to),
        ..one(deed, path)
    };
    match verb {
        Verb::Read(args) => read(session, &one("read", &args.path), out),
        Verb::Write(args) => {
            let asked = one("write", args.path.as_os_str());
            let expected = asked.version(args.if_version.as_deref())?;
            let data = input(&asked, out)?;
            let path = asked.path.as_bytes();
            let put = match (&expected, args.new) {
                (Some(version), _) => Put::If(version),
                (None, true) => Put::New,
                (None, false) => Put::Replace,
            };
            let written = session.put(path, &data, put, args.options());
            let written = written.map_err(|error| asked.failed(&error))?;
            let size = data.len() as u64;
            let fields = asked
                .fields()
                .with("size", size)
                .with("file_version", write::version_of(&written, out));
            let shown = escape(path);
            Done::answer(fields, format!("wrote {} to `{shown}`", write::bytes(size)))
        }
        Verb::Append(args) => {
            let asked = one("append to", &args.path);
            let data = input(&asked, out)?;
            let appended = session.append(asked.path.as_bytes(), &data);
            appended.map_err(|error| asked.failed(&error))?;
            let fields = asked.fields().with("appended", data.len() as u64);
            Done::answer(
                fields,
                format!("appended to `{}`", escape(asked.path.as_bytes())),
            )
        }
        Verb::Ls(args) => list(session, &one("list", top(&args.path)), args.null),
        Verb::Tree(args) => tree(session, &one("list", top(&args.path)), args.null),
        Verb::Stat(args) => stat(session, &one("look at", &args.path), args.no_follow),
        Verb::Mkdir(args) => {
            let asked = one("make the directory", &args.path);
            let path = asked.path.as_bytes();
            let made = match args.parents {
                true => session.create_dir_all(path),
                false => session.create_dir(path),
            };
            made.map_err(|error| asked.failed(&error))?;
            asked.done("made the directory")
        }
        Verb::Mv(args) => {
            let asked = two("move", &args.source, args.destination.as_os_str());
            let how = match (args.no_replace, args.exchange) {
                (true, _) => RenameMode::NoReplace,
                (_, true) => RenameMode::Exchange,
                _ => RenameMode::Replace,
            };
            session
                .rename(args.source.as_bytes(), args.destination.as_bytes(), how)
                .map_err(|error| asked.failed(&error))?;
            asked.done("moved")
        }
        Verb::Rm(args) => {
            let asked = one("remove", args.path.as_os_str());
            let expected = asked.version(args.if_version.as_deref())?;
            let path = asked.path.as_bytes();
            let removed = match &expected {
                Some(version) => session.remove_if(path, version),
                None if args.recursive => session.remove_tree(path),
                None => session.remove_file(path),
            };
            removed.map_err(|error| asked.failed(&error))?;
            asked.done("removed")
        }
        Verb::Cp(args) => {
            let asked = two("copy", &args.source, args.destination.as_os_str());
            let (from, to) = (args.source.as_bytes(), args.destination.as_bytes());
            let is_dir = || session.metadata(from).is_ok_and(|status| status.is_dir());
            let copied = match args.recursive && is_dir() {
                true => session.copy_tree(from, to),
                false => session.copy(from, to).map(drop),
            };
            copied.map_err(|error| asked.failed(&error))?;
            asked.done("copied")
        }
        Verb::Link(args) => {
            let asked = two("link", &args.source, args.destination.as_os_str());
            session
                .hard_link(args.source.as_bytes(), args.destination.as_bytes())
                .map_err(|error| asked.failed(&error))?;
            asked.done("linked")
        }
        Verb::Symlink(args) => {
            let asked = one("make the link", &args.path);
            session
                .symlink(args.target.as_bytes(), args.path.as_bytes())
                .map_err(|error| asked.failed(&error))?;
            asked.done("made the link")
        }
        Verb::Readlink(args) => {
            let asked = one("read the link", &args.path);
            let target = session
                .read_link(asked.path.as_bytes())
                .map_err(|error| asked.failed(&error))?;
            let target = target.as_bytes();
            let fields = asked.fields().with_bytes("target", target);
            let mut data = match Output::is_terminal() {
                true => escape(target).into_bytes(),
                false => target.to_vec(),
            };
            data.push(b'\n');
            Ok(Box::new(Data { fields, data }))
        }
        Verb::Chmod(args) => {
            let asked = one("change the mode of", &args.path);
            session
                .chmod(asked.path.as_bytes(), args.mode)
                .map_err(|error| asked.failed(&error))?;
            let fields = asked.fields().with("mode", mode::shown(args.mode));
            Done::answer(fields, "changed the mode".to_owned())
        }
        Verb::Version(args) => {
            let asked = one("tell the version of", &args.path);
            let version = session
                .version(asked.path.as_bytes())
                .map_err(|error| asked.failed(&error))?
                .to_string();
            let fields = asked.fields().with("file_version", version.as_str());
            let data = format!("{version}\n").into_bytes();
            Ok(Box::new(Data { fields, data }))
        }
        Verb::Recover(_) => {
            session
                .mend()
                .map_err(|error| told::failed("recover", "mend the session", "", &error))?;
            Done::answer(Object::new(), "the session is in order".to_owned())
        }
    }
}

/// All of standard input: a refusal comes before anything is changed.
fn input(asked: &Asked<'_>, out: &mut Output) -> Result<Vec<u8>, Box<Failure>> {
    let mut data = Vec::new();
    crate::fs::input::stdin(out)
        .read_to_end(&mut data)
        .map_err(|_| told::misused(asked.verb, asked.deed, "standard input cannot be read"))?;
    Ok(data)
}

fn read(session: &Session, asked: &Asked<'_>, out: &Output) -> Answered {
    let path = asked.path.as_bytes();
    if out.is_json() {
        let (data, version) = session
            .read_versioned(path)
            .map_err(|error| asked.failed(&error))?;
        let fields = asked
            .fields()
            .with("size", data.len() as u64)
            .with("file_version", version.to_string())
            .with_bytes("content", &data);
        return Ok(Box::new(Data { fields, data }));
    }
    let mut file = session.open(path).map_err(|error| asked.failed(&error))?;
    let mut data = Vec::new();
    let read = file.read_to_end(&mut data);
    read.map_err(|error| {
        let why = format!("reading stopped half-way: {error}");
        let mut failure = told::misused(asked.verb, asked.deed, &why);
        failure.kind = ErrorKind::Io;
        failure.exit = crate::exit::Exit::No;
        failure
    })?;
    let fields = Object::new();
    Ok(Box::new(Data { fields, data }))
}

fn list(session: &Session, asked: &Asked<'_>, null: bool) -> Answered {
    let entries = session
        .read_dir(asked.path.as_bytes())
        .map_err(|error| asked.failed(&error))?;
    let entries = entries
        .into_iter()
        .map(|entry| (entry.name.as_bytes().to_vec(), entry.kind));
    Ok(Box::new(Listing {
        fields: asked.fields(),
        key: "name",
        entries: entries.collect(),
        null,
    }))
}

fn tree(session: &Session, asked: &Asked<'_>, null: bool) -> Answered {
    let failed = |error: Error| asked.failed(&error);
    let limits = TreeLimits::new().with_depth(1000).with_entries(10_000_000);
    let mut walk = session
        .walk(asked.path.as_bytes(), limits)
        .map_err(failed)?;
    let mut entries = Vec::new();
    while let Some(entry) = walk.next_entry().map_err(failed)? {
        entries.push((told::bytes(&entry.path), entry.kind));
    }
    Ok(Box::new(Listing {
        fields: asked.fields(),
        key: "path",
        entries,
        null,
    }))
}

fn stat(session: &Session, asked: &Asked<'_>, no_follow: bool) -> Answered {
    let path = asked.path.as_bytes();
    let looked = match no_follow {
        true => session.symlink_metadata(path),
        false => session.metadata(path),
    };
    let facts = looked.map_err(|error| asked.failed(&error))?;
    let fields = asked
        .fields()
        .with("type", facts.kind.name())
        .with("size", facts.len)
        .with("mode", mode::shown(facts.mode))
        .with("nlink", facts.nlink)
        .with("mtime", rfc3339(facts.modified));
    let shown = escape(path);
    let data = format!(
        "path      {shown}\ntype      {}\nsize      {}\nmode      {}\nmodified  {}\n",
        facts.kind,
        write::bytes(facts.len),
        mode::shown(facts.mode),
        rfc3339(facts.modified)
    );
    let data = data.into_bytes();
    Ok(Box::new(Data { fields, data }))
}

/// Bytes for people, fields for programs.
struct Data {
    fields: Object,
    data: Vec<u8>,
}

impl Answer for Data {
    fn fields(&self) -> Object {
        self.fields.clone()
    }

    fn show(&mut self, out: &mut Output) -> Result<(), Box<Failure>> {
        out.data(&self.data);
        Ok(())
    }
}

struct Listing {
    fields: Object,
    /// What the bytes of an entry are: its name, or its path.
    key: &'static str,
    entries: Vec<(Vec<u8>, FileKind)>,
    null: bool,
}

impl Answer for Listing {
    fn fields(&self) -> Object {
        let entries = self.entries.iter().map(|(bytes, kind)| {
            Object::new()
                .with_bytes(self.key, bytes)
                .with("type", kind.name())
        });
        self.fields.clone().with("entries", output::list(entries))
    }

    fn show(&mut self, out: &mut Output) -> Result<(), Box<Failure>> {
        for (bytes, kind) in &self.entries {
            if self.null {
                out.data(bytes);
                out.data(b"\0");
            } else {
                out.line(&ls::shown(bytes, *kind));
            }
        }
        Ok(())
    }
}

/// What `.` means where paths are absolute.
fn top(path: &OsStr) -> &OsStr {
    if path == "." { OsStr::new("/") } else { path }
}
