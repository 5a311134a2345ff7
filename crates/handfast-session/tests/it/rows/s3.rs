//! A search that did not see everything refuses files with several names.

use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::Command;

use handfast::ErrorKind;
use handfast_session::{Catalogue, Mode, MountSpec, OpenOptions, Protect, Session, SessionSpec};

use crate::support::*;

const BASE: &str = "HANDFAST_SESSION_ROWS_UNREADABLE";

fn scene() -> Scratch {
    let s = Scratch::new();
    s.file("config/.env", "SECRET")
        .dir("data")
        .file("data/plain", "plain");
    std::fs::hard_link(s.at("config/.env"), s.at("data/x")).unwrap();
    let mode = |path: PathBuf, mode| {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    };
    mode(s.top.clone(), 0o755);
    mode(s.at("data/x"), 0o666);
    mode(s.at("config"), 0o000);
    s
}

fn try_all(session: &Session, mode: Mode) {
    let how = OpenOptions::new().write(true);
    let answers = [
        session.read("/data/x").map(drop),
        session.append("/data/x", "+").map(drop),
        session.open_with("/data/x", how).map(drop),
        session.copy("/data/x", "/data/copy").map(drop),
        session.chmod("/data/x", 0o600),
        session.rename("/data/x", "/data/y", handfast::RenameMode::NoReplace),
    ];
    for (number, answer) in answers.into_iter().enumerate() {
        // In a read-write mount a rename moves the name, and the rule goes with the file.
        if number == 5 && mode == Mode::ReadWrite {
            continue;
        }
        // Whether there may be other names is asked first, and the system second.
        assert_eq!(kind(answer), ErrorKind::Denied, "{mode} {number}");
    }
    // A file with one name is no matter.
    assert_eq!(session.read("/data/plain").unwrap(), b"plain", "{mode}");
}

fn attack(base: PathBuf) {
    assert!(
        std::fs::read_dir(base.join("config")).is_err(),
        "it is unreadable"
    );
    let home = std::env::temp_dir().join(format!("handfast-rows-{}", std::process::id()));
    for mode in [Mode::ReadOnly, Mode::Overlay] {
        let mount = MountSpec::new(&base, v("/"))
            .mode(mode)
            .protect(Protect::new().with_deny(".env"));
        let spec = SessionSpec::new().mount(mount);
        let session = match mode {
            Mode::Overlay => {
                let catalogue = Catalogue::open_ambient(&home).unwrap();
                catalogue.create("s", &spec).unwrap();
                catalogue.open("s", me()).unwrap()
            }
            _ => Session::new(&spec, me()).unwrap(),
        };
        try_all(&session, mode);
        let said = session.explain("/data/x", handfast_session::Wanted(handfast::Verb::Read));
        let said = said.unwrap();
        assert!(
            !said.allowed && said.hard_links.contains("not all"),
            "{said:?}"
        );
    }
    std::fs::remove_dir_all(home).unwrap();
}

/// Not a test by itself: an ordinary user at work.
#[test]
fn s3_the_ordinary_user() {
    if let Some(base) = std::env::var_os(BASE) {
        attack(PathBuf::from(base));
    }
}

#[test]
fn s3_an_unreadable_directory_refuses_files_with_several_names() {
    let s = scene();
    if !rustix::process::geteuid().is_root() {
        return attack(s.base());
    }
    // Root reads everything, so somebody else is asked to try. The program is where he may run it.
    let program = s.top.join("program");
    std::fs::copy(std::env::current_exe().unwrap(), &program).unwrap();
    let run = Command::new("setpriv")
        .args(["--reuid=65534", "--regid=65534", "--clear-groups"])
        .arg(&program)
        .args(["--exact", "rows::s3::s3_the_ordinary_user", "--nocapture"])
        .env(BASE, s.base())
        .output();
    match run {
        Ok(run) => assert!(
            run.status.success(),
            "{}{}",
            String::from_utf8_lossy(&run.stdout),
            String::from_utf8_lossy(&run.stderr)
        ),
        Err(error) => skip("s3 as an ordinary user", &error.to_string()),
    }
}
