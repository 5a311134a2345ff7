//! Pages that are told of changes, and what connections may take.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use handfast_review::protocol::Limits;
use socket2::SockRef;

use super::support::{Browser, Place, hex};

const LONG: Duration = Duration::from_secs(60);

/// A browser's connection for news.
struct Stream(BufReader<TcpStream>);

impl Stream {
    fn open(browser: &Browser, query: &str) -> Self {
        let mut stream = TcpStream::connect(&browser.host).unwrap();
        stream.set_read_timeout(Some(LONG)).unwrap();
        let head = format!(
            "GET {}/news?{query} HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\n\r\n",
            browser.path, browser.host, browser.cookie
        );
        stream.write_all(head.as_bytes()).unwrap();
        let mut stream = Self(BufReader::new(stream));
        let head = stream.until("retry").unwrap();
        assert!(head.starts_with("HTTP/1.1 200"), "{head}");
        assert!(head.contains("content-type: text/event-stream"), "{head}");
        stream
    }

    /// Everything up to a line with this in it; nothing if the connection ended before.
    fn until(&mut self, wanted: &str) -> Option<String> {
        let (mut all, begun) = (String::new(), Instant::now());
        loop {
            assert!(begun.elapsed() < LONG, "no `{wanted}` came: {all}");
            let mut line = String::new();
            if self.0.read_line(&mut line).unwrap_or(0) == 0 {
                return None;
            }
            all.push_str(&line);
            if line.contains(wanted) {
                return Some(all);
            }
        }
    }

    /// The next stamp.
    fn stamp(&mut self) -> Option<String> {
        let lines = self.until("data: ")?;
        let stamp = lines.rsplit("data: ").next()?;
        Some(stamp.trim().to_owned())
    }

    fn is_ended(&mut self) -> bool {
        self.until("never").is_none()
    }
}

/// The stamp that a page was made with.
fn shown(browser: &Browser, path: &str) -> String {
    let body = browser.get(path).body;
    let at = body
        .find("data-stamp=\"")
        .unwrap_or_else(|| panic!("{body}"));
    body[at + 12..].split('"').next().unwrap().to_owned()
}

fn limited(place: &Place, limits: Limits) -> Browser {
    Browser::with(place.keeper(), limits).entered()
}

pub(crate) fn a_page_is_told_of_changes() {
    let place = Place::new();
    let session = place.session();
    session.write("/short.txt", "one\n").unwrap();
    let browser = place.page().entered();
    let file = format!("/s/s/file?path={}", hex("/short.txt"));
    let about_file = format!("about=change&session=s&path={}", hex("/short.txt"));
    let mut pages = Vec::new();
    for (path, query) in [
        ("/", "about=sessions"),
        ("/s/s", "about=changes&session=s&skip=0"),
        (file.as_str(), about_file.as_str()),
    ] {
        let before = shown(&browser, path);
        let mut stream = Stream::open(&browser, query);
        // What was made from the same is no news.
        assert_eq!(stream.stamp().unwrap(), before, "{path}");
        pages.push((path, stream, before));
    }
    // Another length: two changes within one tick of the clock have the same times.
    session.write("/short.txt", "two lines\n").unwrap();
    session.write("/other.txt", "other\n").unwrap();
    for (path, mut stream, before) in pages {
        // It may come in two steps.
        let mut told = stream.stamp().unwrap();
        assert_ne!(told, before, "{path}");
        while told != shown(&browser, path) {
            told = stream.stamp().unwrap();
        }
    }
}

pub(crate) fn news_is_for_those_who_came_in() {
    let place = Place::new();
    let browser = place.page().entered();
    let (host, path, cookie) = (&browser.host, &browser.path, &browser.cookie);
    for head in [
        format!("GET {path}/news?about=sessions HTTP/1.1\r\nHost: {host}\r\n"),
        format!("GET /news?about=sessions HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\n"),
        format!(
            "GET {path}/news?about=sessions HTTP/1.1\r\nHost: {host}\r\nCookie: {cookie}\r\nSec-Fetch-Site: cross-site\r\n"
        ),
    ] {
        assert_eq!(browser.raw(&head, "").status, 403, "{head}");
    }
    assert_eq!(browser.get("/news?about=nothing").status, 404);
    // Of a session that is not there, the news is that.
    let mut gone = Stream::open(&browser, "about=changes&session=none&skip=0");
    assert!(!gone.stamp().unwrap().is_empty());
}

/// One more than there may be ends the oldest, and a browser that never reads holds up nobody.
pub(crate) fn streams_are_bounded_and_slow_ones_hold_up_nobody() {
    let place = Place::new();
    let session = place.session();
    session.write("/short.txt", "0\n").unwrap();
    let limits = Limits {
        streams: 3,
        connections: 5,
        ..Limits::default()
    };
    let browser = limited(&place, limits);
    let query = "about=changes&session=s&skip=0";
    let mut first = Stream::open(&browser, query);
    // These are never read from.
    let mute = [Stream::open(&browser, query), Stream::open(&browser, query)];
    first.stamp().unwrap();
    let mut last = Stream::open(&browser, query);
    assert!(first.is_ended(), "the oldest one ends");
    for turn in 1..4 {
        // Another length each time: two changes within one tick of the clock have the same times.
        session.write("/short.txt", "x".repeat(turn)).unwrap();
        while last.stamp().unwrap() != shown(&browser, "/s/s") {}
    }
    drop(mute);
    // Far more than there are seats, one after the other: none is kept for those that are gone.
    for _ in 0..20 {
        drop(Stream::open(&browser, query));
    }
    assert_eq!(browser.get("/s/s").status, 200);
}

/// Whether the other side closes a connection, and after how long.
fn closed_after(mut stream: TcpStream) -> Duration {
    stream.set_read_timeout(Some(LONG)).unwrap();
    let begun = Instant::now();
    let mut rest = Vec::new();
    // A reset is an end too; a time-out is none.
    if let Err(error) = stream.read_to_end(&mut rest) {
        assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset, "{error}");
    }
    begun.elapsed()
}

pub(crate) fn a_connection_has_its_time() {
    let place = Place::new();
    let many: String = (0..6000)
        .map(|line| format!("{line} {}\n", "x".repeat(2000)))
        .collect();
    place.session().write("/many.txt", many).unwrap();
    let limits = Limits {
        connection: Duration::from_secs(5),
        stream: Duration::from_secs(9),
        ..Limits::default()
    };
    let browser = limited(&place, limits);
    let half = TcpStream::connect(&browser.host).unwrap();
    (&half).write_all(b"GET / HTTP/1.1\r\n").unwrap();
    // Asks for megabytes and reads none of them: what the kernel does not take cannot be sent.
    let mut lazy = TcpStream::connect(&browser.host).unwrap();
    // Small, but not so small that reading the rest takes a minute.
    SockRef::from(&lazy)
        .set_recv_buffer_size(256 << 10)
        .unwrap();
    let path = format!("{}/s/s/file?path={}&full=1", browser.path, hex("/many.txt"));
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: {}\r\nCookie: {}\r\n\r\n",
        browser.host, browser.cookie
    );
    lazy.write_all(head.as_bytes()).unwrap();
    let begun = Instant::now();
    let mut stream = Stream::open(&browser, "about=sessions");
    assert!(closed_after(half) < LONG / 2);
    // Only a subscription outlives that, and not for ever either.
    assert!(stream.is_ended());
    let lived = begun.elapsed();
    assert!(lived > Duration::from_secs(8) && lived < LONG, "{lived:?}");
    // What lies in the kernel still comes.
    let mut answer = Vec::new();
    drop(lazy.read_to_end(&mut answer));
    assert!(
        !answer.ends_with(b"</html>"),
        "all of it came, though nobody read for as long"
    );
    // The same from a page with the usual limits, read at once, is whole.
    let usual = place.page().entered();
    let whole = usual.get(&path[browser.path.len()..]).body;
    assert!(whole.ends_with("</html>"));
}
