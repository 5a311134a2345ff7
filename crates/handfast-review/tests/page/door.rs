//! Who comes in.

use super::support::{Browser, Place};

pub(crate) fn the_token_is_good_once() {
    let place = Place::new();
    let browser = place.page();
    assert_eq!(browser.post_text("/enter", "").status, 403);
    assert_eq!(browser.post_text("/enter", &"0".repeat(64)).status, 403);
    // Without the cookie there is nothing to see.
    assert!(!browser.get("/").body.contains("Sessions"));
    assert_eq!(browser.get("/s/s").status, 403);
    assert_eq!(browser.post("/undo", &[("session", "s")]).status, 403);
    let browser = browser.entered();
    assert_eq!(browser.get("/s/s").status, 200);
    let again = browser.token.clone();
    assert_eq!(browser.post_text("/enter", &again).status, 403);
}

pub(crate) fn others_are_turned_away() {
    let place = Place::new();
    place.session().write("/short.txt", "new\n").unwrap();
    let browser = place.page().entered();
    let mark = browser.mark("/short.txt");
    let plan = browser.plan(&[("accept", &mark)]);
    let plan = super::support::hidden(&plan.body, "plan");
    let body = format!("session=s&plan={plan}&message=");
    let (host, cookie) = (&browser.host, &browser.cookie);
    let port = host.split(':').next_back().unwrap();
    let heads = [
        // No origin, foreign ones, another port of this machine.
        (format!("Host: {host}\r\n"), 403),
        (format!("Host: {host}\r\nOrigin: null\r\n"), 403),
        (
            format!("Host: {host}\r\nOrigin: http://evil.example\r\n"),
            403,
        ),
        (
            format!("Host: {host}\r\nOrigin: http://127.0.0.1:{port}\r\n"),
            403,
        ),
        (format!("Host: {host}\r\nOrigin: https://{host}\r\n"), 403),
        (
            format!("Host: {host}\r\nOrigin: http://{host}\r\nSec-Fetch-Site: cross-site\r\n"),
            403,
        ),
        // A name that somebody made lead here.
        (
            format!("Host: evil.example:{port}\r\nOrigin: http://{host}\r\n"),
            421,
        ),
        (
            format!("Host: localhost:{port}\r\nOrigin: http://{host}\r\n"),
            421,
        ),
    ];
    for (head, status) in heads {
        let head = format!("POST /commit HTTP/1.1\r\n{head}Cookie: {cookie}\r\n");
        assert_eq!(browser.raw(&head, &body).status, status, "{head}");
    }
    // The right origin, without the cookie or with a wrong one.
    for cookie in ["", "Cookie: handfast-review=0\r\n"] {
        let head =
            format!("POST /commit HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n{cookie}");
        assert_eq!(browser.raw(&head, &body).status, 403, "{head}");
    }
    assert_eq!(place.base("short.txt").unwrap(), "old\n");
    // The same with everything right is done.
    assert_eq!(browser.post_text("/commit", &body).status, 200);
    assert_eq!(place.base("short.txt").unwrap(), "new\n");
}

pub(crate) fn every_answer_has_its_headers() {
    let place = Place::new();
    let browser = place.page();
    let entry = browser.get("/");
    let browser: Browser = browser.entered();
    for answer in [
        entry,
        browser.get("/s/s"),
        browser.get("/nothing"),
        browser.get("/s/none"),
    ] {
        let head = &answer.head;
        for wanted in [
            "cache-control: no-store",
            "x-content-type-options: nosniff",
            "default-src 'none'",
            "script-src 'sha256-",
            "style-src 'sha256-",
            "frame-ancestors 'none'",
            "cross-origin-resource-policy: same-origin",
        ] {
            assert!(head.contains(wanted), "{wanted}: {head}");
        }
        assert!(!head.contains("unsafe"), "{head}");
        assert!(
            !answer.body.contains(&browser.cookie),
            "the cookie is in no page"
        );
    }
}

pub(crate) fn a_stolen_cookie_ends_with_the_page() {
    let place = Place::new();
    let browser = place.page().entered();
    let cookie = browser.cookie.clone();
    drop(browser);
    let mut next = place.page();
    next.cookie = cookie;
    assert_eq!(next.get("/s/s").status, 403);
}
