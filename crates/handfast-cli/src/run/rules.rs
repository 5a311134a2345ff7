//! Which session a run uses, and by which rules.

use handfast_run::{Plan, Project};
use handfast_session::{Mode, MountSpec, Protect, Quota, SessionSpec, VirtualPath};

use super::preset::preset;
use super::{Chosen, RunArgs, worktree};
use crate::failure::Failure;
use crate::session::{failed, misused};

impl RunArgs {
    /// The session of the project, or the one that was named. Rules that were asked for must be the
    /// rules that it has.
    pub(super) fn choose(&self, project: &Project) -> Result<Chosen, Box<Failure>> {
        let name = self
            .session
            .clone()
            .unwrap_or_else(|| project.session_name());
        let terms = self.terms(project)?;
        let of_policy = terms.as_ref().map(|terms| &terms.mount);
        let mode = of_policy.map(MountSpec::mounted_as);
        let mode = mode.or(self.mode.map(super::RunMode::mode));
        let found = match self.state.existing("run")? {
            Some(catalogue) => match catalogue.spec(&name) {
                Ok(spec) => Some(spec),
                Err(error) if error.kind() == handfast::ErrorKind::NotFound => None,
                Err(error) => return Err(failed("run", "read the session", &name, &error)),
            },
            None => None,
        };
        let found_mode = found.as_ref().and_then(|spec| spec.mounts().first());
        let found_mode = found_mode.map(MountSpec::mounted_as);
        let in_mode = mode.or(found_mode).unwrap_or_default();
        let wanted = match of_policy {
            Some(mount) => Some(mount.protection().clone()),
            None => self.protect(in_mode)?,
        };
        let wanted = wanted.map(|rules| worktree::project_rules(project, rules));
        let chosen = match found.as_ref().map(SessionSpec::mounts) {
            None => Chosen {
                name,
                mode: mode.unwrap_or_default(),
                is_there: false,
                protect: wanted
                    .unwrap_or_else(|| worktree::project_rules(project, workspace(in_mode))),
                terms,
                weaker: None,
            },
            Some(mounts @ [mount, ..]) if are_places(mounts, project) => {
                if self.quota.is_some() {
                    let why = format!(
                        "the session `{name}` is there already; a quota is given to a new one"
                    );
                    return Err(misused("run", "use the session", &why));
                }
                self.check_found(&name, mounts, project, wanted.as_ref(), mode)?;
                if let (Some(terms), Some(spec)) = (&terms, &found) {
                    terms.check_found(&name, spec)?;
                }
                Chosen {
                    name,
                    mode: mount.mounted_as(),
                    is_there: true,
                    protect: mount.protection().clone(),
                    terms: None,
                    weaker: match wanted {
                        Some(_) => None,
                        None => unasked(mount, project),
                    },
                }
            }
            Some(_) => {
                let own = worktree::place_of(project);
                let why = format!("the session `{name}` has other mounts than one at `{own}`");
                return Err(misused("run", "use the session", &why));
            }
        };
        if chosen.mode != Mode::Overlay && self.quota.is_some() {
            let why = format!(
                "in the mode `{}` nothing is kept in the session",
                chosen.mode
            );
            return Err(misused("run", "set a quota", &why));
        }
        if chosen.mode != Mode::Overlay && (self.commit || self.discard) {
            let why = format!("in the mode `{}` there is nothing to commit", chosen.mode);
            return Err(misused("run", "end the run as asked", &why));
        }
        Ok(chosen)
    }

    fn check_found(
        &self,
        name: &str,
        mounts: &[MountSpec],
        project: &Project,
        wanted: Option<&Protect>,
        mode: Option<Mode>,
    ) -> Result<(), Box<Failure>> {
        let [mount, ..] = mounts else {
            return Ok(());
        };
        let ours = worktree::mounts(project, mount);
        let is_theirs = |(one, other): (&MountSpec, &MountSpec)| one.host() != other.host();
        let differs = |(one, other): (&MountSpec, &MountSpec)| !one.has_terms_of(other);
        let why = if mounts.iter().zip(&ours).any(is_theirs) {
            format!("the session `{name}` is over another directory")
        } else if mode.is_some_and(|mode| mode != mount.mounted_as()) {
            format!("the session `{name}` is `{}`", mount.mounted_as())
        } else if wanted.is_some_and(|wanted| wanted != mount.protection()) {
            format!("the session `{name}` was made with other rules")
        } else if mounts.iter().zip(&ours).any(differs) {
            format!("the session `{name}` was made with other rules for the repository")
        } else {
            return Ok(());
        };
        Err(made_otherwise(name, &why))
    }

    /// The rules that were asked for; nothing if none were.
    fn protect(&self, mode: Mode) -> Result<Option<Protect>, Box<Failure>> {
        if self.protect.is_none() && self.deny.is_empty() && self.ask.is_empty() {
            return Ok(None);
        }
        let mut protect = match self.protect.as_deref() {
            Some("none") => Protect::new(),
            Some(name) => preset(name, mode).map_err(|error| {
                let mut failure = failed("run", "protect", "", &error);
                failure.exit = crate::exit::Exit::Usage;
                failure
            })?,
            None => workspace(mode),
        };
        for pattern in &self.deny {
            protect = protect.with_deny(pattern.as_str());
        }
        for pattern in &self.ask {
            protect = protect.with_ask(pattern.as_str());
        }
        Ok(Some(protect))
    }

    /// Makes the session if it is not there. Another run of the same project may have been faster:
    /// then its session is used, if its rules are those that were asked for.
    pub(super) fn make(&self, chosen: Chosen, plan: &Plan) -> Result<Chosen, Box<Failure>> {
        if chosen.is_there {
            return Ok(chosen);
        }
        let made = |error| {
            let mut failure = failed("run", "make the session", &chosen.name, &error);
            if error.kind() == handfast::ErrorKind::Invalid {
                failure.exit = crate::exit::Exit::Usage;
            }
            failure
        };
        let spec = match &chosen.terms {
            Some(terms) => terms.session(&plan.project),
            None => {
                let mount = MountSpec::new(&plan.project.path, VirtualPath::root())
                    .mode(chosen.mode)
                    .protect(chosen.protect.clone());
                let mut quota = Quota::new();
                quota.bytes = self.quota;
                let mounts = worktree::mounts(&plan.project, &mount).into_iter();
                mounts
                    .fold(SessionSpec::new(), SessionSpec::mount)
                    .quota(quota)
            }
        };
        let catalogue = self.state.catalogue("run")?;
        match catalogue.create(&chosen.name, &spec) {
            Err(error) if error.kind() == handfast::ErrorKind::Exists => {
                let theirs = self.choose(&plan.project)?;
                match theirs.mode == chosen.mode {
                    true => Ok(theirs),
                    false => Err(made(error)),
                }
            }
            Err(error) => Err(made(error)),
            Ok(()) => Ok(chosen),
        }
    }
}

/// Whether mounts lie where a session of the project has them.
fn are_places(mounts: &[MountSpec], project: &Project) -> bool {
    let places = std::iter::once(worktree::place_of(project));
    let places = places.chain(worktree::place_of_repository(project));
    mounts
        .iter()
        .map(MountSpec::at)
        .eq(&places.collect::<Vec<_>>())
}

/// A session that is there, and not as this run was to be.
pub(super) fn made_otherwise(name: &str, why: &str) -> Box<Failure> {
    let mut failure = misused("run", "use the session", why);
    failure.hints.push(format!(
        "name a new one with `--session`, or drop this one: `handfast session discard {name} --remove`"
    ));
    failure
}

/// The rules of a run for which none were given.
fn workspace(mode: Mode) -> Protect {
    preset("workspace", mode).expect("the preset is built in")
}

/// What is to be said of the rules of a session that was made by others, before a program runs by them.
/// The next run of a project finds the session of the last one, and the options of that one decided its rules.
fn unasked(mount: &MountSpec, project: &Project) -> Option<String> {
    let rules = mount.protection();
    if *rules == Protect::new() {
        return Some(
            "this session was made without rules: the program can read every file of the project, and a \
             commit takes every name"
                .to_owned(),
        );
    }
    let usual = worktree::project_rules(project, workspace(mount.mounted_as()));
    let whole = Protect::preset("workspace").map(|rules| worktree::project_rules(project, rules));
    let is_usual = *rules == usual || whole.is_ok_and(|whole| *rules == whole);
    (!is_usual).then(|| {
        "this session was made with other rules than the preset `workspace`; `handfast run --explain` \
         lists them"
            .to_owned()
    })
}
