//! Who comes in.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

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
        let head = format!(
            "POST {}/commit HTTP/1.1\r\n{head}Cookie: {cookie}\r\n",
            browser.path
        );
        assert_eq!(browser.raw(&head, &body).status, status, "{head}");
    }
    // The right origin, without the cookie or with a wrong one.
    for cookie in ["", "Cookie: handfast-review=0\r\n"] {
        let head = format!(
            "POST {}/commit HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\n{cookie}",
            browser.path
        );
        assert_eq!(browser.raw(&head, &body).status, 403, "{head}");
    }
    // The cookie without the path that it is for, as another server of this machine might have got it.
    for line in ["GET /s/s", "POST /commit", "GET //s/s"] {
        let head = format!(
            "{line} HTTP/1.1\r\nHost: {host}\r\nOrigin: http://{host}\r\nCookie: {cookie}\r\n"
        );
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

/// Strangers who send many requests at once, and read no answer, keep no seat.
pub(crate) fn a_connection_is_for_one_request() {
    let place = Place::new();
    let browser = place.page().entered();
    let mut stream = TcpStream::connect(&browser.host).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    let request = format!("GET / HTTP/1.1\r\nHost: {}\r\n\r\n", browser.host);
    drop(stream.write_all(request.repeat(100).as_bytes()));
    let mut answers = Vec::new();
    // Closed with requests unread, which a client may see as a reset.
    drop(stream.read_to_end(&mut answers));
    let answers = String::from_utf8_lossy(&answers);
    assert_eq!(answers.matches("HTTP/1.1 ").count(), 1, "{answers}");
}
