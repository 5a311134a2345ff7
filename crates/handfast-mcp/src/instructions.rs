//! What a model is told about where it is, before it calls anything.

use handfast_session::{PRESETS, Protect};

use crate::server::StartReport;
use crate::view::ClientView;

/// The sentences for `instructions`.
pub(crate) fn text(view: &ClientView, facts: &StartReport) -> String {
    let dirs = view.texts();
    let first = dirs.first().map_or("/", String::as_str);
    let mut sentences = vec![
        format!("The files that you can reach lie in: {}.", dirs.join(", ")),
        format!("Relative paths begin at {first}."),
    ];
    if facts.read_only {
        sentences.push("Nothing can be changed: the server is read-only.".to_owned());
    }
    if let Some(name) = &facts.overlay {
        sentences.push(format!(
            "What you change is kept in the overlay of the session `{name}`: you see your changes, the files on disk stay as they are. A person reviews the changes and commits or rejects them."
        ));
        match facts.waiting {
            0 => {}
            1 => sentences.push("1 change of earlier work waits for review.".to_owned()),
            count => sentences.push(format!(
                "{count} changes of earlier work wait for review; list_changes names them."
            )),
        }
    }
    sentences.extend(protected(facts.protect.clone(), facts.overlay.is_some()));
    sentences.push(
        "Long answers are cut: `truncated` is true then, and `next` given back as `cursor` goes on. Give the `version` of a file that you read back as `expectedVersion` when you change it, so that nobody's work is lost."
            .to_owned(),
    );
    sentences.join(" ")
}

/// What is protected. The patterns of a preset go by its name.
fn protected(mut protect: Protect, in_overlay: bool) -> Vec<String> {
    let mut denied = Vec::new();
    for name in PRESETS {
        let Ok(preset) = Protect::preset(name) else {
            continue;
        };
        let holds = |all: &[String], some: &[String]| some.iter().all(|one| all.contains(one));
        if holds(&protect.deny, &preset.deny) && holds(&protect.read_only, &preset.read_only) {
            protect.deny.retain(|one| !preset.deny.contains(one));
            protect
                .read_only
                .retain(|one| !preset.read_only.contains(one));
            denied.push(format!("the preset {name}"));
        }
    }
    let quoted = |patterns: &[String]| -> Vec<String> {
        let shown = patterns.iter().map(|one| handfast::escape(one.as_bytes()));
        shown.map(|one| format!("`{one}`")).collect()
    };
    denied.extend(quoted(&protect.deny));
    let asked = quoted(&protect.ask);
    let kept = quoted(&protect.read_only);
    let mut sentences = Vec::new();
    if !denied.is_empty() {
        sentences.push(format!("Protected, and refused: {}.", denied.join(", ")));
    }
    if !asked.is_empty() {
        sentences.push(format!(
            "Before these are read or changed, a person is asked, and the call waits: {}.",
            asked.join(", ")
        ));
    }
    if !kept.is_empty() {
        sentences.push(match in_overlay {
            true => format!(
                "Changes of these are committed only if a person names each: {}.",
                kept.join(", ")
            ),
            false => format!("Read, and not changed: {}.", kept.join(", ")),
        });
    }
    sentences
}
