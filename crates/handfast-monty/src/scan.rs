//! `glob`, `rglob`, `walk` and `scandir`: Monty's own scanner over a session.
//!
//! Every directory and every entry is asked of the session by its virtual path, so a scan sees what
//! `iterdir` and `exists` would, and goes on below mounts that lie in one another.

use std::io;

use handfast::{Files, RelPath};
use monty_types::scan::{EntryInfo, Listing, ScanSource, collect_scan};
use monty_types::{MontyObject, ScanArgs};

use crate::calls;
use crate::error::CallError;
use crate::files::{MontyFiles, Target};
use crate::limits::AnswerBudget;
use crate::path;

/// How many entries one scan may look at, each time a pattern comes back to one counted.
const MAX_VISITS: u64 = 10_000_000;

pub(crate) fn scan(
    files: &MontyFiles,
    args: &ScanArgs,
    at: Target<'_>,
) -> Result<MontyObject, CallError> {
    if let Some(parts) = &args.pattern {
        path::check_pattern(parts)?;
    }
    let mut source = Source {
        files,
        served: files.served(),
        root: at,
        answer: AnswerBudget::new(at.mount.limits.memory),
        visits: 0,
    };
    match collect_scan(args, &mut source)? {
        Some(reply) => Ok(reply.into_object()),
        None => Err(CallError::failed(
            io::ErrorKind::NotFound,
            "No such file or directory",
            at.asked,
        )),
    }
}

struct Source<'a> {
    files: &'a MontyFiles,
    served: &'a dyn Files,
    root: Target<'a>,
    answer: AnswerBudget,
    visits: u64,
}

impl Source<'_> {
    /// The scanner's text becomes a path; nothing if it is none, or too long to be named.
    fn path_of(&self, below: &str) -> Option<RelPath> {
        let path = match below {
            "" => self.root.path.clone(),
            _ => self.root.path.join(&RelPath::parse(below).ok()?),
        };
        (below.is_empty() || path::is_short(&path::shown(&path))).then_some(path)
    }

    /// What a path is; absent if it may not be named, or nothing is mounted there.
    fn about(&self, path: &RelPath) -> Option<EntryInfo> {
        let target = self.files.target("", path)?;
        target.refuse_foreign().ok()?;
        calls::about(self.served, path)
    }
}

impl ScanSource for Source<'_> {
    type Error = CallError;

    fn list(&mut self, dir: &str) -> Result<Option<Listing>, CallError> {
        let Some(path) = self.path_of(dir) else {
            return Ok(None);
        };
        let shown = path::shown(&path);
        let Some(target) = self.files.target(&shown, &path) else {
            return Ok(None);
        };
        let listed = match dir {
            // The root's failure is the scan's; directories below that cannot be read are empty.
            "" => {
                self.root.refuse_foreign()?;
                calls::visible(self.served, self.root, &mut self.answer)?
            }
            _ if target.refuse_foreign().is_err() => return Ok(None),
            _ => match calls::visible(self.served, target, &mut self.answer) {
                Ok(listed) => listed,
                Err(error @ CallError::MemoryLimit(_)) => return Err(error),
                Err(_) => return Ok(None),
            },
        };
        let mut found = Vec::with_capacity(listed.len());
        for (name, info) in listed {
            self.answer.charge(dir.len() as u64 + 1)?;
            // What may not be named is there and nothing else is known of it.
            let named = !path::is_foreign(&name) && path::is_short(&path::child(&shown, &name));
            let info = match named {
                true => info,
                false => EntryInfo {
                    is_dir: false,
                    is_file: false,
                    is_symlink: false,
                },
            };
            found.push((name, info));
        }
        Ok(Some(found.into()))
    }

    fn lookup(&mut self, below: &str) -> Result<Option<EntryInfo>, CallError> {
        let found = self.path_of(below).and_then(|path| self.about(&path));
        if found.is_some() {
            self.answer.charge_name(below.len())?;
        }
        Ok(found)
    }

    fn visit(&mut self) -> Result<(), CallError> {
        self.visits += 1;
        if self.visits > MAX_VISITS {
            return Err(CallError::ScanLimit(MAX_VISITS));
        }
        Ok(())
    }

    fn charge(&mut self, bytes: usize) -> Result<(), CallError> {
        self.answer.charge(bytes as u64)
    }
}
