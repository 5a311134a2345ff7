//! Names and handles: what a filesystem promises to programs.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, SeekFrom, Write};
use std::os::unix::fs::{FileExt, MetadataExt, PermissionsExt};
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use handfast::{Decision, Event, RecordError, Recorder};
use handfast_session::{Caller, Mode, Protect};

use crate::support::{Cached, Mounted, in_namespace};

fn files(base: &Path) {
    std::fs::create_dir_all(base.join("dir/sub")).unwrap();
    std::fs::write(base.join("dir/sub/deep.txt"), "deep").unwrap();
    std::fs::write(base.join("a.txt"), "from the base").unwrap();
    std::os::unix::fs::symlink("a.txt", base.join("link")).unwrap();
}

fn overlay() -> Mounted {
    Mounted::new(Mode::Overlay, Protect::new(), files)
}

#[test]
fn a_file_without_a_name_answers_from_its_handle() {
    in_namespace(
        "names::a_file_without_a_name_answers_from_its_handle",
        || {
            let mounted = overlay();
            let path = mounted.view.join("a.txt");
            let mut open = File::options().read(true).write(true).open(&path).unwrap();
            std::fs::remove_file(&path).unwrap();
            assert!(!path.exists());
            open.write_all_at(b"FROM", 0).unwrap();
            let mut text = String::new();
            open.read_to_string(&mut text).unwrap();
            assert_eq!(text, "FROM the base");
            let facts = open.metadata().unwrap();
            assert_eq!((facts.len(), facts.nlink()), (13, 0));
            open.set_len(4).unwrap();
            assert_eq!(open.metadata().unwrap().len(), 4);
            // Another file takes the name, and is another file.
            std::fs::write(&path, "second").unwrap();
            assert_ne!(std::fs::metadata(&path).unwrap().ino(), facts.ino());
            assert_eq!(
                std::fs::read(mounted.base.join("a.txt")).unwrap(),
                b"from the base"
            );
        },
    );
}

#[test]
fn a_reader_sees_what_a_later_writer_writes() {
    in_namespace("names::a_reader_sees_what_a_later_writer_writes", || {
        let mounted = overlay();
        let path = mounted.view.join("a.txt");
        let mut reader = File::open(&path).unwrap();
        let mut writer = OpenOptions::new().write(true).open(&path).unwrap();
        writer.write_all(b"COPY").unwrap();
        // The kernel's cache is dropped: what is read now is asked of the face.
        writer.sync_all().unwrap();
        rustix::fs::fadvise(&reader, 0, None, rustix::fs::Advice::DontNeed).unwrap();
        reader.seek(SeekFrom::Start(0)).unwrap();
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "COPY the base");
    });
}

#[test]
fn what_lies_in_a_renamed_directory_is_found_and_stays_open() {
    in_namespace(
        "names::what_lies_in_a_renamed_directory_is_found_and_stays_open",
        || {
            let mounted = overlay();
            let view = &mounted.view;
            let mut open = File::open(view.join("dir/sub/deep.txt")).unwrap();
            let number = open.metadata().unwrap().ino();
            std::fs::rename(view.join("dir"), view.join("moved")).unwrap();
            let path = view.join("moved/sub/deep.txt");
            assert_eq!(std::fs::metadata(&path).unwrap().ino(), number);
            std::fs::write(&path, "written after").unwrap();
            let mut text = String::new();
            open.read_to_string(&mut text).unwrap();
            assert_eq!(text, "written after");
            std::fs::create_dir(view.join("dir")).unwrap();
            std::fs::write(view.join("dir/sub"), "another").unwrap();
            assert_eq!(
                std::fs::read_dir(view.join("moved/sub")).unwrap().count(),
                1
            );
            assert_eq!(std::fs::read(view.join("dir/sub")).unwrap(), b"another");
            assert!(mounted.base.join("dir/sub/deep.txt").exists());
        },
    );
}

#[test]
fn large_directories_are_listed_whole_while_names_go() {
    in_namespace(
        "names::large_directories_are_listed_whole_while_names_go",
        || {
            let mounted = Mounted::new(Mode::Overlay, Protect::new(), |base| {
                for number in 0..3000 {
                    std::fs::write(base.join(format!("{number:05}-{}", "x".repeat(80))), "")
                        .unwrap();
                }
            });
            let mut seen = 0;
            for entry in std::fs::read_dir(&mounted.view).unwrap() {
                std::fs::remove_file(entry.unwrap().path()).unwrap();
                seen += 1;
            }
            assert_eq!(seen, 3000);
            assert_eq!(std::fs::read_dir(&mounted.view).unwrap().count(), 0);
            assert_eq!(std::fs::read_dir(&mounted.base).unwrap().count(), 3000);
        },
    );
}

#[test]
fn what_the_overlay_cannot_keep_is_refused_as_a_filesystem_would() {
    in_namespace(
        "names::what_the_overlay_cannot_keep_is_refused_as_a_filesystem_would",
        || {
            let mounted = overlay();
            let view = &mounted.view;
            let number = |done: std::io::Result<()>| match done {
                Ok(()) => 0,
                Err(error) => error.raw_os_error().unwrap(),
            };
            let device = rustix::fs::mknodat(
                rustix::fs::CWD,
                view.join("device"),
                rustix::fs::FileType::CharacterDevice,
                rustix::fs::Mode::from_raw_mode(0o600),
                rustix::fs::makedev(1, 3),
            );
            assert_eq!(device, Err(rustix::io::Errno::PERM));
            let owner = std::os::unix::fs::chown(view.join("a.txt"), Some(12345), None);
            // Without capabilities the kernel says so itself; with them, the overlay does. In a
            // namespace that has no such user the kernel finds the number wrong.
            let refused = [rustix::io::Errno::PERM, rustix::io::Errno::INVAL];
            assert!(
                refused
                    .map(|errno| errno.raw_os_error())
                    .contains(&number(owner))
            );
            let same = std::fs::metadata(view.join("a.txt")).unwrap();
            assert_eq!(
                number(std::os::unix::fs::chown(
                    view.join("a.txt"),
                    Some(same.uid()),
                    None
                )),
                0
            );
            std::fs::set_permissions(view.join("a.txt"), PermissionsExt::from_mode(0o700)).unwrap();
            assert_eq!(
                std::fs::metadata(view.join("a.txt")).unwrap().mode() & 0o777,
                0o700
            );
            assert_eq!(
                std::fs::read_link(view.join("link")).unwrap(),
                Path::new("a.txt")
            );
        },
    );
}

#[test]
fn a_commit_from_elsewhere_does_not_disturb_a_program() {
    in_namespace(
        "names::a_commit_from_elsewhere_does_not_disturb_a_program",
        || {
            let mounted = overlay();
            let view = &mounted.view;
            std::fs::create_dir(view.join("made")).unwrap();
            let mut open = File::create(view.join("made/log.txt")).unwrap();
            open.write_all(b"one\n").unwrap();
            drop(open);
            let dir = File::open(view.join("made")).unwrap();
            let other = mounted.other();
            other
                .commit(&handfast_session::CommitOptions::default(), &mut |_, _| {})
                .unwrap();
            // The directory is used before its name is looked up again, and after.
            let handle = rustix::fs::openat(
                &dir,
                "log.txt",
                rustix::fs::OFlags::RDONLY,
                rustix::fs::Mode::empty(),
            );
            assert!(handle.is_ok(), "{handle:?}");
            assert_eq!(
                std::fs::read(mounted.base.join("made/log.txt")).unwrap(),
                b"one\n"
            );
            assert_eq!(std::fs::read(view.join("made/log.txt")).unwrap(), b"one\n");
            std::fs::write(view.join("made/second.txt"), "two").unwrap();
            // A program's working directory was made by the overlay, and is the base's by now.
            let flags = rustix::fs::OFlags::CREATE | rustix::fs::OFlags::WRONLY;
            let mode = rustix::fs::Mode::from_raw_mode(0o644);
            rustix::fs::openat(&dir, "third.txt", flags, mode).unwrap();
            assert!(view.join("made/third.txt").exists());
            assert_eq!(std::fs::read(view.join("made/second.txt")).unwrap(), b"two");
        },
    );
}

/// Keeps the paths that are told.
#[derive(Default)]
struct Told(Mutex<Vec<String>>);

impl Recorder for Told {
    fn record(&self, event: &Event<'_>) -> Result<(), RecordError> {
        self.0.lock().unwrap().push(event.path.to_string());
        Ok(())
    }
}

#[test]
fn the_log_names_the_path_that_a_file_has_after_a_rename() {
    in_namespace(
        "names::the_log_names_the_path_that_a_file_has_after_a_rename",
        || {
            let told = Arc::new(Told::default());
            let recorder = Arc::clone(&told) as Arc<dyn Recorder>;
            let caller = Caller::new("test").recorder(recorder);
            let lasting = (caller, Cached::For(Duration::from_secs(3600)));
            let mounted = Mounted::with_caller(Mode::Overlay, Protect::new(), files, lasting);
            let view = &mounted.view;
            // The kernel knows the names below, and does not ask for them again.
            std::fs::read(view.join("dir/sub/deep.txt")).unwrap();
            std::fs::rename(view.join("dir"), view.join("moved")).unwrap();
            told.0.lock().unwrap().clear();
            std::fs::read(view.join("moved/sub/deep.txt")).unwrap();
            std::fs::write(view.join("moved/sub/deep.txt"), "new").unwrap();
            let told = told.0.lock().unwrap().clone();
            let right = |path: &String| path == "ws/moved/sub/deep.txt";
            assert!(told.len() >= 2 && told.iter().all(right), "{told:?}");
        },
    );
}

/// Refusals: verb, path, kind and why.
#[derive(Default)]
struct Refused(Mutex<Vec<String>>);

impl Recorder for Refused {
    fn record(&self, event: &Event<'_>) -> Result<(), RecordError> {
        if let Decision::Refused { kind, why } = &event.decision {
            let line = format!("{} {} {kind:?} {why}", event.verb, event.path);
            self.0.lock().unwrap().push(line);
        }
        Ok(())
    }
}

#[test]
fn a_look_at_a_denied_name_is_told_and_nothing_else_that_is_looked_at() {
    in_namespace(
        "names::a_look_at_a_denied_name_is_told_and_nothing_else_that_is_looked_at",
        || {
            let refused = Arc::new(Refused::default());
            let caller = Caller::new("test").recorder(Arc::clone(&refused) as Arc<dyn Recorder>);
            let fill = |base: &Path| {
                files(base);
                std::fs::write(base.join("dir/.env"), "SECRET").unwrap();
                std::fs::create_dir(base.join("dir/closed")).unwrap();
                std::fs::write(base.join("dir/closed/key"), "SECRET").unwrap();
            };
            let protect = Protect::new().with_deny(".env").with_deny("closed");
            let lasting = (caller, Cached::For(Duration::from_secs(3600)));
            let mounted = Mounted::with_caller(Mode::Overlay, protect, fill, lasting);
            let view = &mounted.view;
            // The kernel may look twice.
            let told = || {
                let mut told = std::mem::take(&mut *refused.0.lock().unwrap());
                told.dedup();
                told
            };
            // What is missing, what may be seen, and a listing with what may not.
            assert!(!view.join("dir/missing").exists());
            std::fs::read(view.join("dir/sub/deep.txt")).unwrap();
            std::fs::read_dir(view.join("dir")).unwrap().for_each(drop);
            assert_eq!(told(), [""; 0]);
            let denied = |path: &str| {
                let error = std::fs::read(view.join(path)).unwrap_err();
                assert_eq!(error.raw_os_error(), Some(libc::EACCES), "{path}");
            };
            let expected = ["resolve ws/dir/.env Denied protected by deny `.env`"];
            assert!(std::fs::metadata(view.join("dir/.env")).is_err());
            assert_eq!(told(), expected);
            denied("dir/.env");
            assert_eq!(told(), expected);
            denied("dir/closed/key");
            let told = told();
            assert!(
                told.len() == 1 && told[0].contains("ws/dir/closed"),
                "{told:?}"
            );
        },
    );
}
