//! Who may ask for what: the policy, made ready for quick answers.

use std::path::{Path, PathBuf};

use handfast::{RelPathRef, Verb};
use handfast_session::policy::{
    Allow, LeaseRules as LeaseTerms, Limits as PolicyLimits, LogRules, Who,
};
use handfast_session::{
    Mode, MountSpec, Patterns, Policy, Protect, Quota, SessionSpec, VirtualPath,
};
use sha2::{Digest, Sha256};

use crate::identity::{Names, Peer, overflow_uid};
use crate::lease::{Lease, VerbSet, hex};
use crate::policy_lines::{self, PolicyLines};
use crate::spiffe::TrustBundle;
use crate::start::StartError;

/// A lease has at most so many paths; who is granted more sees what was asked for.
const MAX_GRANTED: usize = 64;

/// What is served, to whom, on which terms.
#[derive(Debug)]
pub struct Rulebook {
    pub(crate) roots: Vec<RootRule>,
    allow: Vec<Rule>,
    /// Processes of this user may ask for everything, if nobody is named.
    own_uid: u32,
    /// The number of all users who have none here, where there are such: no rule is about them.
    overflow_uid: Option<u32>,
    pub(crate) terms: LeaseTerms,
    pub(crate) log: LogRules,
    pub(crate) quota: Quota,
    pub(crate) limits: PolicyLimits,
    /// Of the policy's text.
    pub(crate) sha256: String,
    /// Where its tables are in that text.
    pub(crate) lines: PolicyLines,
}

/// One directory that is served.
#[derive(Debug)]
pub(crate) struct RootRule {
    pub(crate) name: String,
    pub(crate) spec: MountSpec,
}

#[derive(Debug)]
struct Rule {
    who: Vec<Is>,
    /// By number of root, the patterns below it; no pattern means everything.
    grants: Vec<(usize, Option<Patterns>)>,
    /// As the policy writes it.
    text: Allow,
    verbs: VerbSet,
}

#[derive(Debug)]
enum Is {
    Uid(u32),
    Gid(u32),
    Cgroup(String),
    Exe(String),
    Spiffe(String),
}

/// As the policy file says it.
fn shown(who: &Who) -> String {
    let escaped = |text: &String| handfast::escape(text.as_bytes());
    match who {
        Who::User(name) => format!("user {}", escaped(name)),
        Who::Uid(uid) => format!("uid {uid}"),
        Who::Group(name) => format!("group {}", escaped(name)),
        Who::Cgroup(path) => format!("cgroup {}", escaped(path)),
        Who::Exe(path) => format!("exe {}", escaped(path)),
        Who::SpiffeId(id) => format!("spiffe_id {}", escaped(id)),
        other => format!("{other:?}"),
    }
}

impl Rulebook {
    /// One directory for processes of the same user: read and written, with the patterns that
    /// most people want protected.
    ///
    /// # Errors
    /// If the preset is missing, which it is not.
    pub fn of_directory(dir: impl Into<PathBuf>) -> Result<Self, StartError> {
        let top = VirtualPath::parse("/").map_err(StartError::config)?;
        let protect = Protect::preset("workspace").map_err(StartError::config)?;
        let spec = MountSpec::new(dir, top)
            .mode(Mode::ReadWrite)
            .protect(protect);
        let (own_uid, overflow_uid) = known_user()?;
        Ok(Self {
            overflow_uid,
            roots: vec![RootRule {
                name: "root".to_owned(),
                spec,
            }],
            allow: Vec::new(),
            own_uid,
            terms: LeaseTerms::default(),
            log: LogRules::default(),
            quota: Quota::new(),
            limits: PolicyLimits::default(),
            sha256: hex(&Sha256::digest(
                b"one directory, same user, preset workspace",
            )),
            lines: PolicyLines::default(),
        })
    }

    /// The policy of a text; relative paths in it count from a directory. What is enforced and what
    /// the log names by its digest are the same bytes.
    ///
    /// # Errors
    /// As [`Policy::parse`] and [`Rulebook::of_policy`].
    pub fn parse(text: &[u8], dir: &Path, knows_exe: bool) -> Result<Self, StartError> {
        Self::parse_with(text, dir, knows_exe, &Names::of_this_machine())
    }

    /// As [`Rulebook::parse`], with names of users and groups that were read elsewhere.
    pub(crate) fn parse_with(
        text: &[u8],
        dir: &Path,
        knows_exe: bool,
        names: &Names,
    ) -> Result<Self, StartError> {
        let utf8 = str::from_utf8(text)
            .map_err(|_| StartError::Config("the policy is not UTF-8".to_owned()))?;
        let read = |text: &str| {
            let policy =
                Policy::parse(text, dir).map_err(|error| StartError::Config(error.detail()))?;
            Self::with_names(&policy, text.as_bytes(), knows_exe, names)
        };
        read(utf8).map_err(|error| policy_lines::with_line(utf8, error, read))
    }

    /// A policy file's.
    ///
    /// # Errors
    /// For what the broker does not serve: overlays; names of users that this machine does not
    /// know; identities that it cannot check.
    pub fn of_policy(policy: &Policy, text: &[u8], knows_exe: bool) -> Result<Self, StartError> {
        Self::with_names(policy, text, knows_exe, &Names::of_this_machine())
    }

    fn with_names(
        policy: &Policy,
        text: &[u8],
        knows_exe: bool,
        names: &Names,
    ) -> Result<Self, StartError> {
        let mut roots = Vec::new();
        for root in &policy.roots {
            if matches!(root.mount.access_mode(), Mode::Overlay | Mode::Memory) {
                return Err(StartError::Config(format!(
                    "[[root]] `{}`: the broker serves `read-only` and `read-write`; overlays are for sessions, and writes are committed one by one anyway",
                    root.name
                )));
            }
            if !root.mount.protection().ask.is_empty() {
                return Err(StartError::Config(format!(
                    "[[root]] `{}`: `ask` is for sessions, where a person can be asked; the broker asks nobody: write `deny` or `read_only`, or leave it out",
                    root.name
                )));
            }
            roots.push(RootRule {
                name: root.name.clone(),
                spec: root.mount.clone(),
            });
        }
        if policy.ask_timeout.is_some() {
            let why = "[ask]: `timeout` is for sessions, where a person can be asked; the broker asks nobody: leave it out";
            return Err(StartError::Config(why.to_owned()));
        }
        let (own_uid, overflow_uid) = known_user()?;
        let mut allow = Vec::new();
        for entry in &policy.allow {
            allow.push(Rule::read(entry, &roots, knows_exe, names)?);
        }
        Ok(Self {
            roots,
            allow,
            own_uid,
            overflow_uid,
            terms: policy.lease,
            log: policy.log,
            quota: policy.quota,
            limits: policy.limits,
            sha256: hex(&Sha256::digest(text)),
            lines: PolicyLines::of(&String::from_utf8_lossy(text)),
        })
    }

    /// Whether every SPIFFE id of the rules can be proved.
    ///
    /// # Errors
    /// In words, for one that cannot: a rule that cannot be checked is refused.
    pub(crate) fn check_spiffe(&self, bundle: Option<&TrustBundle>) -> Result<(), StartError> {
        let rules = self.allow.iter().enumerate();
        let ids = rules.flat_map(|(number, rule)| rule.who.iter().map(move |is| (number, is)));
        for (number, is) in ids {
            let Is::Spiffe(id) = is else { continue };
            let shown = handfast::escape(id.as_bytes());
            let vouched = match bundle {
                Some(bundle) => bundle.can_vouch_for(id),
                None => Err("there is no trust bundle to check it with".to_owned()),
            };
            vouched.map_err(|why| {
                let why = format!(
                    "[[allow]] `spiffe_id` {shown}: {why}; a rule that cannot be checked is refused"
                );
                self.lines.locate("[[allow]]", number, &why)
            })?;
        }
        Ok(())
    }

    /// The session that serves the roots.
    pub(crate) fn session(&self) -> SessionSpec {
        let spec = SessionSpec::new().quota(self.quota);
        let mounts = self.roots.iter().map(|root| root.spec.clone());
        mounts.fold(spec, SessionSpec::mount)
    }

    /// What is served, and what each rule grants to whom, in lines for people.
    #[must_use]
    pub fn describe(&self) -> Vec<String> {
        let mut lines = Vec::new();
        for root in &self.roots {
            let links = match root.spec.follows_links() {
                true => "links are followed beneath",
                false => "links are refused",
            };
            lines.push(format!(
                "root {} at {}: {}, {links}",
                root.name,
                root.spec.mount_point(),
                root.spec.access_mode().name()
            ));
        }
        if self.allow.is_empty() {
            lines.push(format!("uid {} may ask for everything", self.own_uid));
        }
        for (number, rule) in self.allow.iter().enumerate() {
            let who: Vec<String> = rule.text.who.iter().map(shown).collect();
            let verbs = match rule.text.verbs.as_slice() {
                [] => "every verb".to_owned(),
                verbs => verbs.join(", "),
            };
            let places = rule.grants.iter().map(|(root, paths)| {
                let root = &self.roots[*root];
                match paths {
                    None => format!("all of {}", root.spec.mount_point()),
                    Some(_) => format!(
                        "{} in {}",
                        rule.text.paths.join(", "),
                        root.spec.mount_point()
                    ),
                }
            });
            let places: Vec<String> = places.collect();
            let line = self.lines.of_header("[[allow]]", number);
            lines.push(format!(
                "rule {}{}: {} may {verbs} {}",
                number + 1,
                line.map_or_else(String::new, |line| format!(" (line {line})")),
                handfast::escape(who.join(" and ").as_bytes()),
                handfast::escape(places.join("; ").as_bytes())
            ));
        }
        lines
    }

    /// Whom a rule names, and its verbs: of the rule for the broker's own user and nothing else, or of
    /// the first.
    pub(crate) fn first_rule(&self) -> (Option<String>, &[String]) {
        let is_own = |is: &Is| matches!(is, Is::Uid(uid) if *uid == self.own_uid);
        let own = self.allow.iter().find(|rule| rule.who.iter().all(is_own));
        match (own, self.allow.first()) {
            (Some(rule), _) => (None, &rule.text.verbs),
            (None, Some(rule)) => {
                let who: Vec<String> = rule.text.who.iter().map(shown).collect();
                (Some(who.join(" and ")), &rule.text.verbs)
            }
            (None, None) => (None, &[]),
        }
    }

    /// Whether it serves its roots by the same rules as another.
    pub(crate) fn has_roots_of(&self, other: &Self) -> bool {
        let specs = |rulebook: &Self| -> Vec<String> {
            let roots = rulebook.roots.iter();
            roots.map(|root| format!("{:?}", root.spec)).collect()
        };
        self.quota == other.quota && specs(self) == specs(other)
    }

    /// Whether some rule may give the user of a lease one of its verbs. Conditions on the process
    /// are left to the moment of use.
    pub(crate) fn may_serve(&self, lease: &Lease) -> bool {
        let uid = lease.record.uid;
        if self.allow.is_empty() {
            return uid == self.own_uid;
        }
        let is_not_another = |is: &Is| !matches!(is, Is::Uid(other) if *other != uid);
        let may = |rule: &Rule| rule.who.iter().all(is_not_another);
        let rules = self.allow.iter().filter(|rule| may(rule));
        rules.into_iter().any(|rule| rule.verbs.meets(lease.verbs))
    }

    /// Whether the socket must be open to other users.
    #[must_use]
    pub fn is_for_others(&self) -> bool {
        self.serves_others()
    }

    /// Whether processes of a user other than the broker's may be served.
    pub(crate) fn serves_others(&self) -> bool {
        self.allow.iter().any(|rule| {
            !rule
                .who
                .iter()
                .any(|is| matches!(is, Is::Uid(uid) if *uid == self.own_uid))
        })
    }

    /// Whether processes of the broker's own user may be served.
    pub(crate) fn serves_own_user(&self) -> bool {
        self.allow.is_empty()
            || self.allow.iter().any(|rule| {
                !rule
                    .who
                    .iter()
                    .any(|is| matches!(is, Is::Uid(uid) if *uid != self.own_uid))
            })
    }

    /// May list and revoke what is not its own: the broker's user, and root.
    pub(crate) fn is_keeper(&self, peer: &Peer) -> bool {
        peer.uid == self.own_uid || peer.uid == 0
    }

    /// The root a path belongs to, and the path below it.
    pub(crate) fn route<'a>(&self, path: &'a VirtualPath) -> Option<(usize, RelPathRef<'a>)> {
        self.roots
            .iter()
            .enumerate()
            .filter_map(|(number, root)| {
                Some((number, path.strip_prefix(root.spec.mount_point())?))
            })
            .min_by_key(|(_, rest)| rest.depth())
    }

    /// Whether the policy lets a peer do this to this path, now.
    pub(crate) fn permits(&self, peer: &Peer, verb: Verb, path: &VirtualPath) -> bool {
        if self.allow.is_empty() {
            return peer.uid == self.own_uid;
        }
        // Directories on the way may be looked at, so that what lies below is found.
        let leads = matches!(verb, Verb::ReadDir | Verb::Walk | Verb::Metadata);
        self.grants(peer, verb, path, leads)
    }

    /// Whether the policy lets a peer see a name in a list, now. What may be a directory is shown, too, if it
    /// leads to something that is granted.
    pub(crate) fn shows(&self, peer: &Peer, verb: Verb, path: &VirtualPath, leads: bool) -> bool {
        if self.allow.is_empty() {
            return peer.uid == self.own_uid;
        }
        self.grants(peer, verb, path, leads) || (leads && self.leads_to_root(peer, verb, path))
    }

    fn grants(&self, peer: &Peer, verb: Verb, path: &VirtualPath, leads: bool) -> bool {
        let Some((number, rest)) = self.route(path) else {
            return false;
        };
        self.rules_of(peer).any(|rule| {
            rule.verbs.has(verb)
                && rule.grants_in(number).is_some_and(|paths| {
                    let Some(paths) = paths else {
                        return true;
                    };
                    let rest = rest.to_path();
                    paths.covers(&rest) || (leads && paths.leads_to_covered(&rest))
                })
        })
    }

    /// Whether a root of which a peer is granted something is mounted below a path.
    fn leads_to_root(&self, peer: &Peer, verb: Verb, path: &VirtualPath) -> bool {
        let is_below = |root: &RootRule| root.spec.mount_point().strip_prefix(path).is_some();
        let mut roots = self.roots.iter().enumerate();
        roots.any(|(number, root)| {
            is_below(root)
                && self
                    .rules_of(peer)
                    .any(|rule| rule.verbs.has(verb) && rule.grants_in(number).is_some())
        })
    }

    /// The paths of a lease, with what its rules grant in the place of "everything": a lease shows
    /// what it is good for.
    pub(crate) fn narrowed(&self, peer: &Peer, asked: Vec<String>) -> Vec<String> {
        let is_all = |path: &String| matches!(path.as_str(), "*" | "**" | "/**");
        if !asked.iter().any(is_all) {
            return asked;
        }
        let mut granted = Vec::new();
        for rule in self.rules_of(peer) {
            for (root, paths) in &rule.grants {
                let at = self.roots[*root].spec.mount_point();
                match paths {
                    None if at.is_root() => return asked,
                    None => granted.push(format!("{at}/**")),
                    Some(_) => granted.extend(rule.written_from_top(at)),
                }
            }
        }
        if granted.is_empty() || granted.len() > MAX_GRANTED {
            return asked;
        }
        granted.extend(asked.into_iter().filter(|path| !is_all(path)));
        granted.dedup();
        granted
    }

    /// The verbs that a peer may ask for somewhere.
    pub(crate) fn verbs_of(&self, peer: &Peer) -> VerbSet {
        if self.allow.is_empty() && peer.uid == self.own_uid {
            return VerbSet::ALL;
        }
        self.rules_of(peer)
            .fold(VerbSet::NONE, |verbs, rule| verbs.or(rule.verbs))
    }

    /// Whether no rule speaks of a peer, and none could if it proved a SPIFFE id.
    pub(crate) fn is_stranger(&self, peer: &Peer) -> bool {
        if self.is_keeper(peer) {
            return false;
        }
        let of_users = self.overflow_uid != Some(peer.uid);
        let could_be = |is: &Is| matches!(is, Is::Spiffe(_)) || is.met_by(peer, of_users);
        !self.allow.iter().any(|rule| rule.who.iter().all(could_be))
    }

    fn rules_of<'a>(&'a self, peer: &'a Peer) -> impl Iterator<Item = &'a Rule> {
        let of_users = self.overflow_uid != Some(peer.uid);
        self.allow
            .iter()
            .filter(move |rule| rule.who.iter().all(|is| is.met_by(peer, of_users)))
    }
}

impl Rule {
    fn read(
        entry: &Allow,
        roots: &[RootRule],
        knows_exe: bool,
        names: &Names,
    ) -> Result<Self, StartError> {
        let own_uid = rustix::process::geteuid().as_raw();
        let unknown = |what: &str, name: &str| {
            let name = handfast::escape(name.as_bytes());
            StartError::Config(format!("[[allow]]: this machine has no {what} `{name}`"))
        };
        let mut who = Vec::new();
        for is in &entry.who {
            who.push(match is {
                Who::User(name) => Is::Uid(names.uid_of(name).ok_or_else(|| unknown("user", name))?),
                Who::Uid(uid) => Is::Uid(*uid),
                Who::Group(name) => Is::Gid(names.gid_of(name).ok_or_else(|| unknown("group", name))?),
                Who::Cgroup(path) => Is::Cgroup(path.clone()),
                Who::Exe(_) if !knows_exe => {
                    return Err(StartError::Config(
                        "[[allow]]: `exe` needs a witness process, and there is none".to_owned(),
                    ));
                }
                // The kernel does not tell it about processes of others, so it would never match.
                Who::Exe(_) if !is_own_user(entry, own_uid, names) && !may_see_programs() => {
                    return Err(StartError::Config(
                        "[[allow]]: `exe` of other users can be checked only by root; a rule that cannot be checked is refused".to_owned(),
                    ));
                }
                Who::Exe(path) => Is::Exe(path.clone()),
                Who::SpiffeId(id) => Is::Spiffe(id.clone()),
                _ => {
                    return Err(StartError::Config(
                        "[[allow]]: a condition that this build does not know; a rule that cannot be checked is refused".to_owned(),
                    ));
                }
            });
        }
        let verbs = if entry.verbs.is_empty() {
            VerbSet::ALL
        } else {
            VerbSet::parse(&entry.verbs).map_err(StartError::Config)?
        };
        Ok(Self {
            who,
            grants: grants_of(entry, roots)?,
            verbs,
            text: entry.clone(),
        })
    }

    /// The paths of the rule in the root that is mounted at a place, as a lease writes them.
    fn written_from_top<'a>(&'a self, at: &'a VirtualPath) -> impl Iterator<Item = String> + 'a {
        let top = match at.is_root() {
            true => String::new(),
            false => at.to_string(),
        };
        self.text.paths.iter().map(move |path| {
            let below = path.strip_prefix(&format!("{top}/")).unwrap_or(path);
            let below = below.trim_start_matches('/');
            match path.trim_end_matches('/').contains('/') {
                true => format!("{top}/{below}"),
                // A name without a slash matches at any depth.
                false if top.is_empty() => below.to_owned(),
                false => format!("{top}/**/{below}"),
            }
        })
    }

    /// What is granted in a root, if anything is.
    fn grants_in(&self, root: usize) -> Option<Option<&Patterns>> {
        let found = self.grants.iter().find(|(number, _)| *number == root);
        found.map(|(_, paths)| paths.as_ref())
    }
}

/// The broker's own user, and the number of all who have none here.
///
/// # Errors
/// If the two are the same: then anybody would be taken for the broker's user.
fn known_user() -> Result<(u32, Option<u32>), StartError> {
    let own = rustix::process::geteuid().as_raw();
    match overflow_uid() {
        Some(overflow) if overflow == own => Err(StartError::Config(format!(
            "uid {own} stands for all users that this user namespace does not map; start the broker as another user"
        ))),
        overflow => Ok((own, overflow)),
    }
}

/// Whether a rule is for the broker's own user alone.
fn is_own_user(entry: &Allow, own_uid: u32, names: &Names) -> bool {
    entry.who.iter().any(|who| match who {
        Who::Uid(uid) => *uid == own_uid,
        Who::User(name) => names.uid_of(name) == Some(own_uid),
        _ => false,
    })
}

/// Whether the programs of other users' processes can be read.
fn may_see_programs() -> bool {
    rustix::thread::capabilities(None).is_ok_and(|sets| {
        sets.effective
            .contains(rustix::thread::CapabilitySet::SYS_PTRACE)
    })
}

/// What a rule grants in each of its roots. A path that begins with the place where a root is
/// mounted counts from `/`, as the paths of leases do; others count from each root.
fn grants_of(
    entry: &Allow,
    roots: &[RootRule],
) -> Result<Vec<(usize, Option<Patterns>)>, StartError> {
    let named = |root: &RootRule| entry.roots.is_empty() || entry.roots.contains(&root.name);
    // The mount that a path names, the deepest of them; not `/`, where both ways are the same.
    let mount_of = |path: &str| {
        let text = VirtualPath::parse(path).ok()?;
        let below = |root: &&RootRule| {
            let at = root.spec.mount_point();
            !at.is_root() && text.starts_with(at)
        };
        let deepest = |root: &&RootRule| root.spec.mount_point().as_rel().depth();
        roots.iter().filter(below).max_by_key(deepest)
    };
    let mut grants = Vec::new();
    for (number, root) in roots.iter().enumerate().filter(|(_, root)| named(root)) {
        if entry.paths.is_empty() {
            grants.push((number, None));
            continue;
        }
        let mut here: Vec<&str> = Vec::new();
        for path in &entry.paths {
            match mount_of(path) {
                None => here.push(path),
                Some(other) if other.name == root.name => {
                    let below = &path[root.spec.mount_point().to_string().len()..];
                    here.push(if below.is_empty() { "**" } else { below });
                }
                Some(_) => {}
            }
        }
        if !here.is_empty() {
            let paths = Patterns::compile(&here).map_err(StartError::config)?;
            grants.push((number, Some(paths)));
        }
    }
    for path in &entry.paths {
        if let Some(root) = mount_of(path)
            && !named(root)
        {
            return Err(StartError::Config(format!(
                "[[allow]]: the path `{}` lies in the root `{}`, which the rule does not name: it would never match",
                handfast::escape(path.as_bytes()),
                root.name
            )));
        }
    }
    Ok(grants)
}

impl Is {
    /// Whether a peer meets the condition. Those on users and groups are met only by who has a
    /// number of its own (`is_user`).
    fn met_by(&self, peer: &Peer, is_user: bool) -> bool {
        match self {
            Self::Uid(uid) => is_user && peer.uid == *uid,
            Self::Gid(gid) => is_user && (peer.gid == *gid || peer.groups.contains(gid)),
            Self::Spiffe(id) => peer.spiffe_id() == Some(id),
            Self::Exe(path) => peer.exe.as_ref().is_some_and(|program| program.is_at(path)),
            Self::Cgroup(path) => peer
                .current_cgroup()
                .is_some_and(|id| cgroup_of(path).contains(&Some(id))),
        }
    }
}

/// The ids of the control group at a path. A group's id is its directory's inode; looking at it
/// opens nothing, so the wall does not mind.
fn cgroup_of(path: &str) -> [Option<u64>; 2] {
    ["/sys/fs/cgroup", "/sys/fs/cgroup/unified"].map(|top| {
        let full = format!("{top}/{}", path.trim_start_matches('/'));
        rustix::fs::lstat(full).ok().map(|status| status.st_ino)
    })
}
