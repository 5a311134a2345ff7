//! Mistakes with files that need no external text: names of temporary files that others can take
//! first, and a look at a name before the name is used.

use crate::facts::bit;
use crate::interp::{Event, Interp, Sink, SinkKind};
use crate::ir::Span;
use crate::term::{FnId, Term, Vid};

/// What is wrong.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) enum HazardKind {
    /// A name was made up and is created later without refusing what is there.
    TempName,
    /// A fixed name in the directory that all users share.
    FixedTemp,
    /// A name in that directory with a number that can be guessed.
    DrawnTemp,
    /// A question about a name, then the name again.
    CheckThenUse,
    /// Created with the usual mode, and narrowed by name later.
    LateMode,
    /// Created, and widened by name later.
    LateShare,
    /// Written under a name that can be guessed, and renamed.
    FixedDraft,
    /// Found in a directory, and changed by name.
    ListedThenChanged,
    /// A fixed name in the directory of another user.
    ForeignHome,
    /// A fixed name in a directory that an archive was unpacked into.
    BesideEntries,
    /// Looked at without following, and written through by name.
    LookedThenWritten,
    /// A tree that is changed is gone through with links followed.
    FollowedWalk,
}

/// One such mistake.
#[derive(Clone, Debug)]
pub(crate) struct Hazard {
    pub(crate) kind: HazardKind,
    pub(crate) at: Span,
    /// The question, or where the name was made.
    pub(crate) before: Option<Span>,
    pub(crate) function: FnId,
    pub(crate) sink: String,
    pub(crate) item: &'static str,
}

/// Calls that give the names of a directory, by the last part of their names.
const LISTINGS: [&str; 6] = [
    "directory_iterator",
    "recursive_directory_iterator",
    "scandir",
    "listdir",
    "read_dir",
    "readdir",
];

/// Directories that every user may write to.
const SHARED: [&str; 5] = ["/tmp", "/var/tmp", "/dev/shm", "/run/lock", "/var/lock"];

impl HazardKind {
    pub(crate) fn title(self) -> &'static str {
        match self {
            Self::TempName => "the name of a temporary file is made up before the file is created",
            Self::FixedTemp => "a fixed name in the shared directory for temporary files",
            Self::DrawnTemp => {
                "a name with a number that can be guessed, in the shared directory for temporary files"
            }
            Self::CheckThenUse => "the name is looked at, and then used by name",
            Self::LateMode => {
                "the file is created for everybody to read, and its mode is narrowed by name later"
            }
            Self::LateShare => "the file is created first, and its mode is changed by name later",
            Self::FixedDraft => "the temporary name can be guessed",
            Self::ListedThenChanged => {
                "what a directory holds is changed by name: a link may stand there by then"
            }
            Self::ForeignHome => {
                "a file in the directory of another user is opened, and links are followed"
            }
            Self::BesideEntries => {
                "a fixed name beside the entries of an archive: the archive may bring it as a link"
            }
            Self::LookedThenWritten => {
                "what stands there is looked at, and then written through by name: it may be a second name of another file"
            }
            Self::FollowedWalk => {
                "a tree is gone through and changed, and a link to a directory counts as one"
            }
        }
    }
}

impl Interp<'_> {
    /// All of a file's own.
    pub(crate) fn hazards(&mut self, file: u32, sinks: &[Sink]) -> Vec<Hazard> {
        let mut out: Vec<Hazard> = Vec::new();
        for sink in sinks.iter().filter(|sink| sink.function.0 == file) {
            let Some(found) = self
                .temp_name(sink)
                .or_else(|| self.reused_temp(sink, sinks))
                .or_else(|| self.listed_then_changed(sink))
                .or_else(|| self.check_then_use(sink))
                .or_else(|| self.after_create(sink, sinks))
                .or_else(|| self.link_hazard(sink, sinks))
            else {
                continue;
            };
            if !out.iter().any(|known| known.at == found.at) {
                out.push(found);
            }
        }
        out
    }

    fn creates(sink: &Sink) -> bool {
        match sink.kind {
            SinkKind::Create => true,
            SinkKind::Open => sink.flags.create || sink.flags.truncate,
            _ => false,
        }
    }

    fn temp_name(&self, sink: &Sink) -> Option<Hazard> {
        let makes_dir = sink.kind == SinkKind::MkdirAll
            || sink.kind == SinkKind::Mkdir
                && self.program.file(sink.function.0).lang.family() == "c";
        if !(Self::creates(sink) || makes_dir) || sink.flags.exclusive || sink.dirfd.is_some() {
            return None;
        }
        let hazard = |kind, before| Hazard {
            kind,
            at: sink.at,
            before,
            function: sink.function,
            sink: sink.name.to_string(),
            item: "D3",
        };
        if let Some(at) = self.made_up(sink.path, 0) {
            return Some(hazard(HazardKind::TempName, Some(at)));
        }
        let kind = match self.is_drawn(sink.path, 0) {
            true => HazardKind::DrawnTemp,
            false => HazardKind::FixedTemp,
        };
        self.is_fixed_temp(sink.path, 0).then(|| hazard(kind, None))
    }

    /// A temporary file is deleted, and its name is used again: anybody may have it by then.
    fn reused_temp(&self, sink: &Sink, sinks: &[Sink]) -> Option<Hazard> {
        let makes =
            matches!(sink.kind, SinkKind::Mkdir | SinkKind::MkdirAll) || Self::creates(sink);
        if !makes || sink.flags.exclusive || !self.is_temp(sink.path) {
            return None;
        }
        let deleted = sinks.iter().find(|other| {
            other.kind == SinkKind::Delete
                && other.path == sink.path
                && other.function == sink.function
                && other.at.start < sink.at.start
        })?;
        Some(Hazard {
            kind: HazardKind::TempName,
            at: sink.at,
            before: Some(deleted.at),
            function: sink.function,
            sink: sink.name.to_string(),
            item: "D3",
        })
    }

    fn is_temp(&self, vid: Vid) -> bool {
        match self.terms.get(vid) {
            Term::Temp { .. } => true,
            Term::Part { of, .. } | Term::Proj(of, _) | Term::Norm { of, .. } => self.is_temp(*of),
            _ => false,
        }
    }

    /// What a directory holds is changed by its name, through a link that may be there by then.
    fn listed_then_changed(&self, sink: &Sink) -> Option<Hazard> {
        (self.follows_by_name(sink) && self.is_listed(sink.path, 0)).then(|| Hazard {
            kind: HazardKind::ListedThenChanged,
            at: sink.at,
            before: None,
            function: sink.function,
            sink: sink.name.to_string(),
            item: "D4",
        })
    }

    /// Changes the owner or the rights of what a name leads to.
    pub(crate) fn follows_by_name(&self, sink: &Sink) -> bool {
        let last = sink.name.rsplit('.').next().unwrap_or(&sink.name);
        let last = last.to_ascii_lowercase();
        let follows = ["chown", "chmod", "owner", "permission"]
            .iter()
            .any(|word| last.contains(word))
            && !last.starts_with('l')
            && !sink.flags.no_follow;
        sink.kind == SinkKind::Mutate && follows && sink.dirfd.is_none()
    }

    /// Whether a call gives the names of a directory.
    pub(crate) fn is_listing(&self, name: &str) -> bool {
        let last = name.rsplit('.').next().unwrap_or(name);
        LISTINGS.contains(&last)
    }

    /// A name that a walk through a directory gave.
    pub(crate) fn is_listed(&self, vid: Vid, depth: usize) -> bool {
        if depth > 8 {
            return false;
        }
        match self.terms.get(vid) {
            Term::Param { of, index: 0, .. } => self.is_visitor(*of),
            Term::Call { name, args, .. } => {
                self.is_listing(name)
                    || args
                        .first()
                        .is_some_and(|of| self.is_listed(*of, depth + 1))
            }
            Term::Elem(of)
            | Term::Coll { of, .. }
            | Term::Field(of, _)
            | Term::Part { of, .. }
            | Term::Payload(of)
            | Term::Norm { of, .. } => self.is_listed(*of, depth + 1),
            Term::Join { parts, .. } => parts
                .last()
                .is_some_and(|part| self.is_listed(*part, depth + 1)),
            _ => false,
        }
    }

    /// A name that a call like `mktemp` gave, with nothing behind it.
    fn made_up(&self, vid: Vid, depth: usize) -> Option<Span> {
        if depth > 8 {
            return None;
        }
        match self.terms.get(vid) {
            Term::Call { name, at, .. } if &**name == "%temp_name" => Some(*at),
            Term::Norm { of, .. }
            | Term::Part { of, .. }
            | Term::Payload(of)
            | Term::Proj(of, 0)
            | Term::Global { of, .. } => self.made_up(*of, depth + 1),
            Term::Join { parts, .. } | Term::Concat(parts) | Term::Phi(parts) => {
                parts.iter().find_map(|part| self.made_up(*part, depth + 1))
            }
            _ => None,
        }
    }

    fn is_fixed_temp(&self, vid: Vid, depth: usize) -> bool {
        if depth > 8 {
            return false;
        }
        let is_fixed = |vid: &Vid| !self.is_unguessable(*vid, 0) && !self.holds_text(*vid, 0);
        match self.terms.get(vid) {
            Term::Str(text) => {
                let mut names = SHARED.iter().filter_map(|dir| text.strip_prefix(dir));
                names.any(|name| name.len() > 1 && name.starts_with('/'))
            }
            Term::Norm { of, .. } | Term::Global { of, .. } | Term::Part { of, .. } => {
                self.is_fixed_temp(*of, depth + 1)
            }
            Term::Join { parts, .. } | Term::Concat(parts) => match parts.split_first() {
                Some((first, rest)) => {
                    let shared =
                        self.is_shared_dir(*first, 0) || self.is_fixed_temp(*first, depth + 1);
                    shared && !rest.is_empty() && rest.iter().all(is_fixed)
                }
                None => false,
            },
            _ => false,
        }
    }

    /// The directory for temporary files that all users share, or a fixed one below it.
    fn is_shared_dir(&self, vid: Vid, depth: usize) -> bool {
        match self.terms.get(vid) {
            Term::Config { label, .. } => is_shared_temp(label),
            Term::Str(text) => SHARED.iter().any(|dir| {
                text.strip_prefix(dir)
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            }),
            Term::Part { of, .. } | Term::Norm { of, .. } | Term::Global { of, .. }
                if depth < 6 =>
            {
                self.is_shared_dir(*of, depth + 1)
            }
            _ => false,
        }
    }

    /// A part of the name is drawn from a generator that can be guessed.
    fn is_drawn(&self, vid: Vid, depth: usize) -> bool {
        match self.terms.get(vid) {
            Term::Call { name, args, .. } => {
                let last = name.rsplit('.').next().unwrap_or(name);
                matches!(
                    last,
                    "random" | "rand" | "nextInt" | "randint" | "random_r" | "drand48"
                ) || depth < 8 && args.iter().any(|arg| self.is_drawn(*arg, depth + 1))
            }
            Term::Part { of, .. } | Term::Norm { of, .. } | Term::Global { of, .. } => {
                depth < 8 && self.is_drawn(*of, depth + 1)
            }
            Term::Join { parts, .. } | Term::Concat(parts) => {
                depth < 8 && parts.iter().any(|part| self.is_drawn(*part, depth + 1))
            }
            _ => false,
        }
    }

    /// Something of it is not the program's own choice; then it is a flow and no fixed name.
    fn holds_text(&self, vid: Vid, depth: usize) -> bool {
        if depth > 6 {
            return true;
        }
        match self.terms.get(vid) {
            // A number is no text.
            Term::Param { of, name, .. } => {
                let function = self.program.function(*of);
                let param = function.params.iter().find(|param| param.name == *name);
                let ty = param
                    .and_then(|param| param.ty.as_deref())
                    .unwrap_or_default();
                !matches!(
                    ty.trim(),
                    "int"
                        | "long"
                        | "unsigned"
                        | "pid_t"
                        | "uid_t"
                        | "size_t"
                        | "uint32_t"
                        | "int64_t"
                        | "u32"
                        | "u64"
                        | "number"
                )
            }
            // The number of the process.
            Term::Field(_, name) if &**name == "pid" => false,
            Term::Source { .. } | Term::Field(..) | Term::Index(..) => true,
            Term::Concat(parts) | Term::Join { parts, .. } | Term::Phi(parts) => {
                parts.iter().any(|part| self.holds_text(*part, depth + 1))
            }
            Term::Call { args, .. } => args.iter().any(|arg| self.holds_text(*arg, depth + 1)),
            Term::Norm { of, .. } | Term::Part { of, .. } | Term::Global { of, .. } => {
                self.holds_text(*of, depth + 1)
            }
            Term::Unknown(_) | Term::Undefined(_) => true,
            _ => false,
        }
    }

    /// Created, and its mode narrowed afterwards by name; or filled and renamed under a name that
    /// anybody can guess.
    fn after_create(&self, sink: &Sink, sinks: &[Sink]) -> Option<Hazard> {
        let last = sink
            .name
            .rsplit('.')
            .next()
            .unwrap_or(&sink.name)
            .to_ascii_lowercase();
        let is_mode = sink.kind == SinkKind::Mutate
            && (last.contains("chmod") || last.contains("permissions"));
        let is_move = sink.kind == SinkKind::MoveFrom;
        if !(is_mode || is_move)
            || sink.dirfd.is_some()
            || is_move && self.is_unguessable(sink.path, 0)
        {
            return None;
        }
        let made = sinks.iter().find(|other| {
            Self::creates(other)
                && other.path == sink.path
                && other.entry == sink.entry
                && !(other.flags.exclusive && is_move)
        })?;
        Some(Hazard {
            kind: if is_mode && self.is_for_others(sink) {
                HazardKind::LateShare
            } else if is_mode {
                HazardKind::LateMode
            } else {
                HazardKind::FixedDraft
            },
            at: if is_mode { sink.at } else { made.at },
            before: Some(made.at),
            function: if is_mode {
                sink.function
            } else {
                made.function
            },
            sink: if is_mode {
                sink.name.to_string()
            } else {
                made.name.to_string()
            },
            item: if is_mode { "D4" } else { "D3" },
        })
    }

    /// The mode that is set gives rights to others than the owner.
    fn is_for_others(&self, sink: &Sink) -> bool {
        let text = self.program.file(sink.at.file).text.as_str();
        let call = text
            .get(sink.at.start as usize..sink.at.end as usize)
            .unwrap_or_default();
        let words = [
            "GRP", "OTH", "IRWXG", "IRWXO", "group", "others", "_all", "GROUP",
        ];
        words.iter().any(|word| call.contains(word))
            || octal_modes(call).any(|mode| mode & 0o077 != 0)
    }

    /// C and C++: `access` and its kin about a path that is then opened, changed or deleted by name.
    fn check_then_use(&self, sink: &Sink) -> Option<Hazard> {
        let is_judged = self.is_owner_judged(sink.path);
        let is_c = self.program.file(sink.function.0).lang.family() == "c";
        if !is_c && !is_judged || sink.dirfd.is_some() {
            return None;
        }
        let item = match sink.kind {
            SinkKind::Open | SinkKind::Create => "D5",
            SinkKind::Mutate | SinkKind::Delete | SinkKind::MoveFrom => "D4",
            _ => return None,
        };
        // What is asked of the descriptor afterwards settles it.
        let settled = sink.flags.exclusive
            || sink.flags.no_follow
            || sink.fd.is_some_and(|fd| {
                let bits = bit::IS_REG | bit::IS_DIR | bit::NLINK_ONE;
                self.fd_places
                    .iter()
                    .any(|(of, key, _)| *of == fd && key & bits != 0)
                    || self.asked_of_descriptor(fd)
            });
        if settled {
            return None;
        }
        let writes = sink.flags.write || sink.flags.create || sink.kind != SinkKind::Open;
        let asked = self.events.iter().find_map(|event| match event {
            Event::Asked {
                at,
                path,
                function,
                is_access,
                ..
            } if *path == sink.path
                && *function == sink.function
                && at.start < sink.at.start
                && (*is_access || writes || is_judged) =>
            {
                Some(*at)
            }
            _ => None,
        });
        asked.map(|before| Hazard {
            kind: HazardKind::CheckThenUse,
            at: sink.at,
            before: Some(before),
            function: sink.function,
            sink: sink.name.to_string(),
            item,
        })
    }

    /// The owner of what a name leads to decides whether it is used.
    fn is_owner_judged(&self, path: Vid) -> bool {
        (0..self.terms.len()).any(|vid| match self.terms.get(vid) {
            Term::StatField(stat, field) => {
                matches!(&**field, "st_uid" | "st_gid" | "uid" | "gid" | "Uid" | "Gid")
                    && matches!(self.terms.get(*stat), Term::Stat { of, fd: false, .. } if *of == path)
            }
            _ => false,
        })
    }

    fn asked_of_descriptor(&self, fd: Vid) -> bool {
        (0..self.terms.len())
            .any(|vid| matches!(self.terms.get(vid), Term::Stat { of, .. } if *of == fd))
    }
}

/// Modes that are written as octal numbers: `0600`, `0o600`.
fn octal_modes(text: &str) -> impl Iterator<Item = u32> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric());
    words.filter_map(|word| {
        let digits = word.strip_prefix("0o").or_else(|| word.strip_prefix('0'))?;
        (digits.len() >= 3).then(|| u32::from_str_radix(digits, 8).ok())?
    })
}

fn is_shared_temp(label: &str) -> bool {
    let label = label.to_ascii_lowercase();
    ["gettempdir", "tmpdir", "temp_dir", "tempdir"]
        .iter()
        .any(|word| label.contains(word))
}
