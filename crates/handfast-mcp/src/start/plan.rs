//! What the session is made of, before it is opened.

use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use handfast::{ErrorKind, Root};
use handfast_session::{Mode, MountSpec, Policy, Protect, Quota, SessionSpec};

use super::{StartError, State, failed, usage};
use crate::dirs::{self, Granted};
use crate::options::{Options, Source};
use crate::view::{Allowed, View};

/// What the session is made of, before it is opened.
pub(super) struct Plan {
    pub(super) spec: SessionSpec,
    /// Directories to grant behind the wall.
    pub(super) roots: Vec<Root>,
    pub(super) view: View,
    pub(super) warnings: Vec<String>,
}

pub(super) fn existing_session(
    options: &Options,
    state: Option<&State>,
    name: Option<&str>,
) -> Result<Option<SessionSpec>, StartError> {
    let (Some(state), Some(name)) = (state, name) else {
        return Ok(None);
    };
    let spec = match state.catalogue.spec(name) {
        Ok(spec) => spec,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(failed("the session cannot be opened", &error)),
    };
    let given = options.quota.is_some()
        || options.protect.is_some()
        || !options.deny.is_empty()
        || matches!(options.source, Source::Policy(_));
    if given {
        return Err(StartError {
            hint: Some(
                "leave out `--deny`, `--protect`, `--quota` and `--policy`, or take a new name",
            ),
            ..usage(format!(
                "the session `{name}` exists, with rules of its own"
            ))
        });
    }
    if let Source::Dirs(dirs) = &options.source {
        for dir in dirs {
            let granted = dirs::pin(dir, options.home.as_deref()).map_err(usage)?;
            let known = spec
                .mounts()
                .iter()
                .any(|mount| mount.host() == granted.host());
            if !known {
                return Err(StartError {
                    hint: Some("leave out the directory, or take a new name"),
                    ..usage(format!(
                        "the session `{name}` exists, and does not hold `{}`",
                        handfast::escape(dir.as_os_str().as_bytes())
                    ))
                });
            }
        }
    }
    Ok(Some(spec))
}

pub(super) fn from_dirs(options: &Options, dirs: &[PathBuf]) -> Result<Plan, StartError> {
    let mut warnings = Vec::new();
    let mut granted: Vec<Granted> = Vec::new();
    for dir in dirs {
        match dirs::pin(dir, options.home.as_deref()) {
            Ok(one) => granted.push(one),
            Err(why) => {
                let shown = handfast::escape(dir.as_os_str().as_bytes());
                warnings.push(format!("`{shown}` is left out: {why}"));
            }
        }
    }
    if granted.is_empty() {
        let why = warnings.join("; ");
        return Err(StartError {
            is_usage: false,
            text: format!("none of the directories can be used: {why}"),
            hint: None,
        });
    }
    let mode = match (options.session.is_some(), options.read_only) {
        (_, true) => Mode::ReadOnly,
        (true, false) => Mode::Overlay,
        (false, false) => Mode::ReadWrite,
    };
    let mut protect = match &options.protect {
        Some(preset) => Protect::preset(preset).map_err(|error| failed("`--protect`", &error))?,
        None => Protect::new(),
    };
    protect.deny.extend(options.deny.iter().cloned());
    let mut spec = SessionSpec::new();
    if let Some(bytes) = options.quota {
        spec = spec.quota(Quota {
            bytes: Some(bytes),
            ..Quota::new()
        });
    }
    let mut roots = Vec::new();
    for one in dirs::outermost(&granted) {
        let mount = MountSpec::new(one.host(), one.real.clone())
            .mode(mode)
            .links(options.links)
            .allow_network_fs(true)
            .protect(protect.clone());
        spec = spec.mount(mount);
        roots.push(one.root.clone());
    }
    let mut view = View::default();
    for one in &granted {
        for spelled in [&one.spelled, &one.real] {
            if !view.allowed.iter().any(|known| known.spelled == *spelled) {
                view.allowed.push(Allowed {
                    spelled: spelled.clone(),
                    place: one.real.clone(),
                });
            }
        }
    }
    Ok(Plan {
        spec,
        roots,
        view,
        warnings,
    })
}

pub(super) fn from_policy(options: &Options, file: &Path) -> Result<Plan, StartError> {
    if options.quota.is_some() || options.protect.is_some() || !options.deny.is_empty() {
        return Err(usage(
            "`--policy` says everything; `--deny`, `--protect` and `--quota` go without it",
        ));
    }
    let policy = Policy::read_ambient(file).map_err(|error| failed("the policy", &error))?;
    let mut spec = policy.session();
    if options.read_only {
        let quota = policy.quota;
        let mounts = spec.mounts().to_vec();
        spec = mounts
            .into_iter()
            .fold(SessionSpec::new().quota(quota), |spec, mount| {
                spec.mount(mount.mode(Mode::ReadOnly))
            });
    }
    from_spec(spec, Vec::new())
}

/// Mounts that somebody else described: what clients see are the mount points.
pub(super) fn from_spec(spec: SessionSpec, warnings: Vec<String>) -> Result<Plan, StartError> {
    let mut roots = Vec::new();
    let mut view = View::default();
    for mount in spec.mounts() {
        let root = Root::open_ambient(mount.host()).map_err(|error| {
            let text = format!("the directory for `{}`: {}", mount.at(), error.detail());
            usage(text)
        })?;
        roots.push(root);
        view.allowed.push(Allowed {
            spelled: mount.at().clone(),
            place: mount.at().clone(),
        });
    }
    Ok(Plan {
        spec,
        roots,
        view,
        warnings,
    })
}
