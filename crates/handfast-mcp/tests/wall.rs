//! A server that was broken on purpose: somebody put an open by absolute path into it. The kernel
//! refuses all the same.
//!
//! The wall is for a whole process with one thread, so this test has no harness: it runs itself
//! again as the broken server, with the wall and, as a control, without.
#![allow(
    missing_docs,
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a test that opens files by path is its very point"
)]

use std::io::{ErrorKind, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use handfast::harden::{Wall, offered};
use handfast_mcp::{LogChoice, Options, Server, Source};

const BROKEN: &str = "HANDFAST_MCP_BROKEN_SERVER";

fn main() {
    if let Some(dir) = std::env::var_os(BROKEN) {
        return broken_server(
            Path::new(&dir),
            std::env::args().any(|arg| arg == "no-wall"),
        );
    }
    let name = "an_injected_open_is_refused_by_the_kernel";
    println!("\nrunning 1 test");
    if offered() == Wall::None {
        println!("skipped: {name}: this kernel has no Landlock");
    } else {
        for control in [false, true] {
            check(control);
        }
    }
    println!("test {name} ... ok\n\ntest result: ok. 1 passed; 0 failed; 0 ignored");
}

fn check(control: bool) {
    let dir = std::env::temp_dir().join(format!(
        "handfast-mcp-wall-{}-{control}",
        std::process::id()
    ));
    std::fs::create_dir(&dir).unwrap();
    std::fs::create_dir(dir.join("inside")).unwrap();
    std::fs::write(dir.join("inside/file"), "inside").unwrap();
    std::fs::write(dir.join("secret"), "outside").unwrap();
    let mut command = Command::new(std::env::current_exe().unwrap());
    if control {
        command.arg("no-wall");
    }
    let status = command.env(BROKEN, &dir).status().unwrap();
    let written = dir.join("planted").exists();
    std::fs::remove_dir_all(&dir).unwrap();
    assert!(
        status.success(),
        "the broken server, control {control}: {status}"
    );
    assert_eq!(written, control, "something was planted outside");
}

/// Serves one call, and then does what nobody should.
fn broken_server(dir: &Path, no_wall: bool) {
    if !no_wall {
        let mut options = Options::new(Source::Dirs(vec![dir.join("inside")]));
        options.log = LogChoice::Off;
        let started = Server::start(&options).unwrap();
        assert_ne!(started.wall, Wall::None);
        assert!(started.summary.contains("Landlock"), "{}", started.summary);
        let (input, mut client) = std::io::pipe().unwrap();
        let call = r#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_text_file","arguments":{"path":"file"}}}"#;
        writeln!(client, "{call}").unwrap();
        drop(client);
        let mut output = Vec::new();
        started
            .server
            .serve_stdio(input, &mut output, &mut |_| {})
            .unwrap();
        let text = String::from_utf8(output).unwrap();
        assert!(
            text.contains(r#""structuredContent":{"content":"inside","#),
            "{text}"
        );
    }
    inject(dir, no_wall);
    // Threads that are started later are behind the wall, too.
    let dir = PathBuf::from(dir);
    std::thread::spawn(move || inject(&dir, no_wall))
        .join()
        .unwrap();
}

fn inject(dir: &Path, no_wall: bool) {
    let secret = std::fs::read_to_string(dir.join("secret"));
    let planted = std::fs::write(dir.join("planted"), "x");
    let made = std::fs::create_dir_all(dir.join("made"));
    let moved = std::fs::rename(dir.join("inside/file"), dir.join("inside/file"));
    assert!(moved.is_ok(), "inside everything goes on: {moved:?}");
    if no_wall {
        assert_eq!(secret.unwrap(), "outside");
        planted.unwrap();
        return made.unwrap();
    }
    assert_eq!(secret.unwrap_err().kind(), ErrorKind::PermissionDenied);
    assert_eq!(planted.unwrap_err().kind(), ErrorKind::PermissionDenied);
    assert_eq!(made.unwrap_err().kind(), ErrorKind::PermissionDenied);
    let stolen = std::fs::rename(dir.join("inside/file"), dir.join("stolen"));
    assert!(stolen.is_err(), "something was moved out");
}
