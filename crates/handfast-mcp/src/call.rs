//! One call of a tool: arguments, place, act, and the log.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use handfast::files::Files;
use handfast::{Durability, ErrorKind, RelPath, Verb, Version, WriteOptions};
use handfast_archive::Telling;
use handfast_session::{Asker, Changed, Comment, Error, Session, VirtualPath, Wanted};
use serde_json::Value;

use crate::answer::ToolResult;
use crate::log::CallLog;
use crate::person::{self, CallAsker};
use crate::place::Location;
use crate::schema::Tool;
use crate::seen::Shown;
use crate::server::Server;
use crate::subscriptions::Subscriptions;
use crate::tools;
use crate::trouble::Trouble;
use crate::view::ClientView;

/// Who waits for a call.
pub(crate) trait Watcher {
    /// Hears how much was done, and says whether nobody waits any more.
    fn is_cancelled(&self, done: usize) -> bool;

    /// Sends a request of ours to the client, and waits for the answer: `None` where there is no way
    /// to the client, and where it does not answer.
    fn ask(&self, method: &str, params: &Value) -> Option<Value> {
        let _ = (method, params);
        None
    }

    /// The person in front of the client, where one can be asked from any thread.
    fn person(&self) -> Option<&dyn Person> {
        None
    }

    /// The connection, for a call that waits for a person.
    fn line(&self) -> Option<Arc<dyn Line>> {
        None
    }

    /// What the client wants to hear of, where it can be told.
    fn subscriptions(&self) -> Option<&Subscriptions> {
        None
    }
}

/// The person in front of a client.
pub(crate) trait Person: Sync {
    /// Sends a request to the client, and waits for the answer until the question is over.
    fn ask_until(&self, method: &str, params: &Value, over: &AtomicBool) -> Option<Value>;
}

/// The connection of a call that waits for a person. The session holds it meanwhile, so it borrows nothing.
pub(crate) trait Line: Send + Sync {
    /// Whether nobody waits for the call any more.
    fn is_gone(&self) -> bool;

    /// The call waits from now on, and holds up no other call.
    fn pause(&self) {}

    /// The call goes on, when it is its turn.
    fn resume(&self) {}

    /// The process that started the server for itself: it may not answer, nor may what it started.
    fn client_process(&self) -> Option<u32> {
        None
    }
}

/// Nobody hears of progress, and nothing is cancelled.
pub(crate) struct Nobody;

impl Watcher for Nobody {
    fn is_cancelled(&self, _done: usize) -> bool {
        false
    }
}

/// On whose behalf a tool is called.
#[derive(Clone, Copy)]
pub(crate) struct Asking<'a> {
    pub(crate) view: &'a ClientView,
    pub(crate) client: &'a str,
    pub(crate) watcher: &'a dyn Watcher,
    /// The client can ask the person in front of it.
    pub(crate) elicits: bool,
}

/// A place to go on from, as text.
pub(crate) fn cursor(at: &[u8]) -> String {
    URL_SAFE_NO_PAD.encode(at)
}

/// A call whose arguments were checked against the table.
pub(crate) struct Call<'a> {
    pub(crate) server: &'a Server,
    /// Who asks.
    pub(crate) client: &'a str,
    watcher: &'a dyn Watcher,
    elicits: bool,
    pub(crate) view: &'a ClientView,
    arguments: &'a Value,
    log: &'a CallLog,
    /// The session on behalf of this call.
    pub(crate) session: &'a Session,
    /// The files on behalf of this call.
    files: &'a dyn Files,
    /// The same for looking ahead of what is recorded.
    looking: &'a dyn Files,
    /// Says whether the session's rules allow a verb on a path.
    allowed: &'a dyn Fn(&RelPath, Verb) -> Result<(), Error>,
    /// Says where a path leads after links; see [`Call::resolved`].
    resolve: &'a dyn Fn(&VirtualPath) -> Result<VirtualPath, Error>,
}

/// What came of asking for a tool by name.
pub(crate) enum Called {
    Done(Box<Result<ToolResult, Trouble>>),
    /// There is no such tool.
    Unknown,
}

/// Calls a tool on behalf of a client. Whatever happens, the log has it before the answer leaves.
pub(crate) fn call(server: &Server, asking: Asking<'_>, name: &str, arguments: &Value) -> Called {
    server.listings().forget_old();
    let log = CallLog::begin(server.log(), asking.client, name);
    let found = server.tool(name);
    let outcome = match found {
        None => Err(Trouble::new(ErrorKind::Invalid, "there is no such tool")),
        Some(tool) => run(server, asking, &log, tool, arguments),
    };
    let outcome = log.finish(server, outcome, asked(arguments));
    if let Err(trouble) = &outcome {
        server.refusals().add(asking.client, name, trouble);
    }
    match found {
        None => Called::Unknown,
        Some(_) => Called::Done(Box::new(outcome)),
    }
}

/// Does something else than a tool on behalf of a client, under a name for the log.
pub(crate) fn perform<T>(
    server: &Server,
    asking: Asking<'_>,
    name: &str,
    path: &str,
    mut act: impl FnMut(&Call<'_>) -> Result<T, Trouble>,
) -> Result<T, Trouble> {
    let log = CallLog::begin(server.log(), asking.client, name);
    let outcome = on_behalf(server, asking, &log, &Value::Null, &mut act);
    let outcome = log.finish(server, outcome, path);
    if let Err(trouble) = &outcome {
        server.refusals().add(asking.client, name, trouble);
    }
    outcome
}

/// Looks at something on behalf of a client without being asked by it just now. The log does not hear of it:
/// nothing of what is seen is given out but that it changed.
pub(crate) fn look<T>(
    server: &Server,
    asking: Asking<'_>,
    mut act: impl FnMut(&Call<'_>) -> Result<T, Trouble>,
) -> Result<T, Trouble> {
    let log = CallLog::begin(None, asking.client, "look");
    on_behalf(server, asking, &log, &Value::Null, &mut act)
}

/// The first path of a call, for the log.
fn asked(arguments: &Value) -> &str {
    let text = |name: &str| arguments.get(name).and_then(Value::as_str);
    text("path").or_else(|| text("source")).unwrap_or_default()
}

fn run(
    server: &Server,
    asking: Asking<'_>,
    log: &Arc<CallLog>,
    tool: &Tool,
    arguments: &Value,
) -> Result<ToolResult, Trouble> {
    let faults = tool.faults(arguments);
    if !faults.is_empty() {
        let text = format!(
            "Input validation error: Invalid arguments for tool {}: {}",
            tool.name,
            faults.join("\n")
        );
        return Err(Trouble::new(ErrorKind::Invalid, text));
    }
    if tool.changes() && server.is_read_only() {
        let text = "Access denied - this server is read-only; nothing was changed";
        return Err(Trouble::new(ErrorKind::Denied, text));
    }
    on_behalf(server, asking, log, arguments, &mut |call| {
        tools::run(tool.name, call)
    })
}

/// Opens the session for one call, and tries it a few times.
fn on_behalf<T>(
    server: &Server,
    asking: Asking<'_>,
    log: &Arc<CallLog>,
    arguments: &Value,
    act: &mut dyn FnMut(&Call<'_>) -> Result<T, Trouble>,
) -> Result<T, Trouble> {
    let Asking {
        view,
        client,
        watcher,
        elicits,
    } = asking;
    let caller = match view.narrowed {
        true => log.caller().scope(Arc::new(view.clone())),
        false => log.caller(),
    };
    let asker = Arc::new(CallAsker::new(watcher.line()));
    let caller = caller.asker(Arc::clone(&asker) as Arc<dyn Asker>);
    let caller = match server.session_name() {
        Some(_) => caller,
        // No command finds the questions of a session without a name.
        None => caller.without_asking(),
    };
    let session = server.session().for_caller(caller.clone());
    let call = Call {
        server,
        client,
        watcher,
        elicits,
        view,
        arguments,
        log,
        session: &session,
        files: &session,
        looking: &server.session().for_caller(caller.quiet().without_asking()),
        allowed: &|path, verb| {
            let said = session.explain(VirtualPath::from(path.clone()), Wanted(verb))?;
            match said.allowed {
                true => Ok(()),
                false => Err(Error::refused(ErrorKind::Denied, said.why)),
            }
        },
        resolve: &|path| {
            let said = session.explain(path, Wanted(Verb::Metadata))?;
            Ok(said.decided_on.unwrap_or_else(|| path.clone()))
        },
    };
    let person = watcher
        .person()
        .filter(|_| elicits && server.trusts_client() && server.asks());
    let outcome = match person {
        Some(person) => person::with_client(&asker, (server, person), (client, view), || {
            call.patiently(|| act(&call))
        }),
        None => call.patiently(|| act(&call)),
    };
    outcome.map_err(|trouble| asker.name_question(trouble, server.session_name()))
}

/// How long to wait before looking again.
const PAUSES: [Duration; 5] = [
    Duration::ZERO,
    Duration::from_micros(100),
    Duration::from_micros(400),
    Duration::from_millis(1),
    Duration::from_millis(2),
];

impl Call<'_> {
    /// Tries again a few times if a link was in the way: somebody may be changing the tree just
    /// now, and a call that only comes at a bad moment should not fail. Every try is decided again.
    pub(crate) fn patiently<T>(
        &self,
        mut act: impl FnMut() -> Result<T, Trouble>,
    ) -> Result<T, Trouble> {
        for pause in PAUSES {
            match self.log.trying(&mut act) {
                Err(trouble) if trouble.may_pass => std::thread::sleep(pause),
                done => return done,
            }
        }
        act()
    }

    /// The files, on behalf of this call. What is asked of them is in the log.
    pub(crate) fn files(&self) -> &dyn Files {
        self.files
    }

    /// Who hears of what is no verb of the session, and in whose name.
    pub(crate) fn telling(&self) -> Option<Telling<'_>> {
        self.log.telling()
    }

    /// Whether the session's rules allow a verb on a path.
    pub(crate) fn is_allowed(&self, path: &RelPath, verb: Verb) -> Result<(), Error> {
        (self.allowed)(path, verb)
    }

    /// The files for something that only looks: at entries of a listing that is in the log, or
    /// ahead of an operation that will be. An event for each would drown the log.
    pub(crate) fn looking(&self) -> &dyn Files {
        self.looking
    }

    /// A text argument; the table saw to it that required ones are there.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.optional_text(name).unwrap_or_default()
    }

    pub(crate) fn optional_text(&self, name: &str) -> Option<&str> {
        self.arguments.get(name).and_then(Value::as_str)
    }

    /// A number; 0 counts as absent.
    pub(crate) fn number(&self, name: &str) -> Option<f64> {
        let number = self.arguments.get(name).and_then(Value::as_f64);
        number.filter(|number| *number != 0.0)
    }

    /// A number as a count: fractions are dropped, and what is negative is 0.
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a saturating cast of what a client sent"
    )]
    pub(crate) fn count(&self, name: &str) -> Option<u64> {
        self.number(name).map(|number| number.max(0.0) as u64)
    }

    /// Where to go on, as an answer said it.
    pub(crate) fn cursor(&self) -> Result<Option<Vec<u8>>, Trouble> {
        let cursor = self.optional_text("cursor");
        let decoded = cursor.map(|text| URL_SAFE_NO_PAD.decode(text));
        decoded.transpose().map_err(|_| self.bad_cursor())
    }

    /// A cursor that this server did not give.
    pub(crate) fn bad_cursor(&self) -> Trouble {
        let text = "Input validation error: cursor is not one that this server gave as `next`";
        Trouble::new(ErrorKind::Invalid, text)
    }

    /// Whether nobody waits for the answer any more. `done` is how much was looked at so far.
    pub(crate) fn is_cancelled(&self, done: usize) -> bool {
        self.watcher.is_cancelled(done)
    }

    /// The caller is shown a part of a file.
    pub(crate) fn saw(&self, place: &Location, shown: Shown) {
        self.server.seen().part(self.client, &place.path, shown);
    }

    pub(crate) fn flag(&self, name: &str) -> bool {
        self.arguments.get(name).and_then(Value::as_bool) == Some(true)
    }

    pub(crate) fn texts(&self, name: &str) -> Vec<&str> {
        let items = self.arguments.get(name).and_then(Value::as_array);
        let items = items.map(Vec::as_slice).unwrap_or_default();
        items.iter().filter_map(Value::as_str).collect()
    }

    pub(crate) fn value(&self, name: &str) -> Option<&Value> {
        self.arguments.get(name)
    }

    /// The place that a path argument means.
    pub(crate) fn place(&self, argument: &str) -> Result<Location, Trouble> {
        self.place_of(self.text(argument))
    }

    /// The place that a path means: in the session, under the name that is there.
    pub(crate) fn place_of(&self, text: &str) -> Result<Location, Trouble> {
        self.settled(Location::parse(text, self.view, self.server.home())?)
    }

    /// The place of a path that was read already.
    pub(crate) fn place_at(&self, path: &VirtualPath) -> Result<Location, Trouble> {
        self.settled(Location::of(path, self.view)?)
    }

    fn settled(&self, place: Location) -> Result<Location, Trouble> {
        self.server.standing().check(&place.path, &place.shown)?;
        tools::equivalent::settle(self, place)
    }

    /// The path after links, for answers that name it. It may be old news by the
    /// time it is read: nothing is looked up by it.
    pub(crate) fn resolved(&self, place: &Location) -> Result<VirtualPath, Trouble> {
        (self.resolve)(&place.path).map_err(|error| self.trouble(&error, "realpath", place))
    }

    /// What waits in the overlay, as far as the caller may see it.
    pub(crate) fn changes(&self) -> Result<Vec<Changed>, Error> {
        let mut changes = self.session.diff()?;
        for change in &mut changes {
            self.hide_outside(&mut change.from);
        }
        Ok(changes)
    }

    /// Forgets where something was, if the client may not know that place.
    pub(crate) fn hide_outside(&self, from: &mut Option<VirtualPath>) {
        let is_outside = |from: &mut VirtualPath| self.view.holder(from).is_none();
        // Without roots of its own a client sees all that the operator grants.
        if self.view.narrowed {
            from.take_if(is_outside);
        }
    }

    /// Asks the person through the client, and waits; `None` if the client cannot, or nobody answers.
    pub(crate) fn elicit(&self, params: &Value) -> Option<Value> {
        if !self.elicits {
            return None;
        }
        let line = self.watcher.line();
        if let Some(line) = &line {
            line.pause();
        }
        let answer = self.watcher.ask("elicitation/create", params);
        if let Some(line) = &line {
            line.resume();
        }
        answer
    }

    /// Whether the client can ask the person in front of it.
    pub(crate) fn can_elicit(&self) -> bool {
        self.elicits
    }

    /// Has it in the log that a verb was refused, by somebody else than the session.
    pub(crate) fn tell_refused(&self, verb: Verb, why: &str) -> Result<(), Trouble> {
        self.log.tell_refused(self.server, verb, why)
    }

    /// What a reviewer said about what waits.
    pub(crate) fn comments(&self) -> Result<Vec<Comment>, Error> {
        self.session.comments()
    }

    /// The version that the caller expects, if it does.
    pub(crate) fn expected_version(&self) -> Result<Option<Version>, Trouble> {
        let parse = |text: &str| {
            text.parse().map_err(|_| {
                let text = "Input validation error: expectedVersion is not a version that this server gave; leave it out, or read the file again";
                Trouble::new(ErrorKind::Invalid, text)
            })
        };
        self.optional_text("expectedVersion").map(parse).transpose()
    }

    /// How content is written: whether the disk is waited for is the operator's choice.
    pub(crate) fn write_options(&self) -> WriteOptions {
        WriteOptions::new().durability(self.server.session().durability())
    }

    /// Whether the operator wants to wait for the disk although changes are kept in an overlay.
    pub(crate) fn waits_in_overlay(&self) -> bool {
        self.server.overlay().is_some() && self.server.session().durability() == Durability::Full
    }

    /// What there is to say about a change that is kept in an overlay.
    pub(crate) fn kept_apart(&self) -> Option<String> {
        self.server.overlay().map(|name| {
            format!("[Kept in the overlay of the session `{name}`: a person reviews it before it reaches the disk.]")
        })
    }

    pub(crate) fn trouble(&self, error: &Error, call: &str, place: &Location) -> Trouble {
        let mut trouble = Trouble::of(error, call, place, self.view);
        if error.kind() == ErrorKind::Stale {
            let now = self.looking().version(place.rel(), false);
            trouble.version = now.ok().map(Box::new);
        }
        trouble
    }
}
