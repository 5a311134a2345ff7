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

/// A comment from a text field, whose lines end as browsers end them.
pub(crate) fn a_comment_has_the_lines_that_were_typed() {
    let place = Place::new();
    place.session().write("/short.txt", "new\n").unwrap();
    let browser = place.page().entered();
    let mark = browser.mark("/short.txt");
    let (seal, key) = mark.split_once(' ').unwrap();
    let text = "one\r\ntwo\u{1b}]0;x\u{7}\u{202e}\0<b>";
    let fields = [
        ("session", "s"),
        ("path", key),
        ("seal", seal),
        ("text", text),
    ];
    assert_eq!(browser.post("/reject", &fields).status, 200);
    let kept = &place.session().comments().unwrap()[0];
    assert!(kept.text.starts_with("one\ntwo"), "{:?}", kept.text);
    let page = browser.get("/s/s").body;
    assert!(!page.contains("U+000D"), "{page}");
    let wanted = "one\ntwo&lt;U+001B&gt;]0;x&lt;U+0007&gt;&lt;U+202E&gt;&lt;U+0000&gt;&lt;b&gt;";
    assert!(page.contains(wanted), "{page}");
}

/// What is short in the session or in a form, and long once it is spelled out.
pub(crate) fn what_grows_is_cut_and_ends_nothing() {
    let place = Place::new();
    let session = place.session();
    session.write("/short.txt", "new\n").unwrap();
    // A script is shown whatever is in it.
    let hidden = format!("#!/bin/sh\n{}", "a\u{200b}".repeat(8 << 20));
    session.write("/hidden.txt", &hidden).unwrap();
    let numbers = format!("{}\n", "1 ".repeat(1990)).repeat(3000);
    session.write("/numbers.rs", &numbers).unwrap();
    let browser = place.page().entered();
    let full = |path: &str| browser.get(&format!("/s/s/file?path={}&full=1", hex(path)));
    let page = full("/hidden.txt");
    assert_eq!(page.status, 200);
    assert!(page.body.len() < 32 << 20, "{} bytes", page.body.len());
    let is_said = page.body.contains("more bytes of this line");
    let at = page.body.find("not shown").unwrap_or(0);
    assert!(
        is_said,
        "{}",
        page.body.chars().skip(at).take(300).collect::<String>()
    );
    let page = full("/numbers.rs");
    assert_eq!(page.status, 200);
    assert!(page.body.len() < 32 << 20, "{} bytes", page.body.len());
    assert!(page.body.contains("<i class=n>1</i>"));
    // A byte here is six between the processes.
    let long = format!("session=s&text={}", "\u{1}".repeat(1_000_000));
    let answer = browser.post_text("/reject", &long);
    assert_eq!(answer.status, 413, "{}", answer.head);
    assert_eq!(browser.get("/s/s").status, 200);
}
