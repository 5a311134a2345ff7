//! `run --explain`: what a program would see and may do.

use handfast_run::{Net, Plan, Wall};
use handfast_session::{Mode, Protect};

use crate::json::JsonObject;
use crate::output::{self, Output};

/// Prints a plan.
pub(super) fn tell(plan: &Plan, session: &str, mode: Mode, protect: &Protect, out: &mut Output) {
    let shown = |path: &std::path::Path| handfast::escape(path.as_os_str().as_encoded_bytes());
    let of = |writable: bool| {
        let granted = plan
            .grants
            .iter()
            .filter(move |one| one.writable == writable);
        granted.map(|one| shown(&one.path)).collect::<Vec<_>>()
    };
    let net = match plan.net {
        Net::Host => "host",
        Net::None => "none",
    };
    let engine = match (plan.wall, plan.fast) {
        (Wall::Landlock, _) => "landlock",
        (_, true) => "overlayfs",
        (_, false) => "fuse",
    };
    let env: Vec<_> = plan
        .env
        .iter()
        .map(|(name, _)| handfast::escape(name.as_encoded_bytes()))
        .collect();
    let private = ["/tmp", "/var/tmp", "/run", "/dev", "/proc"].map(str::to_owned);
    let lists = [
        ("read", of(false)),
        ("write", of(true)),
        (
            "cached",
            plan.caches.iter().map(|path| shown(path)).collect(),
        ),
        (
            "masked",
            plan.masked.iter().map(|path| shown(path)).collect(),
        ),
        (
            "private",
            private.into_iter().chain([shown(&plan.home)]).collect(),
        ),
        ("deny", protect.deny.clone()),
        ("read_only", protect.read_only.clone()),
        ("ask", protect.ask.clone()),
        ("env", env),
        ("weaker", plan.weaker.clone()),
    ];
    let project = shown(&plan.project.path);
    let repository = plan.project.repository.as_ref();
    let repository = repository.map(|repository| shown(&repository.path));
    if out.is_json() {
        let mut fields = JsonObject::new()
            .with("project", project.as_str())
            .with("session", session)
            .with("mode", mode.name())
            .with("engine", engine)
            .with("net", net);
        if let Some(repository) = &repository {
            fields = fields.with("repository", repository.as_str());
        }
        for (name, values) in lists {
            let named = values
                .iter()
                .map(|value| JsonObject::new().with("name", value.as_str()));
            fields = fields.with(name, output::list(named));
        }
        out.object(true, fields);
        return;
    }
    out.line(&format!("project  {project}"));
    if let Some(repository) = repository {
        out.line(&format!("repo     {repository}"));
    }
    out.line(&format!("session  {session}"));
    out.line(&format!("mode     {mode}"));
    out.line(&format!("engine   {engine}"));
    out.line(&format!("net      {net}"));
    for (name, values) in lists {
        if !values.is_empty() {
            out.folded(&format!("{name:<8} {}", values.join(" ")), 9);
        }
    }
}
