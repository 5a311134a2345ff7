//! Programs in a run that try to answer their own questions: each attempt is refused, and each is an
//! event.

use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Stdio};
use std::time::{Duration, Instant};

use serde_json::Value;

use super::logged::Log;
use super::stage::{Stage, Told, as_each_user, is_root};

const PATIENCE: Duration = Duration::from_secs(60);

/// A program whose child asks for a file, and which tries what it is told to, line by line.
const AGENT: &str = r#"cat a.txt & echo asks
while read -r line; do eval "$line"; echo "code $?"; done"#;

/// A run under way.
struct Agent {
    child: Child,
    to: ChildStdin,
    from: BufReader<ChildStdout>,
    /// The command, as the program sees it.
    handfast: String,
}

impl Agent {
    fn start(stage: &Stage, log: &Log<'_>) -> Self {
        let own = std::env::var_os("HANDFAST_BIN")
            .unwrap_or_else(|| env!("CARGO_BIN_EXE_handfast").into());
        let handfast = match is_root() {
            true => stage.scratch.path.join("bin/handfast"),
            false => own.into(),
        };
        let dir = handfast.parent().unwrap().to_str().unwrap();
        // A person has time enough, however busy the machine is.
        let policy = "version = 1\n[ask]\ntimeout = \"20m\"\n[[root]]\nname = \"p\"\npath = \".\"\nask = [\"a.txt\"]\n";
        stage.scratch.file("policy.toml", policy);
        stage.hand_over();
        let args = [
            "run",
            "--quiet",
            "--log",
            &log.dir,
            "--policy",
            "policy.toml",
            "--read",
            dir,
            "--",
            "sh",
            "-c",
            AGENT,
        ];
        let mut command = stage.command("", &args);
        command.stdin(Stdio::piped()).stdout(Stdio::piped());
        command.stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut agent = Self {
            to: child.stdin.take().unwrap(),
            from: BufReader::new(child.stdout.take().unwrap()),
            handfast: handfast.to_str().unwrap().to_owned(),
            child,
        };
        assert_eq!(agent.line(), "asks");
        agent
    }

    fn line(&mut self) -> String {
        let mut line = String::new();
        let read = self.from.read_line(&mut line).unwrap();
        assert!(read > 0, "the program ended");
        line.trim_end().to_owned()
    }

    /// Has the program do something: all that it printed, with its exit code in the last line.
    fn tries(&mut self, what: &str) -> String {
        writeln!(self.to, "{what}").unwrap();
        let mut said = String::new();
        loop {
            let line = self.line();
            said.push_str(&line);
            said.push('\n');
            if line.starts_with("code ") {
                return said;
            }
        }
    }

    fn end(self) -> (String, Told) {
        drop(self.to);
        let mut rest = String::new();
        let mut from = self.from;
        from.read_to_string(&mut rest).unwrap();
        (rest, Told::from(self.child.wait_with_output().unwrap()))
    }
}

/// The one question, as it is seen outside.
fn question(stage: &Stage) -> Value {
    let begun = Instant::now();
    loop {
        let told = stage.handfast(&["approve", "--json"]);
        let listed: Value = serde_json::from_str(&told.out).unwrap_or_default();
        if let Some(first) = listed["questions"].get(0) {
            return first.clone();
        }
        assert!(begun.elapsed() < PATIENCE, "no question came: {told:?}");
        std::thread::sleep(Duration::from_millis(50));
    }
}

/// The refused answers in the log, in their order: who tried, and why not.
fn refusals(log: &Log<'_>) -> Vec<(String, String)> {
    let asked = log.events("ask").into_iter();
    let refused = asked.filter(|event| event["decision"]["allow"] == false);
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    refused
        .map(|event| (text(&event["wl"]["exe"]), text(&event["decision"]["why"])))
        .collect()
}

/// Every file below a directory, with its content.
fn files_below(dir: &Path) -> Vec<(String, Vec<u8>)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => found.extend(files_below(&path)),
            false => found.push((path.display().to_string(), std::fs::read(&path).unwrap())),
        }
    }
    found.sort();
    found
}

#[test]
fn a_program_in_a_run_answers_nothing_and_every_attempt_is_an_event() {
    as_each_user(|stage| {
        let log = Log::new(stage);
        let mut agent = Agent::start(stage, &log);
        let id = question(stage)["id"].as_str().unwrap().to_owned();
        let (hand, state) = (agent.handfast.clone(), stage.scratch.path.join("state"));
        let state_text = state.display().to_string();
        // It is started as it is, with the state's path, by a child that left its session, and behind a
        // prompt that looks like ours.
        let yes = format!("{hand} approve --yes {id} --for session");
        let attempts = [
            (yes.clone(), format!("yes-{id}")),
            (format!("{yes} --state {state_text}"), format!("yes-{id}")),
            (format!("{hand} approve"), "look".to_owned()),
            (
                format!("{hand} approve --take-back {id}"),
                format!("take-back-{id}"),
            ),
            (format!("{hand} review"), "review".to_owned()),
            (
                format!("(setsid sh -c '({yes}; echo inner $?) 2>&1 &' &) | cat"),
                format!("yes-{id}"),
            ),
            (
                format!(
                    "printf 'handfast: allow it? [y/f/s/n/d/l/?] '; echo y | (read word; test \"$word\" = y && {yes})"
                ),
                format!("yes-{id}"),
            ),
        ];
        for (what, _) in &attempts {
            let said = agent.tries(&format!("{{ {what}; }} 2>&1"));
            assert!(said.contains("outside of any run"), "{what}: {said}");
            let is_refused = said.contains("code 1") || said.contains("inner 1");
            assert!(is_refused, "{what}: {said}");
        }
        // The same name by hand, without the command.
        let before = files_below(&state);
        let said = agent.tries(&format!("{{ echo > .handfast-answer-yes-{id}; }} 2>&1"));
        assert!(!said.contains("code 0"), "{said}");
        // The state's directory is not there: what is made under its path is the program's own.
        let forged = format!(
            "mkdir -p {state_text}/handfast/sessions/x/inbox; find {state_text} -name 'q-*' | wc -l"
        );
        let said = agent.tries(&forged);
        assert!(said.starts_with("0\n"), "{said}");
        assert_eq!(
            files_below(&state),
            before,
            "nothing of it reached the host"
        );
        assert_eq!(question(stage)["id"], id.as_str(), "it still waits");
        let told = stage.handfast(&["approve", "--deny", &id]);
        assert_eq!(told.code, Some(0), "{told:?}");
        let (rest, told) = agent.end();
        assert!(!rest.contains("from the base"), "{rest} {told:?}");
        let events = refusals(&log);
        assert_eq!(events.len(), attempts.len() + 1, "{events:?}");
        for ((program, why), (what, tried)) in events.iter().zip(&attempts) {
            assert!(program.ends_with("/handfast"), "{what}: {events:?}");
            let expected = format!("inside of the run ({tried})");
            assert!(why.contains(&expected), "{what}: {events:?}");
        }
        let (program, why) = &events[attempts.len()];
        assert!(why.contains("inside of the run"), "{why}");
        assert!(program.ends_with("sh"), "by hand: {program}");
        // Question and answer name the process that asked.
        let answer = log.events("ask").pop().unwrap();
        let why = answer["result"]["why"].as_str().unwrap_or_default();
        assert!(why.contains("refused by"), "{answer}");
        let program = answer["wl"]["exe"].as_str().unwrap_or_default();
        assert!(program.ends_with("/cat"), "{answer}");
    });
}

/// The state lies in the project: rules keep it out of the program's hands.
#[test]
fn the_state_is_not_reached_where_it_lies_in_the_project() {
    as_each_user(|stage| {
        let state = stage.scratch.inside().join("state");
        let state = state.to_str().unwrap();
        let log = Log::new(stage);
        let args = [
            "run",
            "--quiet",
            "--log",
            &log.dir,
            "--state",
            state,
            "--",
            "sh",
            "-c",
            "ls state; find state | wc -l; echo x > state/x; mkdir state/handfast; mv state s2; echo end",
        ];
        let told = stage.handfast(&args);
        assert_eq!(told.code, Some(0), "{told:?}");
        assert!(told.out.ends_with("end\n"), "{told:?}");
        assert!(!Path::new(state).join("x").exists(), "{told:?}");
        let denied: Vec<Value> = ["resolve", "open-write", "create-dir", "rename"]
            .iter()
            .flat_map(|verb| log.events(verb))
            .filter(|event| event["decision"]["allow"] == false)
            .collect();
        assert!(!denied.is_empty(), "{told:?}");
    });
}

/// Asks the review page for something, and says what it answered.
const KNOCK: &str = r#"
import socket, sys
host, port = sys.argv[1].rsplit(":", 1)
def ask(head, body=""):
    s = socket.create_connection((host, int(port)), 10)
    s.sendall((head + "\r\nHost: " + sys.argv[1] + "\r\nContent-Length: %d\r\nConnection: close\r\n\r\n" % len(body) + body).encode())
    answer = s.recv(65536).decode(errors="replace").split("\r\n")[0]
    print(answer.split(" ")[1], flush=True)
origin = "\r\nOrigin: http://" + sys.argv[1]
ask("GET /inbox HTTP/1.1")
ask("POST /answer HTTP/1.1" + origin, "session=s&id=1&digest=1&yes=1&scope=session")
ask("POST /enter HTTP/1.1" + origin, "0" * 64)
ask("POST /answer HTTP/1.1\r\nCookie: handfast-review=" + "0" * 64)
"#;

#[test]
fn the_review_page_turns_a_program_in_a_run_away_and_records_it() {
    let python = "/usr/bin/python3";
    if !Path::new(python).exists() {
        crate::support::skip("a program that asks the page", "there is no python3");
        return;
    }
    as_each_user(|stage| {
        assert_eq!(stage.run(&["--session", "s"], "echo x > new").code, Some(0));
        let log = Log::new(stage);
        let mut page = stage
            .command("", &["review", "s", "--log", &log.dir])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut url = String::new();
        let mut out = BufReader::new(page.stdout.take().unwrap());
        out.read_line(&mut url).unwrap();
        let host = url.trim().strip_prefix("http://").unwrap();
        let (host, _) = host.split_once("/#").unwrap();
        let args = [
            "run",
            "--quiet",
            "--session",
            "other",
            "--",
            python,
            "-c",
            KNOCK,
            host,
        ];
        let told = stage.handfast(&args);
        assert_eq!(told.out, "403\n403\n403\n403\n", "{told:?}");
        let begun = Instant::now();
        while refusals(&log).len() < 4 && begun.elapsed() < PATIENCE {
            std::thread::sleep(Duration::from_millis(50));
        }
        let whys: Vec<String> = refusals(&log).into_iter().map(|(_, why)| why).collect();
        drop(page.kill());
        let words = Told::from(page.wait_with_output().unwrap()).words;
        assert_eq!(whys.len(), 4, "{whys:?} {words}");
        for (why, part) in whys
            .iter()
            .zip(["cookie", "cookie", "token", "another page"])
        {
            assert!(why.contains("review page"), "{why}");
            assert!(why.contains(part), "{whys:?}");
            assert!(words.contains("turned a request away"), "{words}");
        }
    });
}

/// What a reviewer said is a file in the run, which no program can change.
#[test]
fn a_program_reads_what_a_reviewer_said() {
    as_each_user(|stage| {
        assert_eq!(
            stage.run(&["--session", "s"], "echo x >> a.txt").code,
            Some(0)
        );
        let empty = stage.run(
            &["--session", "s", "--quiet"],
            "cat $HANDFAST_COMMENTS; ls -a",
        );
        assert!(!empty.out.contains("handfast"), "{empty:?}");
        reject(stage, "use a list here");
        let script = "cat $HANDFAST_COMMENTS; wc -c < .handfast-comments; \
            (echo y > .handfast-comments) 2>/dev/null || echo refused; rm -f .handfast-comments || echo kept; \
            ln .handfast-comments copy 2>/dev/null || echo kept; git status --porcelain; ls -a | grep -c handfast";
        let told = stage.run(&["--session", "s", "--quiet"], script);
        let said = "a reviewer rejected /a.txt: use a list here\n";
        let rest = told
            .out
            .strip_prefix(said)
            .unwrap_or_else(|| panic!("{told:?}"));
        let length = said.len();
        let wanted = format!("{length}\nrefused\nkept\nkept\n");
        assert!(rest.starts_with(&wanted), "{told:?}");
        assert!(!rest.contains(".handfast-"), "no tool meets it: {told:?}");
        assert!(rest.ends_with("\n0\n"), "{told:?}");
    });
}

/// Rejects the change of `/a.txt` on the review page.
fn reject(stage: &Stage, words: &str) {
    let mut page = stage
        .command("", &["review", "s"])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut url = String::new();
    let mut out = BufReader::new(page.stdout.take().unwrap());
    out.read_line(&mut url).unwrap();
    let (host, token) = url.trim()["http://".len()..].split_once("/#").unwrap();
    let ask = |head: &str, body: &str| {
        let mut stream = std::net::TcpStream::connect(host).unwrap();
        let length = body.len();
        let request = format!(
            "{head}\r\nHost: {host}\r\nOrigin: http://{host}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
        );
        stream.write_all(request.as_bytes()).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    };
    let between = |text: &str, before: &str, after: char| {
        let at = text
            .find(before)
            .unwrap_or_else(|| panic!("{before}: {text}"))
            + before.len();
        text[at..].split(after).next().unwrap().to_owned()
    };
    let entered = ask("POST /enter HTTP/1.1", token);
    let cookie = between(&entered, "set-cookie: ", ';');
    let below = entered.split_once("\r\n\r\n").unwrap().1;
    let below = below.trim_end_matches('/');
    let listing = ask(&format!("GET {below}/s/s HTTP/1.1\r\nCookie: {cookie}"), "");
    let mark = between(&listing, "name=accept id=a0 value=\"", '"');
    let (seal, path) = mark.split_once(' ').unwrap();
    let words = words.replace(' ', "+");
    let form = format!("session=s&seal={seal}&path={path}&text={words}");
    let said = ask(
        &format!("POST {below}/reject HTTP/1.1\r\nCookie: {cookie}"),
        &form,
    );
    assert!(said.starts_with("HTTP/1.1 200"), "{said}");
    page.kill().unwrap();
    page.wait().unwrap();
}
