//! `--policy FILE`: what a policy says of the project.

use std::time::Duration;

use handfast::{Links, RelPath, Root};
use handfast_run::Project;
use handfast_session::policy::Policy;
use handfast_session::{Mode, MountSpec, Quota, SessionSpec, VirtualPath};

use super::rules::made_otherwise;
use super::{RunArgs, worktree};
use crate::exit::Exit;
use crate::failure::Failure;
use crate::session::{failed, misused};

/// Mode, patterns and limits of the project.
pub(super) struct Terms {
    pub(super) mount: MountSpec,
    quota: Quota,
    ask_timeout: Option<Duration>,
}

impl RunArgs {
    /// What the policy says of the project, if one was given. A run shows one directory: a policy of
    /// several says things that would not hold.
    pub(super) fn terms(&self, project: &Project) -> Result<Option<Terms>, Box<Failure>> {
        let Some(path) = &self.policy else {
            return Ok(None);
        };
        let policy = Policy::read_ambient(path).map_err(|error| {
            let shown = path.display().to_string();
            let mut failure = failed("run", "use the policy", &shown, &error);
            failure.exit = Exit::Usage;
            failure
        })?;
        let refused = |why: &str| Err(misused("run", "use the policy", why));
        let [root] = &policy.roots[..] else {
            return refused("a run shows one directory, and the policy has several roots");
        };
        let named = Root::open_ambient(root.mount.host());
        let named = named.and_then(|dir| dir.metadata(&RelPath::root()));
        if !named.is_ok_and(|dir| project.is(&dir)) {
            let why = format!("its root `{}` is not the project's directory", root.name);
            return refused(&why);
        }
        if root.mount.mounted_as() == Mode::Memory {
            return refused("in the mode `memory` nothing of a run would be left to review");
        }
        let rules = worktree::project_rules(project, root.mount.protection().clone());
        let mount = root.mount.clone().protect(rules);
        if !mount.clone().links(Links::Beneath).has_terms_of(&mount) {
            return refused("the kernel follows links in a mount: `links` can be `beneath` only");
        }
        Ok(Some(Terms {
            mount: mount.moved(&project.path, VirtualPath::root()),
            quota: policy.quota,
            ask_timeout: policy.ask_timeout,
        }))
    }
}

impl Terms {
    /// The session that the policy describes.
    pub(super) fn session(&self, project: &Project) -> SessionSpec {
        let mounts = worktree::mounts(project, &self.mount).into_iter();
        let spec = mounts.fold(SessionSpec::new(), SessionSpec::mount);
        let spec = spec.quota(self.quota);
        match self.ask_timeout {
            Some(timeout) => spec.ask_timeout(timeout),
            None => spec,
        }
    }

    /// Refuses a session that was made by other terms.
    pub(super) fn check_found(&self, name: &str, spec: &SessionSpec) -> Result<(), Box<Failure>> {
        let [mount, ..] = spec.mounts() else {
            return Ok(());
        };
        if mount.has_terms_of(&self.mount) && spec.limits() == (self.quota, self.ask_timeout) {
            return Ok(());
        }
        let why = format!("the session `{name}` was made by another policy");
        Err(made_otherwise(name, &why))
    }
}
