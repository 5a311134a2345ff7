//! What the session is made of, before it is opened.

use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use handfast::{ErrorKind, Links, Root};
use handfast_session::{Mode, MountSpec, Policy, Protect, Quota, SessionSpec, VirtualPath};

use super::{StartError, State, failed, usage};
use crate::dirs::{self, Granted};
use crate::options::{Options, Source};
use crate::view::ClientView;

/// Directories, rules and names, before anything is opened.
pub(super) struct Plan {
    pub(super) spec: SessionSpec,
    /// Directories to grant behind the wall.
    pub(super) roots: Vec<Root>,
    pub(super) view: ClientView,
    pub(super) warnings: Vec<String>,
}

impl Plan {
    /// What is protected in any of the directories.
    pub(super) fn protection(&self) -> Protect {
        let mut all = Protect::new();
        for mount in self.spec.mounts() {
            all = all.and(mount.protection().clone());
        }
        for patterns in [&mut all.deny, &mut all.read_only, &mut all.ask] {
            let mut known = BTreeSet::new();
            patterns.retain(|pattern| known.insert(pattern.clone()));
        }
        all
    }
}

/// What the session is made of: of what is there already, or of what was asked for.
pub(super) fn plan(
    options: &Options,
    existing: Option<SessionSpec>,
    name: Option<&str>,
) -> Result<Plan, StartError> {
    match (&options.source, existing) {
        (Source::Dirs(dirs), existing) if options.project.is_some() => {
            of_project(options, dirs, existing)
        }
        (_, Some(spec)) => from_spec(spec, Vec::new()),
        (Source::Dirs(dirs), None) => from_dirs(options, dirs),
        (Source::Policy(file), None) => from_policy(options, file),
        (Source::Session, None) => {
            let name = name.unwrap_or_default();
            Err(usage(format!(
                "there is no session `{name}`; name a directory to make it"
            )))
        }
    }
}

/// The session of a name, if there is one. It is refused if rules are asked for: it has its own.
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
    if has_rules(options) || matches!(options.source, Source::Policy(_)) {
        return Err(StartError {
            hint: Some(
                "leave out `--deny`, `--protect`, `--links`, `--quota` and `--policy`, or take a new name",
            ),
            ..usage(format!(
                "the session `{name}` exists, with rules of its own"
            ))
        });
    }
    if let Some(project) = &options.project {
        require_project(project, &spec, name)?;
    } else if let Source::Dirs(dirs) = &options.source {
        require_same_dirs(options, dirs, &spec, name)?;
    }
    Ok(Some(spec))
}

/// Whether the operator asks for rules.
fn has_rules(options: &Options) -> bool {
    options.quota.is_some()
        || options.protect.is_some()
        || options.links.is_some()
        || !options.deny.is_empty()
}

/// A session that is shared with `handfast run` has one overlay, at `/`.
fn require_project(project: &Path, spec: &SessionSpec, name: &str) -> Result<(), StartError> {
    let is_it = match spec.mounts() {
        [mount] => {
            mount.at().as_rel().is_root()
                && mount.host() == project
                && mount.mounted_as() == Mode::Overlay
        }
        _ => false,
    };
    match is_it {
        true => Ok(()),
        false => Err(StartError {
            hint: Some("take `--overlay=fresh`, or a name with `--session`"),
            ..usage(format!(
                "the session `{name}` is no overlay of this project alone"
            ))
        }),
    }
}

/// The directories that were typed must be those of the session: neither more nor fewer are served.
fn require_same_dirs(
    options: &Options,
    dirs: &[PathBuf],
    spec: &SessionSpec,
    name: &str,
) -> Result<(), StartError> {
    let refused = |what: &str, dir: &Path| StartError {
        hint: Some("leave out the directories, or take a new name"),
        ..usage(format!(
            "the session `{name}` exists, and {what} `{}`",
            handfast::escape(dir.as_os_str().as_bytes())
        ))
    };
    let pin = |dir: &PathBuf| dirs::pin(dir, options.home.as_deref()).map_err(usage);
    let granted: Vec<Granted> = dirs.iter().map(pin).collect::<Result<_, _>>()?;
    let hosts: Vec<PathBuf> = dirs::outermost(&granted)
        .into_iter()
        .map(Granted::host)
        .collect();
    let has = |host: &PathBuf| spec.mounts().iter().any(|mount| mount.host() == host);
    if let Some(host) = hosts.iter().find(|host| !has(host)) {
        return Err(refused("does not hold", host));
    }
    let more = spec
        .mounts()
        .iter()
        .find(|mount| !hosts.iter().any(|host| host == mount.host()));
    match more {
        Some(mount) => Err(refused("also holds", mount.host())),
        None => Ok(()),
    }
}

/// Directories in a project, over the session of the project.
fn of_project(
    options: &Options,
    dirs: &[PathBuf],
    existing: Option<SessionSpec>,
) -> Result<Plan, StartError> {
    let host = options.project.as_deref().unwrap_or(Path::new("/"));
    let project = dirs::pin(host, None).map_err(usage)?;
    let mut view = ClientView::default();
    for dir in dirs {
        let granted = dirs::pin(dir, options.home.as_deref()).map_err(usage)?;
        let Some(rest) = granted.real.strip_prefix(&project.real) else {
            let shown = handfast::escape(dir.as_os_str().as_bytes());
            return Err(usage(format!("`{shown}` is not in the project")));
        };
        let place = VirtualPath::root().join(rest);
        // What a client asks for in a part of the project must not lead to the rest of it.
        view.narrowed |= !place.as_rel().is_root();
        for spelled in [&granted.spelled, &granted.real] {
            view.allow(spelled.clone(), place.clone());
        }
    }
    let spec = match existing {
        Some(spec) => spec,
        None => {
            let preset = options.deny.is_empty() && options.protect.is_none();
            let mut protect = protection(options)?;
            if preset {
                protect = Protect::preset("workspace").map_err(|e| failed("a preset", &e))?;
            }
            let mount = MountSpec::new(project.host(), VirtualPath::root())
                .mode(Mode::Overlay)
                .links(options.links.unwrap_or(Links::Beneath))
                .protect(protect);
            with_quota(options).mount(mount)
        }
    };
    Ok(Plan {
        spec,
        roots: vec![project.root],
        view,
        warnings: Vec::new(),
    })
}

/// The patterns that were asked for.
fn protection(options: &Options) -> Result<Protect, StartError> {
    let mut protect = match &options.protect {
        Some(preset) => Protect::preset(preset).map_err(|error| failed("`--protect`", &error))?,
        None => Protect::new(),
    };
    protect.deny.extend(options.deny.iter().cloned());
    Ok(protect)
}

/// A session without mounts, with the quota that was asked for.
fn with_quota(options: &Options) -> SessionSpec {
    match options.quota {
        Some(bytes) => SessionSpec::new().quota(Quota {
            bytes: Some(bytes),
            ..Quota::new()
        }),
        None => SessionSpec::new(),
    }
}

fn from_dirs(options: &Options, dirs: &[PathBuf]) -> Result<Plan, StartError> {
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
            hint: Some("name a directory that exists and that this user can read"),
        });
    }
    let mode = match (options.session.is_some(), options.read_only) {
        (_, true) => Mode::ReadOnly,
        (true, false) => Mode::Overlay,
        (false, false) => Mode::ReadWrite,
    };
    let protect = protection(options)?;
    let mut spec = with_quota(options);
    let mut roots = Vec::new();
    for one in dirs::outermost(&granted) {
        let mount = MountSpec::new(one.host(), one.real.clone())
            .mode(mode)
            .links(options.links.unwrap_or(Links::Beneath))
            .allow_network_fs(true)
            .protect(protect.clone());
        spec = spec.mount(mount);
        roots.push(one.root.clone());
    }
    let mut view = ClientView::default();
    for one in &granted {
        for spelled in [&one.spelled, &one.real] {
            view.allow(spelled.clone(), one.real.clone());
        }
    }
    Ok(Plan {
        spec,
        roots,
        view,
        warnings,
    })
}

fn from_policy(options: &Options, file: &Path) -> Result<Plan, StartError> {
    if has_rules(options) {
        return Err(usage(
            "`--policy` says everything; `--deny`, `--protect`, `--links` and `--quota` go without it",
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
fn from_spec(spec: SessionSpec, warnings: Vec<String>) -> Result<Plan, StartError> {
    let mut roots = Vec::new();
    let mut view = ClientView::default();
    for mount in spec.mounts() {
        let root = Root::open_ambient(mount.host()).map_err(|error| {
            let text = format!("the directory for `{}`: {}", mount.at(), error.detail());
            usage(text)
        })?;
        roots.push(root);
        view.allow(mount.at().clone(), mount.at().clone());
    }
    Ok(Plan {
        spec,
        roots,
        view,
        warnings,
    })
}
