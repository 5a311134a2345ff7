//! Reviewing: commits, hunks, undo, comments, and pages that are older than the session.

use std::sync::Arc;

use super::support::{Browser, Place, hex, hidden};
use handfast_ledger::{Context, CreateOptions, Ledger, LedgerRecorder, OpenOptions};
use handfast_review::keeper::Recorded;
use handfast_session::{Caller, Protect};

pub(crate) fn marked_paths_are_committed_and_taken_back() {
    let place = Place::new();
    let session = place.session();
    session.write("/short.txt", "new\n").unwrap();
    session.create_dir("/dir").unwrap();
    session.write("/dir/in.txt", "in\n").unwrap();
    session.write("/dir/out.txt", "out\n").unwrap();
    let browser = place.page().entered();
    assert!(browser.get("/").body.contains("4 changes wait"));
    let mark = browser.mark("/dir/in.txt");
    let plan = browser.plan(&[("accept", &mark)]);
    // What goes with it is shown before it is agreed to.
    assert!(plan.body.contains("These go with it"), "{}", plan.body);
    let done = browser.commit(&plan);
    assert_eq!(done.status, 200, "{}", done.body);
    assert_eq!(place.base("dir/in.txt").unwrap(), "in\n");
    assert_eq!(place.base("dir/out.txt"), None);
    assert_eq!(place.base("short.txt").unwrap(), "old\n");
    // A button that was pressed twice.
    assert_eq!(browser.commit(&plan).status, 403);

    let listing = browser.get("/s/s").body;
    let seal = hidden(&listing, "seal");
    let undone = browser.post("/undo", &[("session", "s"), ("seal", &seal)]);
    assert_eq!(undone.status, 200, "{}", undone.body);
    assert_eq!(place.base("dir/in.txt"), None);
    let again = browser.post("/undo", &[("session", "s"), ("seal", &seal)]);
    assert_eq!(again.status, 409, "{}", again.body);

    let plan = browser.plan(&[("all", "1")]);
    assert_eq!(browser.commit(&plan).status, 200);
    assert_eq!(place.base("dir/out.txt").unwrap(), "out\n");
    assert!(browser.get("/s/s").body.contains("0 changes wait"));
}

pub(crate) fn everything_names_nothing_that_a_rule_speaks_of() {
    let place = Place::protected(Protect::preset("workspace").unwrap());
    let session = place.session();
    session.write("/short.txt", "new\n").unwrap();
    session.write("/.envrc", "evil\n").unwrap();
    session.write("/.env.local", "secret\n").unwrap();
    let browser = place.page().entered();
    let plan = browser.plan(&[("all", "1")]);
    assert!(
        plan.body
            .contains("These stay in the session until they are marked themselves"),
        "{}",
        plan.body
    );
    assert!(plan.body.contains("Commit 1 path<"), "{}", plan.body);
    assert_eq!(browser.commit(&plan).status, 200);
    assert_eq!(place.base("short.txt").unwrap(), "new\n");
    assert_eq!(place.base(".envrc"), None);
    assert_eq!(place.base(".env.local"), None);
    // Nothing else is left, and "everything" does not mean it.
    let refused = browser.plan(&[("all", "1")]);
    assert_ne!(refused.status, 200);
    assert!(
        refused.body.contains("mark each one by itself"),
        "{}",
        refused.body
    );
    // Marked, it is what the person wants.
    let mark = browser.mark("/.envrc");
    let plan = browser.plan(&[("accept", &mark)]);
    assert_eq!(browser.commit(&plan).status, 200);
    assert_eq!(place.base(".envrc").unwrap(), "evil\n");
    assert_eq!(place.base(".env.local"), None);
}

/// The IDs of the hunks of a file.
fn hunks(browser: &Browser, path: &str) -> Vec<String> {
    let body = browser.get(&format!("/s/s/file?path={}", hex(path))).body;
    let boxes = body.split("name=hunk id=m").skip(1);
    let id = |text: &str| text.split('"').nth(1).unwrap().to_owned();
    boxes.map(id).collect()
}

fn change_two_places(place: &Place) {
    let old = place.base("long.txt").unwrap();
    let new = old
        .replace("line 5\n", "five\n")
        .replace("line 50\n", "fifty\n");
    place.session().write("/long.txt", new).unwrap();
}

pub(crate) fn a_hunk_is_committed_alone() {
    let place = Place::new();
    change_two_places(&place);
    let browser = place.page().entered();
    let ids = hunks(&browser, "/long.txt");
    assert_eq!(ids.len(), 2);
    let plan = browser.plan(&[("hunk", &ids[1])]);
    assert!(plan.body.contains("fifty") && !plan.body.contains("five"));
    let done = browser.commit(&plan);
    assert_eq!(done.status, 200, "{}", done.body);
    let base = place.base("long.txt").unwrap();
    assert!(base.contains("fifty") && !base.contains("five"));
    let split = browser.get(&format!("/s/s/file?path={}&view=split", hex("/long.txt")));
    assert!(split.body.contains("diff split"));
}

pub(crate) fn a_stale_click_does_nothing() {
    let place = Place::new();
    let session = place.session();
    session.write("/short.txt", "shown\n").unwrap();
    change_two_places(&place);
    let browser = place.page().entered();
    let mark = browser.mark("/short.txt");
    let ids = hunks(&browser, "/long.txt");
    let plan = browser.plan(&[("accept", &mark), ("hunk", &ids[0])]);
    let mut both = [plan.status, 0];
    // The agent goes on writing between the page and the click.
    session.write("/short.txt", "never seen\n").unwrap();
    let late = browser.commit(&plan);
    both[1] = late.status;
    assert_eq!(both, [200, 409], "{}", late.body);
    assert!(late.body.contains("Nothing was done"), "{}", late.body);
    // The same for a mark, a hunk and a comment on an old page.
    assert_eq!(browser.plan(&[("accept", &mark)]).status, 409);
    session.write("/long.txt", "other\n").unwrap();
    assert_eq!(browser.plan(&[("hunk", &ids[0])]).status, 409);
    let (seal, key) = mark.split_once(' ').unwrap();
    let fields = [
        ("session", "s"),
        ("path", key),
        ("seal", seal),
        ("text", "no"),
    ];
    assert_eq!(browser.post("/reject", &fields).status, 409);
    // Others change the base.
    let mark = browser.mark("/short.txt");
    let plan = browser.plan(&[("accept", &mark)]);
    std::fs::write(place.dir.join("base/short.txt"), "theirs\n").unwrap();
    assert_eq!(browser.commit(&plan).status, 409);
    assert_eq!(place.base("short.txt").unwrap(), "theirs\n");
    assert!(place.base("long.txt").unwrap().contains("line 5\n"));
    assert!(session.comments().unwrap().is_empty());
}

pub(crate) fn two_reviewers_do_not_commit_twice() {
    let place = Place::new();
    place.session().write("/short.txt", "new\n").unwrap();
    let (one, two) = (place.page().entered(), place.page().entered());
    let plans = [&one, &two].map(|browser| {
        let mark = browser.mark("/short.txt");
        browser.plan(&[("accept", &mark)])
    });
    // The plan of one is nothing to the other before that one was shown it.
    assert_eq!(one.commit(&plans[0]).status, 200);
    let late = two.commit(&plans[1]);
    assert_eq!(late.status, 409, "{}", late.body);
    assert_eq!(place.session().past_commits().unwrap().len(), 1);
}

pub(crate) fn a_comment_is_kept_for_the_agent() {
    let place = Place::new();
    change_two_places(&place);
    let browser = place.page().entered();
    let ids = hunks(&browser, "/long.txt");
    let mark = browser.mark("/long.txt");
    let (seal, key) = mark.split_once(' ').unwrap();
    let text = "not like <b>this</b>\u{202e}";
    let fields = [
        ("session", "s"),
        ("path", key),
        ("seal", seal),
        ("hunk", ids[0].as_str()),
        ("text", text),
    ];
    let kept = browser.post("/reject", &fields);
    assert_eq!(kept.status, 200, "{}", kept.body);
    let empty = [
        ("session", "s"),
        ("path", key),
        ("seal", seal),
        ("text", " "),
    ];
    assert_eq!(browser.post("/reject", &empty).status, 422);
    let comments = place.session().comments().unwrap();
    assert_eq!(comments.len(), 1);
    let comment = &comments[0];
    assert_eq!(
        (comment.by.as_str(), comment.text.as_str()),
        ("person", text)
    );
    assert_eq!(comment.hunk.as_ref(), Some(&ids[0]));
    let shown = browser.get("/s/s").body;
    assert!(
        shown.contains("&lt;b&gt;this&lt;/b&gt;&lt;U+202E&gt;"),
        "{shown}"
    );
    assert!(!shown.contains("changed since"));
    // Once the agent changed the file, the comment is about another content; then it is answered.
    place.session().write("/long.txt", "better\n").unwrap();
    assert!(
        browser
            .get("/s/s")
            .body
            .contains("the file was changed since")
    );
    let mark = browser.mark("/long.txt");
    browser.commit(&browser.plan(&[("accept", &mark)]));
    assert!(place.session().comments().unwrap().is_empty());
}

pub(crate) fn what_is_long_is_said_to_be_missing() {
    let place = Place::new();
    let session = place.session();
    let many: String = (0..7000).map(|line| format!("new {line}\n")).collect();
    session.write("/many.txt", many).unwrap();
    session.write("/wide.txt", "x".repeat(9000)).unwrap();
    session.write("/big.txt", "y\n".repeat(900_000)).unwrap();
    for number in 0..250 {
        session
            .write(format!("/z{number:03}").as_str(), "z")
            .unwrap();
    }
    let browser = place.page().entered();
    let file = |path: &str, more: &str| {
        browser
            .get(&format!("/s/s/file?path={}{more}", hex(path)))
            .body
    };
    let first = file("/many.txt", "");
    assert!(first.contains("3000 of 7000 lines; the others are not shown here"));
    assert!(first.contains("new 2999") && !first.contains("new 3000"));
    assert!(file("/many.txt", "&skip=6000").contains("new 6999"));
    assert!(file("/wide.txt", "").contains("not shown: 5000 more bytes of this line"));
    assert!(!file("/wide.txt", "&full=1").contains("not shown"));
    assert!(file("/big.txt", "").contains("1800000 bytes of text are not shown"));
    assert!(file("/big.txt", "&full=1").contains("3000 of 900000 lines"));
    let listing = browser.get("/s/s").body;
    assert!(listing.contains("1 to 200 of 253; 53 not shown here"));
    assert!(browser.get("/s/s?skip=200").body.contains("z249"));
}

pub(crate) fn images_are_served_as_images_only() {
    let place = Place::new();
    let session = place.session();
    let png = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR<script>\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0";
    session.write("/a.png", png).unwrap();
    session.write("/b.svg", "<svg onload=alert(1)>").unwrap();
    let browser = place.page().entered();
    let body = browser
        .get(&format!("/s/s/file?path={}", hex("/a.png")))
        .body;
    let at = body.find("/s/s/image").unwrap();
    let address = body[at..].split('"').next().unwrap().replace("&amp;", "&");
    let image = browser.get(&address);
    assert_eq!(image.status, 200);
    assert!(
        image.head.contains("content-type: image/png"),
        "{}",
        image.head
    );
    assert!(
        image.head.contains("default-src 'none'; sandbox"),
        "{}",
        image.head
    );
    let svg = browser
        .get(&format!("/s/s/file?path={}", hex("/b.svg")))
        .body;
    assert!(!svg.contains("/image?") && svg.contains("&lt;svg onload"));
    // Another file under the same name is not what the page is about.
    session.write("/a.png", "\u{89}PNG").unwrap();
    assert_eq!(browser.get(&address).status, 409);
}

pub(crate) fn a_tampered_log_is_shown_as_tampered() {
    let place = Place::new();
    let log = place.dir.join("log");
    CreateOptions::new().create(&log).unwrap();
    let ledger = Arc::new(Ledger::open(&log, OpenOptions::new()).unwrap());
    let recorder = LedgerRecorder::new(Arc::clone(&ledger), Context::new()).unwrap();
    let caller = handfast_session::Caller::new("robot").recorder(Arc::new(recorder));
    let session = place.session().for_caller(caller);
    session.write("/short.txt", "new\n").unwrap();
    drop(session);
    drop(ledger);
    let browser = Browser::of(place.keeper().log(log.clone(), None)).entered();
    let good = browser.get("/log").body;
    assert!(
        good.contains("verdict consistent") && good.contains("short.txt"),
        "{good}"
    );
    let segments = std::fs::read_dir(log.join("segments")).unwrap();
    for segment in segments.map(|entry| entry.unwrap().path()) {
        let mut bytes = std::fs::read(&segment).unwrap();
        let at = bytes
            .windows(9)
            .position(|text| text == b"short.txt")
            .unwrap();
        bytes[at] = b'S';
        std::fs::write(&segment, bytes).unwrap();
    }
    let bad = browser.get("/log").body;
    assert!(bad.contains("verdict tampered"), "{bad}");
}

pub(crate) fn a_comment_is_in_the_log() {
    let place = Place::new();
    place.session().write("/short.txt", "new\n").unwrap();
    let log = place.dir.join("log");
    CreateOptions::new().create(&log).unwrap();
    let dir = log.clone();
    let keeper = place.keeper().log(log, None).recording(move || {
        let ledger = Arc::new(Ledger::open(&dir, OpenOptions::new()).unwrap());
        let recorder = LedgerRecorder::new(Arc::clone(&ledger), Context::new()).unwrap();
        Ok(Recorded {
            caller: Caller::new("person").recorder(Arc::new(recorder)),
            guard: Box::new(ledger),
        })
    });
    let browser = Browser::of(keeper).entered();
    let mark = browser.mark("/short.txt");
    let (seal, key) = mark.split_once(' ').unwrap();
    let fields = [
        ("session", "s"),
        ("path", key),
        ("seal", seal),
        ("text", "not <i>so</i>"),
    ];
    assert_eq!(browser.post("/reject", &fields).status, 200);
    let page = browser.get("/log").body;
    assert!(page.contains("verdict consistent"), "{page}");
    let wanted = "rejected by the reviewer: not &lt;i&gt;so&lt;/i&gt;";
    assert!(page.contains(wanted) && page.contains("person"), "{page}");
    assert!(page.contains("short.txt"), "{page}");
    // One that is refused leaves none.
    let empty = [
        ("session", "s"),
        ("path", key),
        ("seal", seal),
        ("text", " "),
    ];
    assert_eq!(browser.post("/reject", &empty).status, 422);
    assert_eq!(browser.get("/log").body.matches("rejected by").count(), 1);
}
