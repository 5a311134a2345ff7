//! Names, contents and requests that were made to break pages.

use super::support::{Place, hex};

const NAMES: [&str; 5] = [
    "/<img src=x onerror=alert(1)>",
    "/\"><script>alert(1)",
    "/' onmouseover='alert(1)",
    "/&lt;script&gt;\u{202e}gpj.exe",
    "/line\nbreak\u{1b}[2J",
];

pub(crate) fn names_and_contents_stay_text() {
    let place = Place::new();
    let session = place.session();
    for name in NAMES {
        session
            .write(name, "</code></table><script>alert(1)</script>\u{202e}\n")
            .unwrap();
    }
    let browser = place.page().entered();
    let mut pages = vec![browser.get("/s/s").body];
    for name in NAMES {
        pages.push(browser.get(&format!("/s/s/file?path={}", hex(name))).body);
        let mark = browser.mark(name);
        pages.push(browser.plan(&[("accept", &mark)]).body);
    }
    for page in pages {
        assert_eq!(page.matches("<script").count(), 1, "{page}");
        for wrong in ["<img src=x", "onmouseover='", "\u{202e}", "\u{1b}"] {
            assert!(!page.contains(wrong), "{wrong:?} in {page}");
        }
        assert!(page.ends_with("</script></body></html>"));
    }
    let plan = browser.plan(&[("all", "1")]);
    assert_eq!(browser.commit(&plan).status, 200);
    assert!(place.base(&NAMES[4][1..]).is_some());
}

pub(crate) fn nonsense_is_answered() {
    let place = Place::new();
    place.session().write("/short.txt", "new\n").unwrap();
    let browser = place.page().entered();
    for path in [
        "/s/s/file",
        "/s/s/file?path=zz",
        "/s/s/file?path=2e2e2f2e2e2f657463",
        "/s/s/file?path=6",
        "/s/../../etc/passwd",
        "/s/%2e%2e",
        "/s/s/file?path=73686f72742e747874&skip=99999999999999999999",
        "/s/s?skip=18446744073709551615",
        "/s/s/image?path=73686f72742e747874&side=after&digest=0",
        "/favicon.ico",
    ] {
        let answer = browser.get(path);
        assert!((200..500).contains(&answer.status), "{path}: {answer:?}");
        assert!(!answer.body.contains("root:"), "{path}");
    }
    for (path, body) in [
        ("/commit", "plan=%00"),
        ("/plan", "session=s"),
        ("/plan", "session=s&accept=x"),
        ("/plan", "session=s&accept=x+y"),
        ("/plan", "session=s&hunk=0"),
        ("/undo", "session=s&seal="),
        ("/reject", "session=s&path=&seal=&text=x"),
        ("/nothing", ""),
    ] {
        let answer = browser.post_text(path, body);
        assert!(
            (400..500).contains(&answer.status),
            "{path} {body}: {answer:?}"
        );
    }
    let long = "a".repeat(2 << 20);
    let answer = browser.post_text("/plan", &long);
    assert!(matches!(answer.status, 413 | 0), "{answer:?}");
    let head = format!("PUT / HTTP/1.1\r\nHost: {}\r\n", browser.host);
    assert_eq!(browser.raw(&head, "").status, 403);
    // It is still there, and nothing was committed.
    assert_eq!(browser.get("/s/s").status, 200);
    assert_eq!(place.base("short.txt").unwrap(), "old\n");
}
