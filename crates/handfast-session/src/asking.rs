//! Where a rule says `ask`: the request waits until a person answers, and goes on only if the object is
//! still the one that the person was asked about.
//!
//! A file is opened first and asked about then, so what is read is what was shown. A change is asked
//! about before it is made. The wait holds no lock.

use std::sync::Arc;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use handfast::{Decision, ErrorKind, Event, Metadata, Name, Phase, RelPath, Verb};

use crate::error::{Error, Reason};
use crate::inbox::{Given, Inbox, NewQuestion, Posted, Question, Seen, Standing, Waiting};
use crate::mount::Mount;
use crate::op::{Op, not_recorded};
use crate::overlay::FileKey;
use crate::pipeline::{Request, add_rules};
use crate::place::{ObjectKey, ResolvedPlace};
use crate::rules::{Access, Rule, Shape};
use crate::session::Session;

/// How long a request waits if nothing else is said.
pub(crate) const DEFAULT_TIMEOUT: Duration = Duration::from_secs(60);

/// How often a request looks for its answer.
const LOOK: Duration = Duration::from_millis(40);

/// The longest label of an event, in characters.
const MAX_LABEL: usize = 60;

impl Session {
    /// The questions of this session, and their answers.
    #[must_use]
    pub fn inbox(&self) -> Option<&Inbox> {
        self.core_inbox()
    }

    /// A program is shown no content in a review that it would have to ask for.
    pub(crate) fn refuse_what_is_asked(&self, mount: &Mount, path: &RelPath) -> Result<(), Error> {
        let is_program = self.caller().asker_of().is_some() || self.caller().never_waits();
        if !is_program || mount.judge.ask.is_empty() {
            return Ok(());
        }
        let mut rules = mount.asks(path, Shape::MaybeDir);
        // The review shows the content that the base has.
        if let Ok(file) = mount.base.symlink_metadata(path)
            && file.is_file()
        {
            add_rules(&mut rules, mount.judge.asks_by_other_names(&file)?);
        }
        match rules.first() {
            Some(rule) => Err(Error::refused(
                ErrorKind::Denied,
                format!("a person is asked before it is read: {rule}"),
            )
            .because(Reason::NotGranted)),
            None => Ok(()),
        }
    }

    /// Asks about a file that was opened for reading, once for every rule that wants that.
    pub(crate) fn ask_to_open(
        &self,
        place: &ResolvedPlace<'_>,
        op: &Op<'_>,
        file: &handfast::File,
    ) -> Result<(), Error> {
        if place.must_own {
            return Ok(());
        }
        let mut rules = place.asks.clone();
        let judge = &place.mount.judge;
        add_rules(&mut rules, judge.asks_by_other_names(file.metadata())?);
        // A copy in the overlay holds what the file of the base held, whose other names a rule may
        // ask about: a yes to a change is no yes to reading the rest.
        if let (Some(overlay), false) = (place.mount.layer.overlay(), judge.ask.is_empty())
            && let Some(origin) = overlay.base_file_of(place.spot())?
        {
            add_rules(&mut rules, judge.asks_by_other_names(&origin)?);
        }
        if rules.is_empty() {
            return Ok(());
        }
        let seen = Seen::opened(file)?;
        for rule in rules {
            self.ask(place, (Access::Read, rule), op, &seen)?;
        }
        match Seen::opened(file)? == seen {
            true => Ok(()),
            false => Err(changed_meanwhile()),
        }
    }

    /// Asks about a change, once for every rule that wants that and for every place that it has, and
    /// holds on to the objects that it is about. All of them are compared after the last answer: a
    /// person may take a minute for each.
    pub(crate) fn ask_to_change(
        &self,
        places: &mut [(&mut ResolvedPlace<'_>, &Request<'_>)],
        op: &Op<'_>,
    ) -> Result<(), Error> {
        let mut shown = Vec::new();
        for (at, (place, request)) in places.iter_mut().enumerate() {
            let has_rules = !place.mount.judge.ask.is_empty();
            let changes = request.access == Access::Change && request.may_ask();
            if !changes || !has_rules || place.must_own {
                continue;
            }
            place.hold_parent();
            let looked = Looked::at(place)?;
            let mut rules = place.asks.clone();
            if let Some(file) = &looked.status {
                add_rules(&mut rules, place.mount.judge.asks_by_other_names(file)?);
            }
            if rules.is_empty() {
                // No rule asks about this file. One that is put in its place may have a name that a
                // rule asks about, so the change is made to this file or not at all.
                place.hold_to(looked.status.as_ref());
                continue;
            }
            for rule in rules {
                self.ask(place, (Access::Change, rule), op, &looked.seen)?;
            }
            shown.push((at, looked));
        }
        for (at, looked) in shown {
            let (place, _) = &mut places[at];
            let now = looked.again(place)?;
            if now.seen != looked.seen {
                return Err(changed_meanwhile());
            }
            place.hold_to(now.status.as_ref());
            let key = looked.key.clone().map(ObjectKey::Overlay);
            place.expected = key.or(place.expected.take());
            place.shown = Some(Arc::new(looked));
        }
        Ok(())
    }

    /// Waits for an answer; an error if it is no.
    fn ask(
        &self,
        place: &ResolvedPlace<'_>,
        (access, rule): (Access, Rule),
        op: &Op<'_>,
        seen: &Seen,
    ) -> Result<(), Error> {
        let refused = |why: String| {
            Error::refused(ErrorKind::Denied, format!("{why}: {rule}")).because(Reason::NotGranted)
        };
        let (Some(inbox), Some(asker)) = (self.inbox(), Standing::here()) else {
            return Err(refused("nobody can be asked here".to_owned()));
        };
        self.record_taken_back()?;
        let hook = self.caller().asker_of();
        let observed = hook.and_then(|hook| hook.observed());
        let caller = match (self.caller().actor(), observed) {
            ("", Some(observed)) => observed,
            (actor, Some(observed)) => format!("{actor} ({observed})"),
            (actor, None) => actor.to_owned(),
        };
        let barred = hook.map(|hook| hook.barred()).unwrap_or_default();
        let now = SystemTime::now().duration_since(UNIX_EPOCH);
        let question = NewQuestion {
            verb: op.verb().name(),
            access,
            path: place.full(),
            other: op.other_than(&place.full()),
            object: seen.0.clone(),
            rule: rule.clone(),
            mount: place.mount.at.clone(),
            caller,
            waits: u64::try_from(self.ask_timeout().as_millis()).unwrap_or(u64::MAX),
            asked: now.map_or(0, |now| u64::try_from(now.as_nanos()).unwrap_or(u64::MAX)),
            asker,
            barred: barred.into_iter().filter_map(Standing::process).collect(),
        }
        .finish();
        if let Some(grant) = inbox.kept_answer(&question)? {
            let told = Told::begin(self, place, &question)?;
            return told.end(&grant.given(&question), &refused);
        }
        if self.caller().never_waits() {
            return Err(refused("a person would have to be asked".to_owned()));
        }
        let told = Told::begin(self, place, &question)?;
        let waiting = match inbox.post(question)? {
            Posted::Waits(waiting) => waiting,
            Posted::Full => {
                let why = "too many requests wait for a person already".to_owned();
                return told.refuse(refused(why));
            }
        };
        let question = waiting.question().clone();
        if let Some(hook) = hook {
            hook.asked(&question);
        }
        let outcome = self.wait(*waiting, &told);
        if let Some(hook) = hook {
            hook.ended(&question);
        }
        match outcome? {
            Outcome::Answered(given) => told.end(&given, &refused),
            Outcome::Gone => told.refuse(refused("the request was given up".to_owned())),
            Outcome::TooLong => {
                let seconds = self.ask_timeout().as_secs();
                let why = format!("nobody answered within {seconds} s");
                told.refuse(refused(why))
            }
        }
    }

    /// Looks for the answer until it is there, or nobody wants it any more.
    fn wait(&self, waiting: Waiting<'_>, told: &Told<'_>) -> Result<Outcome, Error> {
        let deadline = Instant::now() + self.ask_timeout();
        loop {
            if let Some(attempt) = waiting.attempt() {
                told.attempt(&attempt);
            }
            if let Some(given) = waiting.answer()? {
                return Ok(Outcome::Answered(given));
            }
            let is_gone = self.caller().asker_of().is_some_and(|hook| hook.is_gone());
            let left = deadline.saturating_duration_since(Instant::now());
            if is_gone || left.is_zero() {
                // An answer that came in this moment counts, and none that comes later.
                return Ok(match (waiting.close()?, is_gone) {
                    (Some(given), false) => Outcome::Answered(given),
                    (_, true) => Outcome::Gone,
                    (None, false) => Outcome::TooLong,
                });
            }
            std::thread::sleep(LOOK.min(left));
        }
    }
}

/// Refuses a change of what is not any more what a person said yes to. For verbs that ask a second
/// question, about something else, between that yes and the change.
pub(crate) fn require_shown(place: &ResolvedPlace<'_>) -> Result<(), Error> {
    let Some(shown) = &place.shown else {
        return Ok(());
    };
    match shown.again(place)?.seen == shown.seen {
        true => Ok(()),
        false => Err(changed_meanwhile()),
    }
}

/// What was at a place when a person was asked about a change.
pub(crate) struct Looked {
    /// Whose name it is, by the overlay.
    key: Option<FileKey>,
    seen: Seen,
    status: Option<Metadata>,
}

impl Looked {
    fn at(place: &ResolvedPlace<'_>) -> Result<Self, Error> {
        // Whose name it is now, the layer is asked again under its lock.
        let key = match place.mount.layer.overlay() {
            Some(overlay) => overlay.key_of(place.spot())?,
            None => None,
        };
        Self::with(key, place)
    }

    fn again(&self, place: &ResolvedPlace<'_>) -> Result<Self, Error> {
        Self::with(self.key.clone(), place)
    }

    fn with(key: Option<FileKey>, place: &ResolvedPlace<'_>) -> Result<Self, Error> {
        let key_now = key.clone().map(ObjectKey::Overlay);
        let mut spot = place.spot();
        spot.expected = key_now.as_ref().or(spot.expected);
        let overlay = place.mount.layer.overlay();
        let is_copy = || overlay.map_or(Ok(false), |overlay| overlay.is_copy(place.spot()));
        let was_copy = is_copy()?;
        let (mut seen, status) = Seen::at(&place.mount.layer, spot)?;
        // A file of the base is the one that was opened. Only a copy has its identity from elsewhere.
        if let (true, Some(object), Some(overlay), Some(key)) =
            (was_copy, &mut seen.0, overlay, &key)
        {
            let now = (object.identity, object.born);
            (object.identity, object.born) = overlay.lasting_identity(key).unwrap_or(now);
        }
        if is_copy()? != was_copy {
            return Err(changed_meanwhile());
        }
        Ok(Self { key, seen, status })
    }
}

enum Outcome {
    Answered(Given),
    Gone,
    TooLong,
}

/// The events of a question.
struct Told<'a> {
    session: &'a Session,
    place: &'a ResolvedPlace<'a>,
    id: u64,
}

impl<'a> Told<'a> {
    /// Tells that a person is asked. What is not recorded is not asked.
    fn begin(
        session: &'a Session,
        place: &'a ResolvedPlace<'a>,
        question: &Question,
    ) -> Result<Self, Error> {
        let mut told = Self {
            session,
            place,
            id: 0,
        };
        let label = format!("{} {}", question.verb, question.id);
        told.id = told.tell(Phase::Intent, Decision::Allowed, &label)?;
        Ok(told)
    }

    /// Tells the answer, and gives it.
    fn end(&self, given: &Given, refused: &dyn Fn(String) -> Error) -> Result<(), Error> {
        match given.yes {
            true => self
                .tell(Phase::Result, Decision::Allowed, &given.words())
                .map(drop),
            false => self.refuse_as(refused(format!("refused by {}", given.by)), &given.words()),
        }
    }

    fn refuse(&self, error: Error) -> Result<(), Error> {
        self.refuse_as(error, "no answer")
    }

    fn refuse_as(&self, error: Error, label: &str) -> Result<(), Error> {
        let decision = Decision::Refused {
            kind: error.kind(),
            why: error.detail(),
        };
        // What went wrong first is what the caller should know.
        drop(self.tell(Phase::Result, decision, label));
        Err(error)
    }

    /// Tells of an answer that was refused.
    fn attempt(&self, who: &str) {
        let decision = Decision::Refused {
            kind: ErrorKind::Denied,
            why: format!("an answer was refused: {who}"),
        };
        drop(self.tell(Phase::Result, decision, "answer refused"));
    }

    fn tell(&self, phase: Phase, decision: Decision, label: &str) -> Result<u64, Error> {
        let Some(recorder) = self.session.caller().recorder_for(true) else {
            return Ok(0);
        };
        let base = &self.place.mount.base;
        let path = self.place.full();
        let label = label_of(label)?;
        let mut event = Event::begin(Verb::Ask, path.as_rel(), base.identity(), base.backend());
        event.actor = self.session.caller().told_actor();
        event.process = self.session.caller().told_process();
        event.destination = Some(&label);
        event.decision = decision;
        event.phase = phase;
        if phase == Phase::Result {
            event.op_id = self.id;
        }
        recorder
            .record(&event)
            .map_err(|refused| not_recorded(&refused))?;
        Ok(event.op_id)
    }
}

/// The label of an event is one name. What does not fit is cut, and the label says so.
pub(crate) fn label_of(text: &str) -> Result<RelPath, Error> {
    let plain = text.chars().map(|c| match c {
        '/' | '\0' => '|',
        c => c,
    });
    let mut label: String = plain.clone().take(MAX_LABEL).collect();
    if plain.count() > MAX_LABEL {
        label.pop();
        label.push('…');
    }
    Ok(RelPath::from(&Name::parse(label)?))
}

/// The object is not the one that a person was asked about.
pub(crate) fn changed_meanwhile() -> Error {
    Error::refused(
        ErrorKind::Denied,
        "it changed while a person was asked about it; try again",
    )
    .because(Reason::NotGranted)
}
