//! `handfast review`, as it is started: what it prints, and what it holds while nobody clicks.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};

use crate::support::{Scratch, binary};

fn handfast(scratch: &Scratch, args: &[&str]) -> Command {
    let mut command = Command::new(binary());
    command
        .args(args)
        .env("XDG_STATE_HOME", scratch.path.join("state"))
        .env_remove("HANDFAST_LOG")
        .current_dir(&scratch.path);
    command
}

fn done(scratch: &Scratch, args: &[&str], input: &str) -> String {
    let mut child = handfast(scratch, args)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut stdin = child.stdin.take().unwrap();
    stdin.write_all(input.as_bytes()).unwrap();
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "{args:?}");
    String::from_utf8(output.stdout).unwrap()
}

struct Page {
    child: Child,
    host: String,
    token: String,
}

impl Page {
    fn start(scratch: &Scratch, args: &[&str]) -> Self {
        let mut child = handfast(scratch, args)
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let mut out = BufReader::new(child.stdout.take().unwrap());
        out.read_line(&mut line).unwrap();
        let url = line.trim().strip_prefix("http://127.").unwrap();
        let (host, token) = url.split_once("/#").unwrap();
        Self {
            host: format!("127.{host}"),
            token: token.to_owned(),
            child,
        }
    }

    fn ask(&self, head: &str, body: &str) -> String {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        let host = &self.host;
        let request = format!(
            "{head}\r\nHost: {host}\r\nOrigin: http://{host}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    /// The numbers of both processes.
    fn processes(&self) -> Vec<String> {
        let id = self.child.id().to_string();
        let path = format!("/proc/{id}/task/{id}/children");
        let children = std::fs::read_to_string(path).unwrap_or_default();
        let children = children.split_whitespace().map(str::to_owned);
        std::iter::once(id).chain(children).collect()
    }
}

impl Drop for Page {
    fn drop(&mut self) {
        drop(self.child.kill());
        drop(self.child.wait());
    }
}

fn value(text: &str, before: &str) -> String {
    let at = text
        .find(before)
        .unwrap_or_else(|| panic!("{before}: {text}"))
        + before.len();
    let rest = &text[at..];
    rest[..rest.find(['"', ';']).unwrap()].to_owned()
}

#[test]
fn the_page_commits_with_an_event_and_holds_the_log_only_then() {
    let scratch = Scratch::new();
    scratch.file("a.txt", "old\n");
    let log = ["--log", "log"];
    done(&scratch, &["log", "init", "log"], "");
    done(&scratch, &["session", "new", "s", "--base", "inside"], "");
    let write = [
        "fs",
        "--quiet",
        "--session",
        "s",
        log[0],
        log[1],
        "write",
        "/a.txt",
    ];
    done(&scratch, &write, "first\n");
    let page = Page::start(&scratch, &["review", "s", log[0], log[1]]);
    // The page looks; the agent still writes with the same log.
    done(&scratch, &write, "new\n");
    let entered = page.ask("POST /enter HTTP/1.1", &page.token);
    let cookie = value(&entered, "set-cookie: ");
    // The body says where everything lies.
    let (_, below) = entered.split_once("\r\n\r\n").unwrap();
    let below = below.trim_end_matches('/');
    let listing = page.ask(&format!("GET {below}/s/s HTTP/1.1\r\nCookie: {cookie}"), "");
    let mark = value(&listing, "name=accept id=a0 value=\"").replace(' ', "+");
    let head = |path: &str| format!("POST {below}{path} HTTP/1.1\r\nCookie: {cookie}");
    let plan = page.ask(&head("/plan"), &format!("session=s&accept={mark}"));
    let plan = value(&plan, "name=plan value=\"");
    let said = page.ask(&head("/commit"), &format!("plan={plan}&message=reason"));
    assert!(said.starts_with("HTTP/1.1 200"), "{said}");
    assert_eq!(
        std::fs::read_to_string(scratch.at("a.txt")).unwrap(),
        "new\n"
    );
    let events = done(&scratch, &["log", "grep", "log", "--verb", "commit"], "");
    assert!(events.contains("commit"), "{events}");
    let verdict = done(&scratch, &["log", "verify", "log"], "");
    assert!(verdict.contains("consistent"), "{verdict}");
    // The secret is on no command line and in no environment.
    let processes = page.processes();
    assert_eq!(processes.len(), 2, "{processes:?}");
    for id in processes {
        for file in ["cmdline", "environ"] {
            let Ok(bytes) = std::fs::read(format!("/proc/{id}/{file}")) else {
                println!("skipped: /proc/{id}/{file} cannot be read");
                continue;
            };
            let text = String::from_utf8_lossy(&bytes);
            assert!(!text.contains(&page.token), "{file}: {text}");
        }
    }
}

#[test]
fn a_wrong_name_or_option_starts_no_page() {
    let scratch = Scratch::new();
    for (args, code) in [
        (&["review", "none"][..], 1),
        (&["review", "--key", "x"][..], 2),
        (&["review", "--port", "99999"][..], 2),
        (&["review", "--log", "nothing"][..], 2),
        (&["review", "--page-process", "s"][..], 2),
    ] {
        let output = handfast(&scratch, args)
            .stdin(Stdio::null())
            .output()
            .unwrap();
        assert_eq!(output.status.code(), Some(code), "{args:?}: {output:?}");
        assert!(output.stdout.is_empty(), "{args:?}");
    }
}
