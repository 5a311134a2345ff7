//! Which session a run uses, and by which rules.

use handfast_run::{Plan, Project};
use handfast_session::{Mode, MountSpec, Protect, Quota, SessionSpec, VirtualPath};

use super::preset::preset;
use super::{Chosen, RunArgs};
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
        let wanted = self.protect()?;
        let mode = self.mode.map(super::RunMode::mode);
        let found = match self.state.existing("run")? {
            Some(catalogue) => match catalogue.spec(&name) {
                Ok(spec) => Some(spec),
                Err(error) if error.kind() == handfast::ErrorKind::NotFound => None,
                Err(error) => return Err(failed("run", "read the session", &name, &error)),
            },
            None => None,
        };
        let chosen = match found.as_ref().map(SessionSpec::mounts) {
            None => Chosen {
                name,
                mode: mode.unwrap_or_default(),
                is_there: false,
                protect: wanted.unwrap_or_else(|| preset_or_nothing("workspace")),
            },
            Some([mount]) if mount.at().as_rel().is_root() => {
                if self.quota.is_some() {
                    let why = format!(
                        "the session `{name}` is there already; a quota is given to a new one"
                    );
                    return Err(misused("run", "use the session", &why));
                }
                self.check_found(&name, mount, project, wanted.as_ref(), mode)?;
                Chosen {
                    name,
                    mode: mount.mounted_as(),
                    is_there: true,
                    protect: mount.protection().clone(),
                }
            }
            Some(_) => {
                let why = format!("the session `{name}` has other mounts than one at `/`");
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
        mount: &MountSpec,
        project: &Project,
        wanted: Option<&Protect>,
        mode: Option<Mode>,
    ) -> Result<(), Box<Failure>> {
        let why = if mount.host() != project.path {
            format!("the session `{name}` is over another directory")
        } else if mode.is_some_and(|mode| mode != mount.mounted_as()) {
            format!("the session `{name}` is `{}`", mount.mounted_as())
        } else if wanted.is_some_and(|wanted| wanted != mount.protection()) {
            format!("the session `{name}` was made with other rules")
        } else {
            return Ok(());
        };
        let mut failure = misused("run", "use the session", &why);
        failure.hints.push(format!(
            "name a new one with `--session`, or drop this one: `handfast session discard {name} --remove`"
        ));
        Err(failure)
    }

    /// The rules that were asked for; nothing if none were.
    fn protect(&self) -> Result<Option<Protect>, Box<Failure>> {
        if self.protect.is_none() && self.deny.is_empty() {
            return Ok(None);
        }
        let mut protect = match self.protect.as_deref() {
            Some("none") => Protect::new(),
            Some(name) => preset(name).map_err(|error| {
                let mut failure = failed("run", "protect", "", &error);
                failure.exit = crate::exit::Exit::Usage;
                failure
            })?,
            None => preset_or_nothing("workspace"),
        };
        for pattern in &self.deny {
            protect = protect.with_deny(pattern.as_str());
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
        let top = VirtualPath::root();
        let mount = MountSpec::new(&plan.project.path, top)
            .mode(chosen.mode)
            .protect(chosen.protect.clone());
        let mut quota = Quota::new();
        quota.bytes = self.quota;
        let spec = SessionSpec::new().mount(mount).quota(quota);
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

/// A preset that is known to be there.
fn preset_or_nothing(name: &str) -> Protect {
    preset(name).expect("the preset is built in")
}
