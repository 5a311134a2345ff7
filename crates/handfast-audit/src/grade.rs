//! From gaps to findings: one for each flow, graded by how the flow stands.

use crate::facts::bit;
use crate::hazards::Hazard;
use crate::ir::Span;
use crate::items::Gap;
use crate::judge::{short_hash, suggestion};
use crate::report::{Finding, Step};
use crate::scope::{Flow, Scope};
use crate::standing::{GuardState, Worth};
use crate::tables::{Classification, Severity, item};
use crate::term::SourceKind;

/// Gaps that belong into one finding.
pub(crate) struct Group {
    pub(crate) items: Vec<&'static str>,
    pub(crate) gaps: Vec<Gap>,
    /// The flows it is about; empty for what concerns the file as a whole.
    pub(crate) flows: Vec<usize>,
    pub(crate) standing: GuardState,
    pub(crate) cause: &'static str,
}

impl Group {
    fn flow<'s>(&self, scope: &'s Scope<'_>) -> Option<&'s Flow> {
        self.flows.first().and_then(|index| scope.flows.get(*index))
    }

    /// How grave, and how sure.
    fn grade(&self, scope: &Scope<'_>) -> (Severity, Classification) {
        if self.cause == "tests" {
            return (Severity::Medium, Classification::TestGap);
        }
        let flow = self.flow(scope).or_else(|| scope.flows.first());
        let external = flow.is_some_and(Flow::is_external);
        let certain = flow.is_some_and(Flow::is_certain) && !scope.is_damaged;
        let listed = self.items.iter().filter_map(|id| item(id));
        let worst = |pick: fn(&crate::tables::ChecklistItem) -> Severity| {
            listed.clone().map(pick).max().unwrap_or(Severity::High)
        };
        let mut severity = match self.standing {
            GuardState::Open if external => worst(|item| item.severity),
            GuardState::Open => worst(|item| item.otherwise),
            GuardState::Weak if external => worst(|item| item.severity).milder(),
            // Containment is a control that can be checked: one level down.
            GuardState::Weak | GuardState::Contained => worst(|item| item.otherwise).milder(),
        };
        // Only numbers come from outside: the one open question is which object has the name.
        let is_number = flow.is_some_and(|flow| flow.all(|facts| facts.has(bit::CHOSEN)));
        if self.standing == GuardState::Contained && !external && !is_number {
            severity = severity.milder();
        }
        // A look at the name before it is used loses a race, and finds what was left there earlier.
        let is_looked_at = flow.is_some_and(|flow| flow.any(bit::NOT_LINK));
        if self.standing == GuardState::Contained && is_looked_at {
            severity = severity.milder();
        }
        if self.gaps.iter().all(|gap| gap.milder) && self.standing != GuardState::Contained {
            severity = severity.milder();
        }
        let is_confirmed = certain && self.standing == GuardState::Open && !self.flows.is_empty();
        let classification = if is_confirmed && severity >= Severity::High {
            Classification::Confirmed
        } else {
            Classification::Likely
        };
        (severity, classification)
    }

    /// What the finding is called, and where it stands.
    fn headline(&self, scope: &Scope<'_>) -> (String, Option<Span>) {
        let flow = self.flow(scope);
        if let (GuardState::Open, Some(flow)) = (self.standing, flow) {
            return (hole(flow), Some(flow.sink.at));
        }
        if let (GuardState::Weak, Some((at, words))) =
            (self.standing, flow.and_then(Flow::weak_guard))
        {
            return (words.to_owned(), Some(at));
        }
        let worst = self
            .items
            .iter()
            .filter_map(|id| item(id))
            .max_by_key(|item| (item.severity, std::cmp::Reverse(item.id.clone())));
        let title = worst.map_or("", |item| item.title.as_str());
        let detail = self.gaps.iter().find_map(|gap| gap.detail.clone());
        let is_shared = self.items.len() == 1 || self.gaps.iter().all(|gap| gap.detail == detail);
        let title = match detail {
            Some(detail) if is_shared => detail,
            // It tells of one of several items only.
            Some(detail) => format!("{title} ({detail})"),
            None => title.to_owned(),
        };
        let at = self.gaps.iter().find_map(|gap| gap.at);
        (title, at.or_else(|| flow.map(|flow| flow.sink.at)))
    }

    /// The finding of this group.
    pub(crate) fn finding(&self, scope: &Scope<'_>) -> Finding {
        let flow = self.flow(scope);
        let about = flow.or_else(|| scope.flows.first());
        let first = item(self.items[0]).expect("a known item");
        let worst = self
            .items
            .iter()
            .filter_map(|id| item(id))
            .max_by_key(|item| (item.severity, std::cmp::Reverse(item.id.clone())))
            .unwrap_or(first);
        // A hole is told as one: what the text can do, not what hardening is missing.
        let leading = ["A4", "B3"]
            .iter()
            .filter(|_| self.standing != GuardState::Contained && flow.is_some())
            .filter(|id| self.items.contains(*id))
            .find_map(|id| item(id));
        let worst = leading.unwrap_or(worst);
        let (severity, classification) = self.grade(scope);
        let (title, at) = self.headline(scope);
        let is_tests = self.cause == "tests";
        let at = at
            .filter(|at| at.line > 0)
            .or_else(|| about.map(|flow| flow.sink.at).filter(|_| !is_tests));
        let (file, line, end_line) = place(scope, at);
        let snippet = snippet(scope, at);
        let function = flow.map_or_else(String::new, |flow| flow.function.clone());
        let sink = about.map_or_else(String::new, |flow| flow.sink.name.to_string());
        let source = about.map_or_else(String::new, |flow| flow.labels.join(", "));
        let mut guards: Vec<&str> = Vec::new();
        for item in self.items.iter().filter_map(|id| item(id)) {
            if !guards.contains(&item.guard.as_str()) {
                guards.push(&item.guard);
            }
        }
        let key = if self.flows.is_empty() {
            self.cause
        } else {
            ""
        };
        let standing = format!("{:?}", self.standing);
        let mut id = String::new();
        for part in [
            key,
            &standing,
            &function,
            &sink,
            &source,
            scope.program.file(scope.file).path.as_str(),
        ] {
            id.push_str(part);
            id.push('\n');
        }
        let trigger = if source.is_empty() || is_tests {
            worst.trigger.clone()
        } else {
            format!("{} (`{source}` into `{sink}`)", worst.trigger)
        };
        Finding {
            id: short_hash(&id),
            items: self.items.iter().map(|id| (*id).to_owned()).collect(),
            title,
            category: first.category.clone(),
            severity,
            classification,
            file,
            line,
            end_line,
            snippet: snippet.0,
            column: snippet.1,
            width: snippet.2,
            function,
            sink,
            source,
            trigger,
            risk: self.risk(scope, &worst.risk),
            required_guard: guards.join("; "),
            suggested_anchor: suggestion(scope.lang.family(), self.leading_cause()),
            trace: flow
                .map(|flow| trace(scope, flow, &self.flows))
                .unwrap_or_default(),
            acceptance: None,
            reachable: about.is_none_or(Flow::is_reachable),
            compensated: self.standing == GuardState::Contained && flow.is_some(),
            is_weak: self.standing == GuardState::Weak && flow.is_some(),
            within: flow.map_or((0, 0), |flow| {
                let span = scope.program.function(flow.sink.function).span;
                (span.line, span.end_line)
            }),
        }
    }

    /// What is lost; with the control that lowers it, where there is one.
    fn risk(&self, scope: &Scope<'_>, risk: &str) -> String {
        let control = self
            .flow(scope)
            .filter(|_| self.standing == GuardState::Contained)
            .and_then(|flow| {
                let mut sound = flow.guards().into_iter();
                sound.find(|(_, worth, _)| *worth == Worth::Sound)
            });
        match control {
            Some((at, _, words)) => format!(
                "{risk}; lowered by one level, because {words} ({})",
                scope.program.place(at)
            ),
            None => risk.to_owned(),
        }
    }

    fn leading_cause(&self) -> &'static str {
        let has = |cause: &str| self.gaps.iter().any(|gap| gap.cause == cause);
        match self.standing {
            GuardState::Contained => self.gaps.first().map_or(self.cause, |gap| gap.cause),
            _ if has("containment") => "containment",
            _ => self.gaps.first().map_or(self.cause, |gap| gap.cause),
        }
    }
}

/// What a flow that nothing stops is called.
fn hole(flow: &Flow) -> String {
    let what = match flow.leaves.first().map(|leaf| leaf.kind) {
        Some(SourceKind::Archive) => "the name of an archive's entry",
        Some(SourceKind::Guessed) => "text from the caller",
        Some(SourceKind::Process) => "text from the command line or the environment",
        Some(SourceKind::Remote) => "text that another machine or a document decides",
        _ => "external text",
    };
    let sink = &flow.sink.name;
    match (&flow.root, flow.discards) {
        (None, _) => format!("{what} is the whole path of `{sink}`"),
        (Some(root), _) => {
            format!(
                "{what} reaches `{sink}`, and nothing keeps it below `{}`",
                root.label
            )
        }
    }
}

fn place(scope: &Scope<'_>, at: Option<Span>) -> (String, u32, u32) {
    match at {
        Some(at) => (
            scope.program.file(at.file).path.clone(),
            at.line,
            at.end_line.max(at.line),
        ),
        None => (String::new(), 0, 0),
    }
}

/// The first line of a place, and which part of it is meant.
fn snippet(scope: &Scope<'_>, at: Option<Span>) -> (String, u32, u32) {
    let Some(at) = at.filter(|at| at.line > 0) else {
        return (String::new(), 0, 0);
    };
    let source = scope.program.file(at.file);
    let line = source.line(at.line);
    let start = (at.start as usize).min(source.text.len());
    let before = source.text.get(..start).unwrap_or_default();
    let column = before.chars().rev().take_while(|c| *c != '\n').count();
    let end = (at.end as usize).clamp(start, source.text.len());
    let marked = source.text.get(start..end).unwrap_or_default();
    let width = marked.chars().take_while(|c| *c != '\n').count();
    let is_inside = column + width <= line.chars().count();
    let number = |n: usize| u32::try_from(n).unwrap_or(0);
    if is_inside && width > 0 {
        (line.to_owned(), number(column), number(width))
    } else {
        let indent = line.chars().take_while(|c| c.is_whitespace()).count();
        let rest = line.chars().count().saturating_sub(indent);
        (line.to_owned(), number(indent), number(rest))
    }
}

fn step(scope: &Scope<'_>, at: Span, note: String) -> Step {
    Step {
        file: scope.program.file(at.file).path.clone(),
        line: at.line.max(1),
        note,
        guard: None,
    }
}

/// Source, calls, guards with what they are worth, operations.
fn trace(scope: &Scope<'_>, flow: &Flow, all: &[usize]) -> Vec<Step> {
    let mut steps = Vec::new();
    let entry = scope.program.function(flow.sink.entry).span;
    if let Some(label) = flow.labels.first() {
        let at = flow.source_at.filter(|at| at.line > 0).unwrap_or(entry);
        steps.push(step(scope, at, format!("external text `{label}`")));
    }
    for (id, at) in &flow.sink.calls {
        if at.line > 0 {
            let name = &scope.program.function(*id).name;
            steps.push(step(scope, *at, format!("goes into `{name}`")));
        }
    }
    for (at, worth, words) in flow.guards() {
        let mut guard = step(scope, at, format!("guard, {}: {words}", worth.name()));
        guard.guard = Some(worth.name());
        steps.push(guard);
    }
    let mut reached: Vec<Span> = Vec::new();
    for index in all {
        let sink = &scope.flows[*index].sink;
        if !reached.contains(&sink.at) {
            reached.push(sink.at);
            steps.push(step(scope, sink.at, format!("reaches `{}`", sink.name)));
        }
    }
    steps
}

/// The finding of a mistake that needs no external text.
pub(crate) fn hazard(scope: &Scope<'_>, hazard: &Hazard) -> Finding {
    use crate::hazards::HazardKind;
    let item = item(hazard.item).expect("a known item");
    let function = scope.program.function(hazard.function);
    let (severity, classification) = match hazard.kind {
        HazardKind::TempName => (Severity::High, Classification::Confirmed),
        // Another user has to be able to write there, or to win a race: likely, and no advice.
        HazardKind::FixedTemp
        | HazardKind::LateMode
        | HazardKind::ListedThenChanged
        | HazardKind::ForeignHome
        | HazardKind::LookedThenWritten
        | HazardKind::FollowedWalk
        | HazardKind::BesideEntries
        | HazardKind::CheckThenUse => (Severity::High, Classification::Likely),
        HazardKind::FixedDraft | HazardKind::LateShare => {
            (Severity::Medium, Classification::Likely)
        }
        HazardKind::DrawnTemp => (Severity::Low, Classification::Likely),
    };
    let (file, line, end_line) = place(scope, Some(hazard.at));
    let snippet = snippet(scope, Some(hazard.at));
    let mut steps = Vec::new();
    if let Some(before) = hazard.before {
        let words = match hazard.kind {
            HazardKind::CheckThenUse | HazardKind::LookedThenWritten | HazardKind::FollowedWalk => {
                "the name is looked at"
            }
            HazardKind::BesideEntries => "an archive is unpacked",
            _ => "the name is made up",
        };
        steps.push(step(scope, before, words.to_owned()));
    }
    steps.push(step(scope, hazard.at, format!("reaches `{}`", hazard.sink)));
    let path = &scope.program.file(scope.file).path;
    let cause = match hazard.kind {
        HazardKind::CheckThenUse => "descriptor",
        HazardKind::ForeignHome | HazardKind::BesideEntries | HazardKind::LookedThenWritten => {
            "leaf"
        }
        HazardKind::FollowedWalk => "walk",
        _ => "write",
    };
    Finding {
        id: short_hash(&format!(
            "{:?}\n{}\n{}\n{path}",
            hazard.kind, function.name, hazard.sink
        )),
        items: vec![hazard.item.to_owned()],
        title: hazard.kind.title().to_owned(),
        category: item.category.clone(),
        severity,
        classification,
        file,
        line,
        end_line,
        snippet: snippet.0,
        column: snippet.1,
        width: snippet.2,
        function: function.name.to_string(),
        sink: hazard.sink.clone(),
        source: String::new(),
        trigger: item.trigger.clone(),
        risk: item.risk.clone(),
        required_guard: item.guard.clone(),
        suggested_anchor: suggestion(scope.lang.family(), cause),
        trace: steps,
        acceptance: None,
        reachable: true,
        compensated: false,
        is_weak: false,
        within: (function.span.line, function.span.end_line),
    }
}
