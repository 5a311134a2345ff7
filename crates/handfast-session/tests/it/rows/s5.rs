//! Modes and durability are kept, in overlays too.

use handfast::files::{At, Files, Put};
use handfast::{Durability, WriteOptions};
use handfast_session::{CommitOptions, Mode, OpenOptions, Session};

use super::name;
use crate::support::*;

fn bits(session: &Session, path: &str) -> u32 {
    session.symlink_metadata(path).unwrap().mode & 0o777
}

/// What the process's umask leaves of a mode, as the kernel says.
fn under_umask(s: &Scratch, mode: u32) -> u32 {
    use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
    let path = s.top.join(format!("probe-{mode:o}"));
    let mut how = std::fs::File::options();
    let file = how.write(true).create_new(true).mode(mode).open(path);
    file.unwrap().metadata().unwrap().permissions().mode() & 0o777
}

#[test]
fn s5_a_new_file_has_the_mode_that_was_asked_for_before_and_after_commit() {
    for mode in [Mode::Overlay, Mode::Memory, Mode::ReadWrite] {
        let s = Scratch::new();
        s.file("old", "old");
        let session = s.session(mode);
        let files: &dyn Files = &session;
        let top = files.top().unwrap();
        let exact = |bits| WriteOptions::new().mode(bits).durability(Durability::None);
        for (path, bits) in [("/run", 0o755), ("/key", 0o600), ("/odd", 0o711)] {
            session.put(path, "x", Put::New, exact(bits)).unwrap();
        }
        let by_handle = name("by-handle");
        let at = At::new(&top, &by_handle);
        files.put_at(at, b"x", Put::New, exact(0o755)).unwrap();
        let staged = name("staged");
        let stage = files
            .stage_at(At::new(&top, &staged), exact(0o700))
            .unwrap();
        stage.publish(Put::New).unwrap();
        let how = OpenOptions::new().write(true).create_new(true);
        drop(session.open_with("/opened", how.mode(0o777)).unwrap());
        drop(session.open_with("/private", how.mode(0o600)).unwrap());
        let seen = session.version("/old").unwrap();
        let put = Put::If(&seen);
        session.put("/old", "new", put, exact(0o600)).unwrap();
        session.create_dir_with("/dir", 0o700).unwrap();
        session.copy("/run", "/copied").unwrap();
        let wanted = [
            ("run", 0o755),
            ("key", 0o600),
            ("odd", 0o711),
            ("by-handle", 0o755),
            ("staged", 0o700),
            ("opened", under_umask(&s, 0o777)),
            ("private", 0o600),
            ("old", 0o600),
            ("dir", 0o700),
            ("copied", 0o755),
        ];
        for (path, mode_bits) in wanted {
            assert_eq!(
                bits(&session, &format!("/{path}")),
                mode_bits,
                "{mode} {path}"
            );
        }
        let report = session.commit(&CommitOptions::default(), &mut |_, _| {});
        assert_eq!(report.unwrap().conflicts, []);
        for (path, mode_bits) in wanted {
            use std::os::unix::fs::PermissionsExt;
            let status = std::fs::symlink_metadata(s.at(path)).unwrap();
            let there = status.permissions().mode() & 0o777;
            assert_eq!(there, mode_bits, "{mode} {path} in the base");
        }
    }
}

const DURABILITY: &str = "HANDFAST_SESSION_ROWS_DURABILITY";

/// Not a test by itself: writes with one durability, while its system calls are counted.
#[test]
fn s5_the_writer() {
    let Ok(asked) = std::env::var(DURABILITY) else {
        return;
    };
    let durability = match asked.as_str() {
        "none" => Durability::None,
        "file" => Durability::File,
        _ => Durability::Full,
    };
    let s = Scratch::new();
    let session = s.session(Mode::Overlay);
    let options = WriteOptions::new().durability(durability);
    println!("begin");
    session.put("/a", "a", Put::Replace, options).unwrap();
    session.append_with("/a", "b", options).unwrap();
    println!("end");
}

/// How often the writer waited for the disk between `begin` and `end`.
fn waits(durability: &str) -> Result<usize, String> {
    let run = std::process::Command::new("strace")
        .args([
            "-f",
            "-o",
            "/dev/stdout",
            "-e",
            "trace=fsync,fdatasync,syncfs,write",
        ])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "rows::s5::s5_the_writer", "--nocapture"])
        .env(DURABILITY, durability)
        .output()
        .map_err(|error| error.to_string())?;
    let text = String::from_utf8_lossy(&run.stdout).into_owned();
    let between = text.lines().skip_while(|line| !line.contains("\"begin"));
    let between: Vec<&str> = between.take_while(|line| !line.contains("\"end")).collect();
    if !run.status.success() || between.is_empty() {
        return Err(String::from_utf8_lossy(&run.stderr).into_owned());
    }
    let is_wait = |line: &&str| line.contains("sync(") || line.contains("syncfs(");
    Ok(between.into_iter().filter(is_wait).count())
}

#[test]
fn s5_an_overlay_waits_for_the_disk_if_that_was_asked_for() {
    let counted = ["none", "file", "full"].map(waits);
    let [Ok(none), Ok(file), Ok(full)] = counted else {
        return skip("s5 durability", &format!("{counted:?}"));
    };
    println!("s5: {none}, {file} and {full} waits");
    assert_eq!(none, 0);
    // Content and journal, of both writes.
    assert!(file >= 4 && full >= file, "{file} and {full}");
}
