//! A path that a client asked for, and where it leads.

use handfast::{ErrorKind, FileKind, RelPath, Verb};
use handfast_session::{Error as SessionError, Session, VirtualPath};

use crate::broker::Broker;
use crate::caller::Claim;
use crate::fault::{Code, Fault};
use crate::identity::Peer;
use crate::wire::{PathField, Text};

/// As many links as the kernel follows.
const MAX_LINKS: u32 = 40;

/// A path in the broker's namespace, as it was asked for.
#[derive(Clone, Debug)]
pub(crate) struct Asked {
    path: VirtualPath,
}

/// What to do with a link as last component.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Last {
    /// Follow it, where the policy allows.
    Follow,
    /// The entry itself is meant.
    Itself,
}

impl Asked {
    /// Reads a path. It counts from the top of the namespace, with or without a leading slash.
    ///
    /// # Errors
    /// `InvalidParameter` for what is no path.
    pub(crate) fn parse(name: &str, bytes: &[u8]) -> Result<Self, Fault> {
        let parsed = match bytes.first() {
            Some(b'/') => VirtualPath::parse(bytes),
            _ => VirtualPath::parse([b"/", bytes].concat()),
        };
        let path = parsed.map_err(|error| Fault::parameter(name, error.detail()))?;
        Ok(Self { path })
    }

    /// Reads a path that stands in one of two fields.
    ///
    /// # Errors
    /// `InvalidParameter` for what is no path, is missing or stands there twice.
    pub(crate) fn from_fields(
        name: &str,
        text: Option<Text<'_>>,
        base64: Option<String>,
    ) -> Result<Self, Fault> {
        match (text, base64) {
            (Some(text), None) => Self::parse(name, text.as_bytes()),
            (text, base64) => {
                let bytes = PathField::bytes(text.map(String::from), base64)
                    .map_err(|why| Fault::parameter(name, why))?;
                Self::parse(name, &bytes)
            }
        }
    }

    pub(crate) fn rel(&self) -> &RelPath {
        self.path.as_rel()
    }
}

impl From<VirtualPath> for Asked {
    fn from(path: VirtualPath) -> Self {
        Self { path }
    }
}

/// A path below `/`, for the session.
pub(crate) fn absolute(path: &RelPath) -> VirtualPath {
    VirtualPath::from(path.clone())
}

impl Broker {
    /// Does something to what a path leads to. The session refuses links, so what is acted on lies
    /// on exactly the path that was judged. Where links may be followed, the one that is in the
    /// way is read here, and the path that it leads to is judged again from the start.
    pub(crate) fn act_on<T>(
        &self,
        claim: &Claim,
        peer: &Peer,
        verb: Verb,
        asked: &Asked,
        last: Last,
        mut act: impl FnMut(&Session, &RelPath) -> Result<T, SessionError>,
    ) -> Result<T, Fault> {
        let session = claim.session(self);
        let mut at = asked.rel().clone();
        for _ in 0..=MAX_LINKS {
            claim.judge(self, peer, verb, &at)?;
            let error = match act(&session, &at) {
                Err(error) if error.kind() == ErrorKind::Link => error,
                done => {
                    return done.map_err(|error| {
                        let fault = crate::log::fault_of(error);
                        if fault.code() == Code::Denied {
                            claim.remember(self, verb, &at, fault.why());
                        }
                        fault
                    });
                }
            };
            match self.behind_link(&at, last) {
                Ok(Some(next)) => at = next,
                Ok(None) => return Err(error.into()),
                Err(fault) => return Err(claim.refuse(self, verb, &at, fault)),
            }
        }
        let fault = Fault::new(Code::Failed, "too many links, or a loop").of_kind(ErrorKind::Link);
        Err(claim.refuse(self, verb, asked.rel(), fault))
    }

    /// The path with its first link replaced by what it says; nothing if there is none that may be
    /// followed.
    pub(crate) fn behind_link(&self, path: &RelPath, last: Last) -> Result<Option<RelPath>, Fault> {
        let Some((number, below)) = self.rulebook.route(path) else {
            return Ok(None);
        };
        let spec = &self.rulebook.roots[number].spec;
        if !spec.follows_links() {
            return Ok(None);
        }
        let top = spec.mount_point().as_rel();
        let names: Vec<_> = below.segments().collect();
        let mut inside = RelPath::root();
        for (index, name) in names.iter().enumerate() {
            let is_last = index + 1 == names.len();
            if is_last && last == Last::Itself {
                return Ok(None);
            }
            let here = inside.join(*name);
            let whole = absolute(&top.join(&here));
            match self.looking.symlink_metadata(&whole) {
                Ok(status) if status.kind == FileKind::Symlink => {
                    let target = match self.looking.read_link(&whole) {
                        Ok(target) => target,
                        // Somebody put something else there: judge and try the path again.
                        Err(error) if error.kind() == ErrorKind::Kind => {
                            return Ok(Some(path.clone()));
                        }
                        Err(error) => return Err(error.into()),
                    };
                    let mut next = splice(&inside, target.as_bytes())?;
                    for name in &names[index + 1..] {
                        next = next.join(*name);
                    }
                    let whole = top.join(&next);
                    return Ok(Some(whole.with_must_be_dir(path.must_be_dir())));
                }
                Ok(_) => inside = here,
                Err(error) => return Err(error.into()),
            }
        }
        Ok(None)
    }
}

/// Where a link that stands in a directory leads, within its root.
fn splice(dir: &RelPath, target: &[u8]) -> Result<RelPath, Fault> {
    let escape = || {
        let fault = Fault::new(Code::Failed, "a link on the way leads outside");
        fault.of_kind(ErrorKind::Escape)
    };
    if target.first() == Some(&b'/') {
        return Err(escape());
    }
    let mut names: Vec<Vec<u8>> = dir
        .segments()
        .map(|name| name.as_bytes().to_vec())
        .collect();
    for part in target.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => {
                names.pop().ok_or_else(escape)?;
            }
            name => names.push(name.to_vec()),
        }
    }
    if names.is_empty() {
        return Ok(RelPath::root());
    }
    RelPath::parse(names.join(&b'/')).map_err(Fault::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_lead_inside_or_nowhere() {
        let dir = RelPath::parse("a/b").unwrap();
        for (target, leads) in [("c", "a/b/c"), ("../c", "a/c"), ("../../c/.//d", "c/d")] {
            assert_eq!(
                splice(&dir, target.as_bytes()).unwrap().as_bytes(),
                leads.as_bytes()
            );
        }
        assert!(splice(&dir, b"../..").unwrap().is_root());
        for target in ["/etc/passwd", "../../..", "../../../x", "c/../../../../x"] {
            let fault = splice(&dir, target.as_bytes()).unwrap_err();
            assert_eq!(fault.kind(), Some(ErrorKind::Escape), "{target}");
        }
    }

    #[test]
    fn a_leading_slash_makes_no_difference_and_dots_stay_inside() {
        for text in ["/a/b", "a/b", "/../a/./b", "a/x/../b"] {
            assert_eq!(
                Asked::parse("path", text.as_bytes())
                    .unwrap()
                    .rel()
                    .as_bytes(),
                b"a/b"
            );
        }
        for bad in [&b"a\0b"[..], &[b'x'; 300], &[b'/'; 5000]] {
            assert!(Asked::parse("path", bad).is_err());
        }
    }
}
