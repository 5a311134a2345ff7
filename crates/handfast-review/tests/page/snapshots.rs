//! Snapshots on the page, and requests that it turns away.

use handfast::ErrorKind;

use crate::support::{Browser, Place, hidden};

fn seal_of(body: &str, label: &str) -> String {
    let at = body.find(&format!("name=label value=\"{label}\"")).unwrap();
    hidden(&body[at..], "seal")
}

fn go_back(browser: &Browser, label: &str, seal: &str) -> u16 {
    let fields = [
        ("session", "s"),
        ("label", label),
        ("skip", "0"),
        ("seal", seal),
    ];
    browser.post("/go-back", &fields).status
}

pub(crate) fn a_snapshot_is_taken_and_gone_back_to() {
    let place = Place::new();
    let session = place.session();
    session.write("/short.txt", "first\n").unwrap();
    let browser = place.page().entered();
    let taken = browser.post("/snapshot", &[("session", "s"), ("label", "one")]);
    assert_eq!(taken.status, 200, "{taken:?}");
    let again = browser.post("/snapshot", &[("session", "s"), ("label", "one")]);
    assert_eq!(again.status, 422, "{again:?}");
    session.write("/short.txt", "second\n").unwrap();
    let shown = seal_of(&browser.get("/s/s").body, "one");
    // Nothing that was never sent, no other label under the seal, and nothing once the session changed.
    assert_eq!(go_back(&browser, "one", "00"), 403);
    assert_eq!(go_back(&browser, "two", &shown), 409);
    session.write("/short.txt", "third\n").unwrap();
    assert_eq!(go_back(&browser, "one", &shown), 409);
    assert_eq!(session.read("/short.txt").unwrap(), b"third\n");
    let shown = seal_of(&browser.get("/s/s").body, "one");
    assert_eq!(go_back(&browser, "one", &shown), 200);
    let session = place.session();
    assert_eq!(session.read("/short.txt").unwrap(), b"first\n");
    assert_eq!(place.base("short.txt").unwrap(), "old\n");
    // What it held is not lost.
    let kept = session.labels().unwrap();
    let kept = kept.iter().find(|label| label.starts_with("before-one-"));
    session.rollback(kept.unwrap()).unwrap();
    assert_eq!(session.read("/short.txt").unwrap(), b"third\n");
    let none = session.rollback("none").unwrap_err();
    assert_eq!(none.kind(), ErrorKind::NotFound);
}

/// The terminal hears of each of the first, then of fewer and fewer.
pub(crate) fn those_who_are_turned_away_are_told_of() {
    let place = Place::new();
    let (tell, told) = std::sync::mpsc::channel();
    let keeper = place
        .keeper()
        .telling(move |line| drop(tell.send(line.to_owned())));
    let browser = Browser::of(keeper);
    let head = format!("GET /inbox HTTP/1.1\r\nHost: {}\r\n", browser.host);
    for _ in 0..70 {
        assert_eq!(browser.raw(&head, "").status, 403);
    }
    let foreign = format!("POST /answer HTTP/1.1\r\nHost: {}\r\n", browser.host);
    assert_eq!(browser.raw(&foreign, "").status, 403);
    assert_eq!(browser.post_text("/enter", "wrong").status, 403);
    // The reviewer is none of them.
    let browser = browser.entered();
    assert_eq!(browser.get("/s/s").status, 200);
    drop(browser);
    let told: Vec<String> = told.iter().collect();
    // The first 20, the 32nd and the 64th.
    assert_eq!(told.len(), 22, "{told:?}");
    assert!(told.iter().all(|line| line.contains("cookie")), "{told:?}");
    assert!(told[21].contains("64 so far"), "{told:?}");
}
