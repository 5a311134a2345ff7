//! `session new NAME`: mount directories.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use handfast::Root;
use handfast_session::policy::Policy;
use handfast_session::{Mode, MountSpec, Protect, SessionSpec, VirtualPath};

use super::failures;
use super::place::StateArgs;
use crate::failure::Failure;
use crate::fs::answer::{Done, PrintResult};
use crate::json::JsonObject;

/// Make a session over directories
///
/// A base is DIR, DIR:/MOUNT, DIR:MODE or DIR:/MOUNT:MODE, taken apart from the right. Without a
/// mount it is `/`, or with several bases `/` and the directory's name. Modes are `overlay` (the
/// default), `read-only` and `read-write`.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast session new review --base project --preset workspace
  handfast session new two --base code:/code:read-only --base data:/data
  handfast session new strict --policy policy.toml"
))]
pub(super) struct NewArgs {
    /// The session's name
    name: String,

    /// A directory, where it is mounted, and how
    #[arg(long = "base", value_name = "DIR[:/MOUNT][:MODE]")]
    #[arg(required_unless_present = "policy", conflicts_with = "policy")]
    bases: Vec<OsString>,

    /// Protect the names of a preset in every base: `workspace`
    #[arg(long, value_name = "PRESET", visible_alias = "protect")]
    #[arg(conflicts_with = "policy")]
    preset: Option<String>,

    /// Deny files that match a pattern in every base, as in gitignore without `!`
    #[arg(long, value_name = "PATTERN", conflicts_with = "policy")]
    deny: Vec<String>,

    /// Forbid changes to files that match a pattern in every base
    #[arg(long, value_name = "PATTERN", conflicts_with = "policy")]
    read_only: Vec<String>,

    /// Ask a person before a file that matches a pattern is opened or changed
    ///
    /// `handfast approve` answers. See `--ask-timeout`.
    #[arg(long, value_name = "PATTERN", conflicts_with = "policy")]
    ask: Vec<String>,

    /// Deny a request after this time if nobody answers [default: 60s]
    #[arg(long, value_name = "TIME", conflicts_with = "policy", requires = "ask")]
    ask_timeout: Option<String>,

    /// Take everything from a policy file
    #[arg(long, value_name = "FILE")]
    policy: Option<OsString>,
}

impl NewArgs {
    pub(super) fn run(&self, state: &StateArgs) -> PrintResult {
        let spec = match &self.policy {
            Some(file) => Policy::read_ambient(file)
                .map_err(|error| {
                    let shown = file.to_string_lossy();
                    let mut failure = failures::failed("new", "use the policy", &shown, &error);
                    failure.exit = crate::exit::Exit::Usage;
                    failure
                })?
                .session(),
            None => self.spec()?,
        };
        let catalogue = state.catalogue("new")?;
        catalogue.create(&self.name, &spec).map_err(|error| {
            let not_mounted = spec.mounts().iter().find_map(|mount| {
                let hint = match self.policy {
                    Some(_) => {
                        "`path` of a `[[root]]` names a directory that exists; \
                                it counts from the policy file"
                    }
                    None => "a base is a directory that exists: DIR[:/MOUNT][:MODE]",
                };
                cannot_mount(mount, hint)
            });
            not_mounted.unwrap_or_else(|| {
                let mut failure = failures::failed("new", "make the session", &self.name, &error);
                if error.kind() == handfast::ErrorKind::Invalid {
                    failure.exit = crate::exit::Exit::Usage;
                }
                failure
            })
        })?;
        let fields = JsonObject::new().with("session", self.name.as_str());
        Done::answer(fields, format!("made the session `{}`", self.name))
    }

    fn spec(&self) -> Result<SessionSpec, Box<Failure>> {
        let wrong = |error: &handfast_session::Error| {
            let mut failure = failures::failed("new", "make the session", "", error);
            failure.exit = crate::exit::Exit::Usage;
            failure
        };
        let mut protect = match &self.preset {
            Some(name) => Protect::preset(name).map_err(|error| wrong(&error))?,
            None => Protect::new(),
        };
        protect.deny.extend(self.deny.iter().cloned());
        protect.read_only.extend(self.read_only.iter().cloned());
        protect.ask.extend(self.ask.iter().cloned());
        let mut spec = SessionSpec::new();
        if let Some(text) = &self.ask_timeout {
            spec = spec.ask_timeout(ask_timeout(text)?);
        }
        for base in &self.bases {
            let base = Base::parse(base, self.bases.len() > 1)?;
            let mount = MountSpec::new(base.dir, base.at).mode(base.mode);
            spec = spec.mount(mount.protect(protect.clone()));
        }
        Ok(spec)
    }
}

/// How long a request waits for a person.
fn ask_timeout(text: &str) -> Result<Duration, Box<Failure>> {
    match handfast_session::policy::parse_time(text) {
        Some(time) if !time.is_zero() => Ok(time),
        _ => {
            let why = "`--ask-timeout` is a time, such as `30s` or `5m`";
            Err(failures::misused("new", "make the session", why))
        }
    }
}

/// The modes of a session that lasts.
const MODES: &str = "`overlay`, `read-only` and `read-write`";

/// Why a directory cannot be mounted, by its name. Looked at only after the session was refused.
fn cannot_mount(mount: &MountSpec, hint: &str) -> Option<Box<Failure>> {
    let error = Root::open_ambient(mount.host()).err()?;
    let host = mount.host().as_os_str().as_bytes();
    // Without a known mode, the end of the text was taken for a part of the directory's name.
    if error.kind() == handfast::ErrorKind::NotFound
        && let Some((_, word)) = cut(host)
        && !word.contains(&b'/')
    {
        let word = handfast::escape(word);
        let why = format!("the mode `{word}` is unknown; the modes are {MODES}");
        return Some(failures::misused("new", "mount a base", &why));
    }
    let mut failure = failures::failed("new", "mount the directory", "", &error);
    failure
        .sentence
        .push_str(&format!(" `{}`", handfast::escape(host)));
    // Programs may pass errors on to others, who need not know the operator's paths.
    failure.path = "<base>".to_owned();
    failure.hints.push(hint.to_owned());
    Some(failure)
}

/// `DIR[:/MOUNT][:MODE]`.
#[derive(Debug)]
struct Base {
    dir: PathBuf,
    at: VirtualPath,
    mode: Mode,
}

impl Base {
    fn parse(text: &OsStr, one_of_many: bool) -> Result<Self, Box<Failure>> {
        let mut rest = text.as_bytes();
        let mut mode = Mode::Overlay;
        let mut at = None;
        // From the right: a directory's own name may hold a colon.
        if let Some((before, last)) = cut(rest)
            && let Some(named) = std::str::from_utf8(last).ok().and_then(Mode::from_name)
        {
            mode = named;
            rest = before;
        }
        if let Some((before, last)) = cut(rest)
            && last.first() == Some(&b'/')
        {
            at = Some(last);
            rest = before;
        }
        let dir = PathBuf::from(OsStr::from_bytes(rest));
        let path = match at {
            Some(at) => failures::path("new", "mount at", OsStr::from_bytes(at))?,
            None if one_of_many => {
                let name = std::path::absolute(&dir).ok().and_then(|dir| {
                    let name = dir.file_name()?.to_owned();
                    Some(name)
                });
                let Some(name) = name else {
                    let why = "its name is not known; write DIR:/MOUNT";
                    return Err(failures::misused("new", "mount a base", why));
                };
                let mut at = OsString::from("/");
                at.push(name);
                failures::path("new", "mount at", &at)?
            }
            None => failures::path("new", "mount at", OsStr::new("/"))?,
        };
        Ok(Self {
            dir,
            at: path,
            mode,
        })
    }
}

fn cut(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let colon = text.iter().rposition(|byte| *byte == b':')?;
    Some((&text[..colon], &text[colon + 1..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bases_are_taken_apart_from_the_right() {
        for (text, many, dir, at, mode) in [
            ("/a", false, "/a", "/", Mode::Overlay),
            ("/a/b", true, "/a/b", "/b", Mode::Overlay),
            ("/a:read-only", false, "/a", "/", Mode::ReadOnly),
            ("/a:/ws", false, "/a", "/ws", Mode::Overlay),
            ("/a:/ws:read-write", false, "/a", "/ws", Mode::ReadWrite),
            ("/a:b", false, "/a:b", "/", Mode::Overlay),
            ("/a:b:/x", false, "/a:b", "/x", Mode::Overlay),
            ("rel:overlay", false, "rel", "/", Mode::Overlay),
        ] {
            let base = Base::parse(OsStr::new(text), many).unwrap();
            assert_eq!(base.dir, PathBuf::from(dir), "{text}");
            assert_eq!(base.at.to_string(), at, "{text}");
            assert_eq!(base.mode, mode, "{text}");
        }
    }
}
