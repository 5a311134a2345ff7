//! `top`, and the counts of `serve --metrics`.

use std::io::{Read, Write};
use std::os::unix::net::UnixStream;
use std::time::Duration;

use crate::lease::Served;
use crate::support::Run;

const PATIENCE: Duration = Duration::from_secs(60);

fn top(served: &Served, args: &[&str]) -> Run {
    let socket = served.scratch.path.join("s/b.sock");
    let all = ["top", "--socket", socket.to_str().unwrap()];
    Run::of(&[&all[..], args].concat(), b"", PATIENCE)
}

#[test]
fn one_look_shows_leases_holders_and_refusals() {
    let served = Served::with(&[]);
    let id = served.acquire(&["--paths", "src/**", "--verbs", "read", "--ttl", "5m"]);
    assert_eq!(served.lease(&["open", &id, "src/a.txt"], b"").code, 0);
    assert_eq!(served.lease(&["open", &id, "top.txt"], b"").code, 1);
    let shown = top(&served, &["--once"]);
    assert_eq!(shown.code, 0, "{shown:?}");
    let text = shown.text();
    let row = text.lines().find(|line| line.contains("src/**")).unwrap();
    assert!(row.contains("user") && row.contains("read"), "{text}");
    assert!(
        text.contains("leases 1") && text.contains("opens 1"),
        "{text}"
    );
    let refused = text.split("REFUSED").nth(1).unwrap();
    assert!(
        refused.contains("`top.txt`") && refused.contains("does not cover"),
        "{text}"
    );
    // No id, which would open something, and no bytes that do things to a terminal.
    assert!(!text.contains(id.rsplit('/').next().unwrap()), "{text}");
    assert!(!text.contains('\x1b'));
    // Without a terminal once is enough.
    assert_eq!(top(&served, &[]).code, 0);

    let json = top(&served, &["--once", "--json"]).json();
    assert_eq!((&json["ok"], &json["version"]), (&true.into(), &1.into()));
    assert_eq!(json["counts"]["opened"], "1");
    assert_eq!(json["leases"][0]["opens"], "1");
    assert_eq!(json["denials"][0]["path"], "top.txt");
    assert!(json["before"].is_null());
}

/// On a terminal: keys are taken as they are pressed, and `q` ends it.
#[test]
fn b11_on_a_terminal_keys_filter_and_q_quits() {
    let served = Served::new();
    served.acquire(&["--paths", "src/**", "--verbs", "read"]);
    served.acquire(&["--paths", "top.txt", "--verbs", "read"]);
    let socket = served.scratch.path.join("s/b.sock");
    let command = format!(
        "{} top --interval 600 --socket {}",
        crate::support::binary().to_str().unwrap(),
        socket.to_str().unwrap()
    );
    let script = std::process::Command::new("script")
        .args(["-qfec", &command, "/dev/null"])
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn();
    let Ok(mut script) = script else {
        crate::support::skip("top on a terminal", "there is no program `script`");
        return;
    };
    let mut input = script.stdin.take().unwrap();
    let mut output = script.stdout.take().unwrap();
    let mut seen = String::new();
    let mut until = |what: &dyn Fn(&str) -> bool| {
        let mut part = [0; 4096];
        while !what(&seen) {
            let count = output.read(&mut part).unwrap();
            assert!(count > 0, "it ended: {seen}");
            seen.push_str(&String::from_utf8_lossy(&part[..count]));
        }
        seen.clear();
    };
    until(&|seen| seen.contains("q quit") && seen.contains("top.txt"));
    input.write_all(b"/src\r").unwrap();
    until(&|seen| {
        let last = seen.rsplit("\x1b[J").next().unwrap_or_default();
        last.contains("filter: src ") && last.contains("src/**") && !last.contains("top.txt")
    });
    input.write_all(b"q").unwrap();
    assert!(script.wait().unwrap().success());
    let shown = top(&served, &["--once", "--filter", "TOP"]);
    assert!(!shown.text().contains("src/**"), "{shown:?}");
    assert!(shown.text().contains("top.txt"), "{shown:?}");
}

#[test]
fn a_trust_bundle_that_is_none_is_told() {
    let served = Served::with(&[]);
    let bundle = served.scratch.file("bundle.json", "{}");
    let other = served.scratch.path.join("s/d.sock");
    let state = served.scratch.path.join("other-state");
    let dir = served.scratch.inside();
    let args = [
        "serve",
        dir.to_str().unwrap(),
        "--socket",
        other.to_str().unwrap(),
        "--state",
        state.to_str().unwrap(),
        "--spiffe-bundle",
        bundle.to_str().unwrap(),
    ];
    // The domain is not guessed.
    assert_eq!(Run::of(&args, b"", PATIENCE).code, 2);
    let args = [&args[..], &["--spiffe-domain", "example.org"]].concat();
    let run = Run::of(&args, b"", PATIENCE);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(
        run.stderr.contains("cannot use the trust bundle"),
        "{run:?}"
    );
    // A broker without one takes no proof.
    let svid = served.scratch.file("svid", "a.b.c");
    let run = served.lease(&["--svid", svid.to_str().unwrap(), "list"], b"");
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.stderr.contains("no trust bundle"), "{run:?}");
}

#[test]
fn without_a_broker_it_says_so() {
    let run = Run::of(&["top", "--socket", "/nonexistent/sock"], b"", PATIENCE);
    assert_eq!(run.code, 3, "{run:?}");
    assert!(run.stderr.contains("handfast serve"), "{run:?}");
    let run = Run::of(&["top", "--interval", "0"], b"", PATIENCE);
    assert_eq!(run.code, 2, "{run:?}");
}

#[test]
fn serve_tells_counts_where_it_is_asked_to_and_nowhere_else() {
    let served = Served::with(&["--metrics", "s/metrics.sock"]);
    served.acquire(&["--paths", "**", "--verbs", "read"]);
    let mut stream = UnixStream::connect(served.scratch.path.join("s/metrics.sock")).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    assert!(text.contains("\nhandfast_broker_leases 1\n"), "{text}");
    let dir = served.scratch.inside();
    let other = served.scratch.path.join("s/c.sock");
    let open = Run::of(
        &[
            "serve",
            dir.to_str().unwrap(),
            "--socket",
            other.to_str().unwrap(),
            "--metrics",
            "0.0.0.0:0",
        ],
        b"",
        PATIENCE,
    );
    assert_eq!(open.code, 2, "{open:?}");
    assert!(open.stderr.contains("loopback"), "{open:?}");
}

#[test]
fn on_a_terminal_q_ends_the_picture() {
    let served = Served::with(&[]);
    let socket = served.scratch.path.join("s/b.sock");
    let binary = crate::support::binary();
    let line = format!(
        "{} top --interval 3600 --socket {}",
        binary.to_str().unwrap(),
        socket.display()
    );
    // `script` gives the command a terminal.
    let spawned = std::process::Command::new("script")
        .args(["-qec", &line, "/dev/null"])
        .env("TERM", "xterm")
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .spawn();
    let Ok(mut child) = spawned else {
        crate::support::skip("`q` in top", "the program script is missing");
        return;
    };
    let mut stdin = child.stdin.take().unwrap();
    let mut shown = child.stdout.take().unwrap();
    let mut first = [0; 512];
    let read = shown.read(&mut first).unwrap();
    assert!(read > 0);
    // Another key is no reason to end.
    stdin.write_all(b"x").unwrap();
    std::thread::sleep(Duration::from_millis(300));
    assert!(child.try_wait().unwrap().is_none(), "x ended it");
    stdin.write_all(b"q").unwrap();
    let run = Run::wait(child, PATIENCE);
    assert_eq!(run.code, 0, "{run:?}");
}
