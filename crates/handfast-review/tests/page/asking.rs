//! Requests that wait for a person, asked by a process of their own and answered on the page.

use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use handfast_ledger::{Context, CreateOptions, Ledger, LedgerRecorder, OpenOptions};
use handfast_review::protocol::{KeeperReply, Request};
use handfast_session::{Caller, Catalogue, Mode, MountSpec, Protect, SessionSpec, VirtualPath};

use super::support::{Browser, Place, hidden, own};

/// The program that asks: it reads a file of the session `asks`, and says how that ended. Where a log is
/// named, it records what it does.
pub(crate) fn be_the_asker(args: &[String]) -> ExitCode {
    // An answer never comes from the terminal of the program that asks: this one has none.
    let _ = rustix::process::setsid();
    let catalogue = Catalogue::open_ambient(&args[1]).unwrap();
    let mut caller = Caller::new("robot\u{202e}<b>");
    if let Some(log) = args.get(2) {
        let ledger = Arc::new(Ledger::open(log, OpenOptions::new()).unwrap());
        let recorder = LedgerRecorder::new(ledger, Context::new()).unwrap();
        caller = caller.recorder(Arc::new(recorder));
    }
    let session = catalogue.open("asks", caller).unwrap();
    match session.read("/secret.txt") {
        Ok(content) => println!("read {}", String::from_utf8_lossy(&content)),
        Err(error) => println!("refused {}", error.detail()),
    }
    ExitCode::SUCCESS
}

fn asking(place: &Place, timeout: Duration) {
    std::fs::create_dir(place.dir.join("asked")).unwrap();
    std::fs::write(place.dir.join("asked/secret.txt"), "secret\n").unwrap();
    let mount = MountSpec::new(place.dir.join("asked"), VirtualPath::root()).mode(Mode::Overlay);
    let mount = mount.protect(Protect::new().with_ask("secret.txt"));
    let spec = SessionSpec::new().mount(mount).ask_timeout(timeout);
    place.catalogue().create("asks", &spec).unwrap();
}

fn ask(place: &Place) -> Child {
    let mut command: Command = own("asker");
    command.arg(place.dir.join("state")).stdout(Stdio::piped());
    command.spawn().unwrap()
}

fn outcome(child: Child) -> String {
    String::from_utf8(child.wait_with_output().unwrap().stdout).unwrap()
}

/// The page, once it has this in it.
fn until(browser: &Browser, wanted: &str) -> String {
    let deadline = Instant::now() + Duration::from_secs(60);
    loop {
        let body = browser.get("/inbox").body;
        if body.contains(wanted) {
            return body;
        }
        assert!(Instant::now() < deadline, "no {wanted}: {body}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn give(browser: &Browser, digest: &str, yes: &str, scope: &str) -> u16 {
    let fields = [
        ("session", "asks"),
        ("id", digest.get(..16).unwrap_or(digest)),
        ("digest", digest),
        ("yes", yes),
        ("scope", scope),
    ];
    browser.post("/answer", &fields).status
}

pub(crate) fn a_question_is_answered_on_the_page() {
    let place = Place::new();
    asking(&place, Duration::from_secs(120));
    let browser = place.page().entered();
    let child = ask(&place);
    let page = until(&browser, "1 request waits");
    // What exactly is asked: the path, the one who asks, the object and its content.
    let digest = "<dt>SHA-256</dt>";
    for wanted in ["/secret.txt", "robot", "inode", digest, "secret.txt"] {
        assert!(page.contains(wanted), "{wanted}: {page}");
    }
    assert!(page.contains("robot\\u{202e}&lt;b&gt;"), "{page}");
    let named = hidden(&page, "digest");
    assert_eq!(hidden(&page, "id"), named[..16]);
    // Made up, shortened, or with a scope that is none: refused, and it waits on.
    assert_eq!(give(&browser, &"0".repeat(64), "1", "once"), 403);
    assert_eq!(give(&browser, &named[..16], "1", "once"), 403);
    assert_eq!(give(&browser, &named, "1", "always"), 422);
    assert!(browser.get("/").body.contains("1 question waits"));
    assert_eq!(give(&browser, &named, "1", "once"), 200);
    assert_eq!(outcome(child), "read secret\n\n");
    // A second click comes too late.
    assert_eq!(give(&browser, &named, "1", "once"), 409);
    assert!(browser.get("/inbox").body.contains("allowed here, once"));

    // Once was once. A no is a no, and what is no yes is a no.
    let child = ask(&place);
    let named = hidden(&until(&browser, "1 request waits"), "digest");
    assert_eq!(give(&browser, &named, "yes", "once"), 200);
    assert!(outcome(child).starts_with("refused"));

    // For this file: the next one is not asked, until the answer is taken back.
    let child = ask(&place);
    let named = hidden(&until(&browser, "1 request waits"), "digest");
    assert_eq!(give(&browser, &named, "1", "file"), 200);
    assert_eq!(outcome(child), "read secret\n\n");
    assert_eq!(outcome(ask(&place)), "read secret\n\n");
    let kept = until(&browser, "Answers that hold");
    let id = hidden(&kept, "id");
    let fields = [("session", "asks"), ("id", id.as_str())];
    assert_eq!(browser.post("/take-back", &fields).status, 200);
    let mut child = ask(&place);
    until(&browser, "1 request waits");
    child.kill().unwrap();
    child.wait().unwrap();
    until(&browser, "answered elsewhere, or given up");
}

pub(crate) fn a_question_that_nobody_answers_times_out() {
    let place = Place::new();
    asking(&place, Duration::from_secs(4));
    let browser = place.page().entered();
    let child = ask(&place);
    let named = hidden(&until(&browser, "1 request waits"), "digest");
    assert!(outcome(child).starts_with("refused"));
    let page = until(&browser, "timed out: denied");
    assert!(page.contains("0 requests wait"), "{page}");
    assert_eq!(give(&browser, &named, "1", "session"), 409);
}

/// The object is another than the one that was shown: the yes was for the other one.
pub(crate) fn a_yes_is_for_what_was_shown() {
    let place = Place::new();
    asking(&place, Duration::from_secs(120));
    let browser = place.page().entered();
    let secret = place.dir.join("asked/secret.txt");
    // Written over while the person reads the question.
    let child = ask(&place);
    let named = hidden(&until(&browser, "1 request waits"), "digest");
    std::fs::write(&secret, "worse!\n").unwrap();
    assert_eq!(give(&browser, &named, "1", "once"), 200);
    let said = outcome(child);
    assert!(said.starts_with("refused it changed while"), "{said}");
    // Another file under the name.
    let child = ask(&place);
    let named = hidden(&until(&browser, "1 request waits"), "digest");
    std::fs::write(place.dir.join("asked/other"), "other\n").unwrap();
    std::fs::rename(place.dir.join("asked/other"), &secret).unwrap();
    assert_eq!(give(&browser, &named, "1", "once"), 200);
    let said = outcome(child);
    assert!(said.starts_with("refused it changed while"), "{said}");
}

/// Question and answer are events of the session that asks, with who answered.
pub(crate) fn an_answer_is_an_event_with_its_giver() {
    let place = Place::new();
    asking(&place, Duration::from_secs(120));
    let log = place.dir.join("log");
    CreateOptions::new().create(&log).unwrap();
    let browser = Browser::of(place.keeper().log(log.clone(), None)).entered();
    for (yes, words) in [
        ("1", "yes, once, by person (uid"),
        ("0", "no, once, by person (uid"),
    ] {
        let mut command = own("asker");
        command.arg(place.dir.join("state")).arg(&log);
        let child = command.stdout(Stdio::piped()).spawn().unwrap();
        let named = hidden(&until(&browser, "1 request waits"), "digest");
        assert_eq!(give(&browser, &named, yes, "once"), 200);
        outcome(child);
        let page = browser.get("/log").body;
        assert!(page.contains("verdict consistent"), "{page}");
        assert!(page.contains(words), "{words}: {page}");
        assert!(page.contains(&named[..16]), "{page}");
    }
}

/// A page's process that was taken over names questions that it was not sent, or not like that.
pub(crate) fn only_a_question_that_was_sent_is_answered() {
    let place = Place::new();
    asking(&place, Duration::from_secs(120));
    let child = ask(&place);
    let inbox = place.catalogue().inbox("asks").unwrap();
    let deadline = Instant::now() + Duration::from_secs(60);
    let question = loop {
        match inbox.questions().unwrap().pop() {
            Some(question) => break question,
            None => assert!(Instant::now() < deadline, "nothing is asked"),
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    let answer = |session: &str, id: &str, digest: &str| Request::Answer {
        session: session.to_owned(),
        id: id.to_owned(),
        digest: digest.to_owned(),
        yes: true,
        scope: "session".to_owned(),
    };
    let kind = |reply: KeeperReply| match reply {
        KeeperReply::Refused { kind, .. } => kind,
        other => panic!("answered: {other:?}"),
    };
    let (id, digest) = (question.id.as_str(), question.digest.as_str());
    let seen = Arc::new(Mutex::new(Vec::new()));
    let witness = Arc::clone(&seen);
    let mut keeper = place
        .keeper()
        .telling(move |line| witness.lock().unwrap().push(line.to_owned()));
    // It exists, and nobody was shown it.
    assert_eq!(kind(keeper.answer(&answer("asks", id, digest))), "Denied");
    // Shown by a keeper of another session only.
    let mut other = place.keeper().only("s");
    assert!(
        matches!(other.answer(&Request::Inbox), KeeperReply::Inbox(view) if view.waiting.is_empty())
    );
    assert_eq!(kind(other.answer(&answer("asks", id, digest))), "Denied");
    // Shown, and named as something else.
    assert!(
        matches!(keeper.answer(&Request::Inbox), KeeperReply::Inbox(view) if view.waiting.len() == 1)
    );
    let none = "0".repeat(16);
    for (session, id, digest) in [
        ("s", id, digest),
        ("asks", none.as_str(), digest),
        ("asks", "", digest),
        ("asks", id, id),
        ("asks", id, ""),
    ] {
        assert_eq!(kind(keeper.answer(&answer(session, id, digest))), "Denied");
    }
    let grant = Request::TakeBack {
        session: "asks".to_owned(),
        id: id.to_owned(),
    };
    assert_eq!(kind(keeper.answer(&grant)), "Denied");
    assert_eq!(inbox.questions().unwrap().len(), 1);
    assert!(inbox.grants().unwrap().is_empty());
    let reply = keeper.answer(&answer("asks", id, digest));
    assert!(matches!(reply, KeeperReply::Done(_)), "{reply:?}");
    // Where the keeper was started, a person sees all of it: the tries, and what was done.
    let seen = seen.lock().unwrap();
    assert_eq!(seen.len(), 8, "{seen:?}");
    let (last, tries) = seen.split_last().unwrap();
    assert!(
        tries.iter().all(|line| line.starts_with("refused: ")),
        "{seen:?}"
    );
    assert!(
        last.starts_with("asks: Allowed: read /secret.txt"),
        "{seen:?}"
    );
    assert_eq!(outcome(child), "read secret\n\n");
}
