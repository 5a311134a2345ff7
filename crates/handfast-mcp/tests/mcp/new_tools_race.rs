//! The tools that the reference does not have, while a directory is exchanged with a link that leads outside.
//! Each has a naive control that looks first and then uses the name again; it must get out.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use serde_json::{Value, json};

use super::client::{Mcp, state};
use crate::support::{Scratch, server};
use crate::turns::{Turns, starved};

/// One tool: how the server is asked for the n-th time, and what a naive program does instead.
struct Contest {
    tool: &'static str,
    arguments: fn(&Path, u32) -> Value,
    naive: fn(&Path, u32) -> std::io::Result<String>,
}

const CONTESTS: [Contest; 6] = [
    Contest {
        tool: "append_file",
        arguments: |dir, _| json!({"path": dir.join("file"), "content": "+"}),
        naive: |dir, _| {
            use std::io::Write as _;
            let mut file = std::fs::OpenOptions::new()
                .append(true)
                .open(dir.join("file"))?;
            file.write_all(b"+").map(|()| String::new())
        },
    },
    Contest {
        tool: "copy_file",
        arguments: |dir, n| json!({"source": dir.join("file"), "destination": dir.join(format!("copy-{n}"))}),
        naive: |dir, n| {
            std::fs::copy(dir.join("file"), dir.join(format!("copy-{n}"))).map(|_| String::new())
        },
    },
    Contest {
        tool: "delete_file",
        arguments: |dir, n| json!({"path": dir.join(format!("m-{n}"))}),
        naive: |dir, n| std::fs::remove_file(dir.join(format!("m-{n}"))).map(|()| String::new()),
    },
    Contest {
        tool: "search_content",
        arguments: |dir, _| json!({"path": dir, "pattern": "SIDE", "include": "file"}),
        naive: |dir, _| std::fs::read_to_string(dir.join("file")),
    },
    Contest {
        tool: "read_text_file",
        arguments: |dir, _| json!({"path": dir.join("file"), "startLine": 1, "endLine": 1, "lineNumbers": true}),
        naive: |dir, _| std::fs::read_to_string(dir.join("file")),
    },
    Contest {
        tool: "edit_file",
        arguments: |dir, _| {
            // It changes the file: an edit that does not would not be seen outside.
            let edit = json!({"oldText": "SIDE", "newText": "SIDE+"});
            json!({"path": dir.join("file"), "edits": [edit], "replaceAll": true})
        },
        naive: |dir, n| {
            let text = std::fs::read_to_string(dir.join("file"))?;
            std::fs::write(dir.join("file"), format!("{text}{n}")).map(|()| text)
        },
    },
];

/// Puts everything where it was; `dir` is inside, `link` leads outside, and both hold the same names.
fn arrange(scratch: &Scratch, tool: &str, calls: u32) {
    // Only one tool needs a file for each call.
    let calls = if tool == "delete_file" { calls } else { 0 };
    drop(std::fs::remove_dir_all(scratch.inside()));
    drop(std::fs::remove_dir_all(scratch.outside()));
    for (dir, text) in [
        (scratch.at("dir"), "INSIDE\n"),
        (scratch.outside(), "OUTSIDE\n"),
    ] {
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("file"), text).unwrap();
        for number in 0..calls {
            std::fs::write(dir.join(format!("m-{number}")), text).unwrap();
        }
    }
    scratch.link(scratch.outside(), "link");
}

/// What there is outside: how many names, and what the file holds.
fn outside(scratch: &Scratch) -> (usize, String) {
    let names = std::fs::read_dir(scratch.outside()).unwrap().count();
    (
        names,
        std::fs::read_to_string(scratch.outside().join("file")).unwrap(),
    )
}

/// What came of calls under attack.
#[derive(Default)]
struct Outcome {
    calls: u32,
    /// How often something was shown or changed outside.
    escaped: u32,
    done: u32,
}

/// Calls while the directory is exchanged, until one call got outside or there were enough.
fn contend(
    scratch: &Scratch,
    calls: u32,
    act: &mut dyn FnMut(&Path, u32) -> Option<String>,
) -> Outcome {
    let (dir, link) = (scratch.at("dir"), scratch.at("link"));
    let (begun, stop) = (AtomicBool::new(false), AtomicBool::new(false));
    let mut outcome = Outcome::default();
    let mut before = outside(scratch);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            while !stop.load(Ordering::Relaxed) {
                let exchanged = renameat_with(CWD, &dir, CWD, &link, RenameFlags::EXCHANGE);
                begun.fetch_or(exchanged.is_ok(), Ordering::Relaxed);
            }
        });
        while !begun.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        let _stop = Stop(&stop);
        for number in 0..calls {
            let said = act(&dir, number);
            let now = outside(scratch);
            let shown = said.as_ref().is_some_and(|text| text.contains("OUTSIDE"));
            outcome.calls += 1;
            outcome.escaped += u32::from(shown || now != before);
            outcome.done += u32::from(said.is_some());
            before = now;
            if outcome.escaped > 0 {
                break;
            }
        }
    });
    outcome.escaped += taken_in(scratch);
    outcome
}

/// Ends the attack when the victim does, by a failed assertion too.
struct Stop<'a>(&'a AtomicBool);

impl Drop for Stop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// How many files inside hold what was only outside.
fn taken_in(scratch: &Scratch) -> u32 {
    let dirs = [scratch.at("dir"), scratch.at("link")];
    let [dir] = &dirs
        .map(|dir| (!dir.is_symlink()).then_some(dir))
        .into_iter()
        .flatten()
        .collect::<Vec<_>>()[..]
    else {
        panic!("one of both is the directory");
    };
    let files = std::fs::read_dir(dir)
        .unwrap()
        .map(|file| file.unwrap().path());
    let texts = files.map(|file| std::fs::read_to_string(file).unwrap());
    texts.map(|text| u32::from(text.contains("OUTSIDE"))).sum()
}

/// After how many calls the naive way gets out: what it looks at is not what it uses. `None` if it never does.
fn control(scratch: &Scratch, contest: &Contest) -> Option<u32> {
    let inside = scratch.inside();
    let mut calls = 0;
    for _ in 0..MAX_CONTROLS {
        arrange(scratch, contest.tool, CONTROL_CALLS);
        let naive = contend(scratch, CONTROL_CALLS, &mut |dir, number| {
            let is_inside = dir
                .canonicalize()
                .is_ok_and(|real| real.starts_with(&inside));
            // A program has other things to do between looking and using.
            std::thread::sleep(std::time::Duration::from_micros(20));
            is_inside
                .then(|| (contest.naive)(dir, number).ok())
                .flatten()
        });
        calls += naive.calls;
        if naive.escaped > 0 {
            return Some(calls);
        }
    }
    None
}

/// So many calls the naive way makes at once, and so often it is tried: on a machine with nothing else to do it
/// takes longer to get out.
const CONTROL_CALLS: u32 = 400;
const MAX_CONTROLS: u32 = 40;

/// Our server makes as many calls as the naive way needed, up to this number.
const MAX_OURS: u32 = 800;

/// The server of a contest. Without the second wall it is the library alone that holds.
fn start(scratch: &Scratch, with_wall: bool) -> Mcp {
    let args = ["--no-log", "--allow-delete"];
    if with_wall {
        return Mcp::start(scratch, &args);
    }
    // Only the program of the tests can do without.
    let mut command = Command::new(server());
    command
        .env("HANDFAST_MCP_WITHOUT_WALL", "1")
        .arg("--state")
        .arg(state(scratch))
        .args(args)
        .arg(scratch.inside())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    let mut server = Mcp::spawn(command);
    server.initialize(json!({}));
    server
}

#[test]
fn m9_the_new_tools_never_leave_their_directory() {
    let calls: u32 = std::env::var("HANDFAST_MCP_RACED").map_or(50, |text| text.parse().unwrap());
    let scratch = Scratch::new();
    let turns = Turns::start();
    for contest in &CONTESTS {
        let tool = contest.tool;
        let control = control(&scratch, contest);
        match control {
            Some(after) => println!("{tool}: the naive control got out after {after} calls"),
            None => turns.settle(tool, "the naive control never got out"),
        }
        // As many calls as the naive way needed, or the race says nothing about ours.
        let needed = control.unwrap_or(0);
        let calls = calls.max(needed.min(MAX_OURS));
        if needed > calls {
            starved(
                tool,
                &format!("the control needed {needed} calls, and ours are {calls}"),
            );
        }
        for with_wall in [true, false] {
            arrange(&scratch, tool, calls);
            let mut server = start(&scratch, with_wall);
            let ours = contend(&scratch, calls, &mut |dir, number| {
                let answer = server.call(tool, (contest.arguments)(dir, number));
                let result = &answer["result"];
                result.get("isError").is_none().then(|| answer.to_string())
            });
            let words = server.words();
            assert_eq!(server.finish(), 0);
            let wall = if with_wall { "with" } else { "without" };
            let Outcome { escaped, done, .. } = ours;
            println!("{tool}, {wall} the wall: {calls} calls, {done} done, {escaped} escaped");
            assert_eq!(escaped, 0, "{tool}, {wall} the wall");
            assert!(with_wall || words.contains("no second wall"), "{words}");
            if done < calls / 10 {
                turns.settle_counts(tool, &[("calls done", u64::from(done))]);
            }
        }
    }
}
