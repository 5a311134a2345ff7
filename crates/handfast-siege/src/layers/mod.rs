//! What is between a victim and the files: a root, a session, a broker, an MCP server.
//!
//! Each is set up over the same directory of an arena, with the same rules, from one policy file.

mod broker;
mod mcp;
mod service;

pub(crate) use service::serve;

use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use handfast::{Backend, BackendChoice, Error, ErrorKind, Files, Links, RelPath, RenameMode, Root};
use handfast_broker::LeaseFiles;
use handfast_session::{Caller, Catalogue, CommitOptions, OnConflict, Policy, Session};

use self::mcp::Tools;
use crate::arena::Arena;
use crate::attacker::{AttackerProgram, Swap};
use crate::victims::{Names, Returned, Victim};

/// What is attacked.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Layer {
    /// A root, resolved by `openat2`.
    Kernel,
    /// A root, resolved by the component walk.
    Walk,
    /// A session on a read-write mount.
    Session,
    /// A session whose changes go to an overlay.
    Overlay,
    /// A broker in a process of its own, through its client's `Files`.
    Broker,
    /// An MCP server in a process of its own, through its tools.
    Mcp,
}

/// The two backends of a root.
pub(crate) const ROOTS: &[Layer] = &[Layer::Kernel, Layer::Walk];
/// Every layer that has rules: what may not be read, and what may not be changed.
pub(crate) const RULED: &[Layer] = &[Layer::Session, Layer::Overlay, Layer::Broker, Layer::Mcp];
/// All of them.
pub(crate) const EVERY: &[Layer] = &[
    Layer::Kernel,
    Layer::Walk,
    Layer::Session,
    Layer::Overlay,
    Layer::Broker,
    Layer::Mcp,
];

impl Layer {
    /// The name, as it is in tables and JSON.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Kernel => Backend::Kernel.name(),
            Self::Walk => Backend::Walk.name(),
            Self::Session => "session",
            Self::Overlay => "overlay",
            Self::Broker => "broker",
            Self::Mcp => "mcp",
        }
    }

    /// The layer of a name.
    pub(crate) fn named(name: &str) -> Option<Self> {
        EVERY.iter().copied().find(|layer| layer.name() == name)
    }

    /// The backend of a root; nothing for the layers above it.
    pub(crate) const fn backend(self) -> Option<BackendChoice> {
        match self {
            Self::Kernel => Some(BackendChoice::Kernel),
            Self::Walk => Some(BackendChoice::Walk),
            _ => None,
        }
    }
}

/// The rules of the layers above a root, as patterns of the policy file.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// What is neither read nor changed.
    pub(crate) deny: &'static [&'static str],
    /// What is not changed.
    pub(crate) read_only: &'static [&'static str],
    /// What happens at files with several names: a word of the policy.
    pub(crate) hard_links: &'static str,
}

impl Rules {
    /// Nothing is protected.
    pub(crate) const NONE: Self = Self {
        deny: &[],
        read_only: &[],
        hard_links: "refuse-writes",
    };

    /// Whether anything is protected.
    pub(crate) const fn is_any(&self) -> bool {
        !self.deny.is_empty() || !self.read_only.is_empty()
    }

    fn policy(self, layer: Layer, links: Links) -> String {
        let mode = match layer {
            Layer::Overlay => "overlay",
            _ => "read-write",
        };
        let links = match links {
            Links::Refuse => "refuse",
            Links::Beneath | Links::InRoot => "beneath",
        };
        format!(
            "version = 1\n[[root]]\nname = \"ws\"\npath = \"root\"\nmount = \"/\"\nmode = \"{mode}\"\n\
             deny = {:?}\nread_only = {:?}\nlinks = \"{links}\"\nhard_links = \"{}\"\n",
            self.deny, self.read_only, self.hard_links
        )
    }
}

/// The policy file of an arena.
const POLICY: &str = "policy.toml";
/// The name of an arena's overlay.
const OVERLAY: &str = "siege";

enum Served {
    Root(Root),
    Session(Session),
    Lease(LeaseFiles),
    /// By the names of verbs: a server has tools, and no `Files`.
    Tools(Mutex<Tools>),
}

/// A layer over an arena's `root`, ready to be used.
pub(crate) struct Stand {
    served: Served,
    is_overlay: bool,
    /// The process that serves it; ended when this is dropped.
    _service: Option<service::Service>,
}

impl Stand {
    /// Sets a layer up.
    pub(crate) fn open(
        layer: Layer,
        arena: &Arena,
        links: Links,
        rules: Rules,
        program: Option<&AttackerProgram>,
    ) -> io::Result<Self> {
        if let Some(backend) = layer.backend() {
            let root = arena.open(backend, links).map_err(io::Error::from)?;
            return Ok(Self::of(Served::Root(root), false, None));
        }
        std::fs::write(arena.path(POLICY), rules.policy(layer, links))?;
        let top = arena.top();
        match layer {
            Layer::Overlay => {
                let spec = policy(top)?.session();
                catalogue(top)?.create(OVERLAY, &spec)?;
            }
            Layer::Broker | Layer::Mcp => {
                let (served, service) = service::start(layer, top, program)?;
                return Ok(Self::of(served, false, Some(service)));
            }
            _ => {}
        }
        let session = session(layer, top)?;
        Ok(Self::of(
            Served::Session(session),
            layer == Layer::Overlay,
            None,
        ))
    }

    fn of(served: Served, is_overlay: bool, service: Option<service::Service>) -> Self {
        Self {
            served,
            is_overlay,
            _service: service,
        }
    }

    /// Makes the call of a victim.
    pub(crate) fn call(
        &self,
        victim: &Victim,
        names: &Names<'_>,
        number: u64,
    ) -> Result<Returned, Error> {
        let lacks = || Error::refused(ErrorKind::Unsupported, "this layer has no such verb");
        let files: &dyn Files = match &self.served {
            Served::Root(root) => match victim.on_root {
                Some(attempt) => return attempt(root, names, number),
                None => root,
            },
            Served::Session(session) => session,
            Served::Lease(files) => files,
            Served::Tools(tools) => {
                let mut tools = tools.lock().unwrap_or_else(PoisonError::into_inner);
                return tools.call(victim.verb, names);
            }
        };
        victim.attempt.ok_or_else(lacks)?(files, names, number)
    }

    /// Which of the names that an overlay holds changes of lies below a directory; nothing for
    /// layers that write to the disk at once, where the disk is looked at. An overlay's reviewer
    /// sees the same list.
    ///
    /// # Errors
    /// If the list cannot be had: then nobody knows.
    pub(crate) fn changed_below(&self, dir: &RelPath) -> Result<Option<String>, Error> {
        let Served::Session(session) = &self.served else {
            return Ok(None);
        };
        // A protected name may be changed in an overlay; a commit that does not name it leaves it.
        let (brought, _) = patiently(|| session.chosen(&[], &[]))?;
        let found = brought.iter().find(|path| path.as_rel().starts_with(dir));
        Ok(found.map(ToString::to_string))
    }

    /// Whether changes wait in an overlay.
    pub(crate) fn is_overlay(&self) -> bool {
        self.is_overlay
    }

    /// Drops what an overlay holds, so that the next attempt meets the scene again.
    ///
    /// # Errors
    /// If it is still there: the next attempt would meet what the one before made.
    pub(crate) fn refresh(&self) -> Result<(), Error> {
        match (&self.served, self.is_overlay) {
            (Served::Session(session), true) => patiently(|| session.discard(&[])).map(drop),
            _ => Ok(()),
        }
    }

    /// Takes what an overlay holds to the disk, whatever conflicts there are; the disk then shows
    /// what was let through.
    ///
    /// # Errors
    /// If the disk does not show it.
    pub(crate) fn commit(&self) -> Result<(), Error> {
        let (Served::Session(session), true) = (&self.served, self.is_overlay) else {
            return Ok(());
        };
        let options = CommitOptions {
            on_conflict: OnConflict::Overwrite,
            ..CommitOptions::default()
        };
        patiently(|| session.commit(&options, &mut |_, _| {})).map(drop)
    }
}

/// Looks again while the attacker comes in between; the look itself is not what is attacked.
fn patiently<T>(look: impl Fn() -> Result<T, Error>) -> Result<T, Error> {
    const MAX_RETRIES: u32 = 50;
    let mut tries = 0;
    loop {
        match look() {
            Err(error) if error.kind() == ErrorKind::Raced && tries < MAX_RETRIES => {
                tries += 1;
                std::thread::sleep(std::time::Duration::from_micros(200));
            }
            found => return found,
        }
    }
}

fn policy(top: &Path) -> io::Result<Policy> {
    Ok(Policy::read_ambient(top.join(POLICY))?)
}

fn catalogue(top: &Path) -> io::Result<Catalogue> {
    Ok(Catalogue::open_ambient(top.join("state"))?)
}

/// A session on an arena, for one more caller.
fn session(layer: Layer, top: &Path) -> io::Result<Session> {
    let caller = Caller::new("siege");
    Ok(match layer {
        Layer::Overlay => catalogue(top)?.open(OVERLAY, caller)?,
        _ => Session::new(&policy(top)?.session(), caller)?,
    })
}

/// An accomplice inside the same session or lease, which exchanges two names. It opens the layer that is set
/// up in an arena for itself, so it may run in any process.
pub(crate) fn accomplice(layer: Layer, top: &Path, pair: (&str, &str)) -> io::Result<Swap> {
    let (one, other) = (RelPath::parse(pair.0)?, RelPath::parse(pair.1)?);
    match layer {
        Layer::Session | Layer::Overlay => {
            let session = session(layer, top)?;
            Ok(Box::new(move || {
                Files::rename(&session, &one, &other, RenameMode::Exchange).is_ok()
            }))
        }
        Layer::Broker => {
            let files = broker::join(top)?;
            Ok(Box::new(move || {
                files.rename(&one, &other, RenameMode::Exchange).is_ok()
            }))
        }
        // A root has no rules that one caller could bend for another; a server has one client.
        _ => Err(io::ErrorKind::Unsupported.into()),
    }
}

/// Whether a layer can have two callers at once that share its rules.
pub(crate) fn has_accomplices(layer: Layer) -> bool {
    matches!(layer, Layer::Session | Layer::Overlay | Layer::Broker)
}
