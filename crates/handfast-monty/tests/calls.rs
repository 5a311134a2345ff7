//! The twenty calls on sessions of each mode: values, exceptions, words, and what Handfast adds.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    reason = "tests look at the host from outside, and panic"
)]

use std::sync::Arc;

use handfast_monty::{MontyFiles, MountLimits};
use handfast_session::{
    Catalogue, CommitOptions, Mode, MountSpec, Protect, Quota, Session, SessionSpec, VirtualPath,
};
use monty_types::{
    ExcType, ExtFunctionResult, FileMode, MkdirCallArgs, MontyObject, OpenCallArgs, OsFunctionCall,
    PathBytesDataArgs, PathStringDataArgs, RenameCallArgs, ScanArgs,
};
use tempfile::TempDir;

const WRITABLE: [Mode; 3] = [Mode::ReadWrite, Mode::Memory, Mode::Overlay];

/// A directory with a few files, and a session over it at `/w`.
struct Place {
    base: TempDir,
    _state: TempDir,
    files: MontyFiles,
}

fn place(mode: Mode) -> Place {
    place_with(mode, |mount| mount)
}

fn place_with(mode: Mode, shape: impl FnOnce(MountSpec) -> MountSpec) -> Place {
    let (base, state) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    std::fs::create_dir(base.path().join("dir")).unwrap();
    std::fs::write(base.path().join("a.txt"), "grün\n").unwrap();
    std::fs::write(base.path().join("dir/b.bin"), b"\xff\x00").unwrap();
    let at = VirtualPath::parse("/w").unwrap();
    let mount = shape(MountSpec::new(base.path(), at).mode(mode));
    let spec = SessionSpec::new().mount(mount);
    let session = match mode {
        Mode::Overlay => {
            let catalogue = Catalogue::open_ambient(state.path().join("state")).unwrap();
            catalogue.create("one", &spec).unwrap();
            catalogue
                .open("one", handfast_session::Caller::new("test"))
                .unwrap()
        }
        _ => Session::new(&spec, handfast_session::Caller::new("test")).unwrap(),
    };
    Place {
        base,
        _state: state,
        files: MontyFiles::new(Arc::new(session)),
    }
}

impl Place {
    fn ok(&self, call: OsFunctionCall) -> MontyObject {
        let said = format!("{call:?}");
        match self.files.answer(call) {
            ExtFunctionResult::Return(value) => value,
            other => panic!("{said}: {other:?}"),
        }
    }

    /// The exception's class and text. Whatever it is, no path of the host is in it.
    fn no(&self, call: OsFunctionCall) -> (ExcType, String) {
        let said = format!("{call:?}");
        match self.files.answer(call) {
            ExtFunctionResult::Error(error) => {
                let text = error.message().unwrap_or_default().to_owned();
                let host = self.base.path().to_str().unwrap();
                assert!(!text.contains(host), "{said}: {text}");
                (error.exc_type(), text)
            }
            other => panic!("{said}: {other:?}"),
        }
    }

    fn paths(&self, call: OsFunctionCall) -> Vec<String> {
        let listed = self.ok(call);
        let items = listed.as_ref().items().unwrap();
        let mut all: Vec<_> = items.iter().map(|item| item.py_repr()).collect();
        all.sort();
        all
    }
}

fn write_text(path: &str, data: &str) -> OsFunctionCall {
    OsFunctionCall::WriteText(PathStringDataArgs {
        path: path.into(),
        data: data.into(),
    })
}

fn append_text(path: &str, data: &str) -> OsFunctionCall {
    OsFunctionCall::AppendText(PathStringDataArgs {
        path: path.into(),
        data: data.into(),
    })
}

fn mkdir(path: &str, parents: bool, exist_ok: bool) -> OsFunctionCall {
    OsFunctionCall::Mkdir(MkdirCallArgs {
        path: path.into(),
        parents,
        exist_ok,
    })
}

fn rename(src: &str, dst: &str) -> OsFunctionCall {
    OsFunctionCall::Rename(RenameCallArgs {
        src: src.into(),
        dst: dst.into(),
    })
}

fn open(path: &str, mode: FileMode) -> OsFunctionCall {
    OsFunctionCall::Open(OpenCallArgs {
        path: path.into(),
        mode,
    })
}

fn read(path: &str) -> OsFunctionCall {
    OsFunctionCall::ReadText(path.into())
}

#[test]
fn looking() {
    for mode in Mode::ALL {
        let place = place(mode);
        let yes = MontyObject::bool(true);
        assert_eq!(place.ok(OsFunctionCall::Exists("/w/a.txt".into())), yes);
        assert_eq!(place.ok(OsFunctionCall::IsFile("/w/a.txt".into())), yes);
        assert_eq!(place.ok(OsFunctionCall::IsDir("/w/dir".into())), yes);
        assert_eq!(place.ok(OsFunctionCall::IsDir("/w".into())), yes);
        let no = MontyObject::bool(false);
        assert_eq!(place.ok(OsFunctionCall::IsSymlink("/w/a.txt".into())), no);
        assert_eq!(place.ok(OsFunctionCall::Exists("/w/none".into())), no);
        assert_eq!(place.ok(OsFunctionCall::Exists("/w/a\0".into())), no);
        let stat = place.ok(OsFunctionCall::Stat("/w/a.txt".into()));
        let items: Vec<_> = stat.as_ref().items().unwrap();
        assert_eq!(items[0].as_int(), Some(0o100_644), "{mode}");
        assert_eq!(items[6].as_int(), Some(6));
        assert_eq!(
            place.paths(OsFunctionCall::Iterdir("/w".into())),
            ["PosixPath('/w/a.txt')", "PosixPath('/w/dir')"]
        );
        let there = MontyObject::path("/w/x");
        assert_eq!(
            place.ok(OsFunctionCall::Resolve("/w/./y/../x".into())),
            there
        );
        assert_eq!(place.ok(OsFunctionCall::Absolute("/w//x".into())), there);
        let scanned = place.ok(OsFunctionCall::Scan(ScanArgs::listing(
            "/w".into(),
            None,
            false,
        )));
        assert_eq!(scanned.as_ref().items().unwrap().len(), 4, "{mode}");
        let parts = vec!["**".to_owned(), "*.bin".to_owned()];
        let globbed = place.ok(OsFunctionCall::Scan(ScanArgs::glob(
            "/w".into(),
            parts,
            None,
            false,
        )));
        assert!(
            globbed.py_repr().contains("dir/b.bin"),
            "{}",
            globbed.py_repr()
        );
    }
}

#[test]
fn reading_and_writing() {
    for mode in WRITABLE {
        let place = place(mode);
        assert_eq!(place.ok(read("/w/a.txt")), MontyObject::string("grün\n"));
        let bytes = place.ok(OsFunctionCall::ReadBytes("/w/dir/b.bin".into()));
        assert_eq!(bytes, MontyObject::bytes(b"\xff\x00".to_vec()));
        let (class, text) = place.no(read("/w/dir/b.bin"));
        assert_eq!(class, ExcType::UnicodeDecodeError);
        assert_eq!(
            text,
            "'utf-8' codec can't decode byte 0xff in position 0: invalid start byte"
        );
        // Characters are counted for text, bytes for bytes.
        assert_eq!(place.ok(write_text("/w/n", "é1")), MontyObject::int(2));
        assert_eq!(place.ok(append_text("/w/n", "é2")), MontyObject::int(2));
        let more = PathBytesDataArgs {
            path: "/w/n".into(),
            data: b"!".to_vec(),
        };
        let added = OsFunctionCall::AppendBytes(more.clone());
        assert_eq!(place.ok(added), MontyObject::int(1));
        assert_eq!(place.ok(read("/w/n")), MontyObject::string("é1é2!"));
        assert_eq!(
            place.ok(OsFunctionCall::WriteBytes(more)),
            MontyObject::int(1)
        );
        place.ok(open("/w/n", FileMode::Append(false)));
        assert_eq!(place.ok(read("/w/n")), MontyObject::string("!"));
        place.ok(open("/w/n", FileMode::Write(false)));
        assert_eq!(place.ok(read("/w/n")), MontyObject::string(""));
        place.ok(open("/w/n", FileMode::Read(false)));
        let missing = place.no(open("/w/none", FileMode::Read(true)));
        assert_eq!(missing.0, ExcType::FileNotFoundError);
        assert_eq!(missing.1, "[Errno 2] No such file or directory: '/w/none'");
        let dir = place.no(write_text("/w/dir", ""));
        assert_eq!(
            dir,
            (
                ExcType::IsADirectoryError,
                "[Errno 21] Is a directory: '/w/dir'".into()
            )
        );
    }
}

#[test]
fn names() {
    for mode in WRITABLE {
        let place = place(mode);
        place.ok(mkdir("/w/x/y/z", true, false));
        place.ok(mkdir("/w/x/y/z", true, true));
        let again = place.no(mkdir("/w/x", false, false));
        assert_eq!(
            again,
            (
                ExcType::FileExistsError,
                "[Errno 17] File exists: '/w/x'".into()
            )
        );
        let file = place.no(mkdir("/w/a.txt", true, true));
        assert_eq!(file.0, ExcType::FileExistsError, "{mode}");
        let full = place.no(OsFunctionCall::Rmdir("/w/x".into()));
        assert_eq!(
            full,
            (
                ExcType::OSError,
                "[Errno 39] Directory not empty: '/w/x'".into()
            )
        );
        place.ok(OsFunctionCall::Rmdir("/w/x/y/z".into()));
        place.ok(rename("/w/a.txt", "/w/x/a.txt"));
        place.ok(OsFunctionCall::Unlink("/w/x/a.txt".into()));
        let mount = place.no(OsFunctionCall::Rmdir("/w".into()));
        assert_eq!(
            mount,
            (
                ExcType::PermissionError,
                "[Errno 13] Permission denied: '/w'".into()
            )
        );
        let out = place.no(rename("/w/dir", "/elsewhere"));
        assert_eq!(
            out,
            (
                ExcType::OSError,
                "[Errno 18] Invalid cross-device link: '/w/dir' -> '/elsewhere'".into()
            )
        );
        let touched = mode == Mode::ReadWrite;
        assert_eq!(place.base.path().join("x").exists(), touched, "{mode}");
    }
}

#[test]
fn a_read_only_mount_says_so_for_every_change() {
    let place = place(Mode::ReadOnly);
    for call in [
        write_text("/w/a.txt", ""),
        append_text("/w/n", ""),
        mkdir("/w/a/b", true, true),
        OsFunctionCall::Unlink("/w/a.txt".into()),
        OsFunctionCall::Rmdir("/w/dir".into()),
        rename("/w/a.txt", "/w/b.txt"),
        open("/w/a.txt", FileMode::Append(true)),
        open("/w/n", FileMode::Write(true)),
    ] {
        let (class, text) = place.no(call);
        assert_eq!(class, ExcType::PermissionError);
        assert!(
            text.starts_with("[Errno 30] Read-only file system: '/w/"),
            "{text}"
        );
    }
}

#[test]
fn what_nobody_mounted_is_somebody_elses() {
    let place = place(Mode::ReadOnly);
    let (class, text) = place.no(OsFunctionCall::Exists("/etc/passwd".into()));
    assert_eq!(class, ExcType::PermissionError);
    assert_eq!(text, "Permission denied: '/etc/passwd'");
    let (class, _) = place.no(OsFunctionCall::GetEnviron);
    assert_eq!(class, ExcType::RuntimeError);
}

#[test]
fn another_name_of_a_file_outside_is_not_written() {
    let place = place(Mode::ReadWrite);
    let outside = TempDir::new().unwrap();
    let secret = outside.path().join("secret");
    std::fs::write(&secret, "secret").unwrap();
    std::fs::hard_link(&secret, place.base.path().join("inside")).unwrap();
    let (class, _) = place.no(append_text("/w/inside", "x"));
    assert_eq!(class, ExcType::PermissionError);
    // A write gives the name a file of its own.
    place.ok(write_text("/w/inside", "mine"));
    assert_eq!(std::fs::read_to_string(secret).unwrap(), "secret");
}

#[test]
fn links_that_lead_outside() {
    for mode in Mode::ALL {
        let place = place(mode);
        let outside = TempDir::new().unwrap();
        std::fs::write(outside.path().join("f"), "secret").unwrap();
        std::os::unix::fs::symlink(outside.path().join("f"), place.base.path().join("out"))
            .unwrap();
        std::os::unix::fs::symlink("a.txt", place.base.path().join("in")).unwrap();
        let (class, text) = place.no(read("/w/out"));
        assert_eq!(class, ExcType::PermissionError);
        assert_eq!(text, "[Errno 13] Permission denied: '/w/out'");
        assert_eq!(place.ok(read("/w/in")), MontyObject::string("grün\n"));
        let is = place.ok(OsFunctionCall::IsSymlink("/w/out".into()));
        assert_eq!(is, MontyObject::bool(true));
        let listed = place.paths(OsFunctionCall::Iterdir("/w".into()));
        assert!(
            listed.iter().any(|path| path.contains("/w/in")),
            "{mode} {listed:?}"
        );
        assert!(
            !listed.iter().any(|path| path.contains("/w/out")),
            "{mode} {listed:?}"
        );
        if mode != Mode::ReadOnly {
            place.no(write_text("/w/out", "x"));
        }
        assert_eq!(
            std::fs::read_to_string(outside.path().join("f")).unwrap(),
            "secret"
        );
    }
}

#[test]
fn protected_files_and_quotas() {
    let place = place_with(Mode::Memory, |mount| {
        mount
            .protect(Protect::new().with_deny(".env").with_read_only("a.txt"))
            .quota(Quota {
                bytes: Some(100),
                ..Quota::new()
            })
    });
    std::fs::write(place.base.path().join(".env"), "KEY=1").unwrap();
    let (class, text) = place.no(read("/w/.env"));
    assert_eq!(class, ExcType::PermissionError);
    assert_eq!(text, "[Errno 13] Permission denied: '/w/.env'");
    // A read-only name is changed in the overlay alone.
    place.ok(write_text("/w/sub/../a.txt", "x"));
    assert_eq!(place.ok(read("/w/a.txt")), MontyObject::string("x"));
    let base = std::fs::read_to_string(place.base.path().join("a.txt"));
    assert_eq!(base.unwrap(), "grün\n");
    place.ok(write_text("/w/n", &"x".repeat(90)));
    let (class, text) = place.no(append_text("/w/n", &"x".repeat(20)));
    assert_eq!(class, ExcType::OSError);
    assert_eq!(text, "[Errno 122] Disk quota exceeded: '/w/n'");
    // What is removed may be used again.
    place.ok(OsFunctionCall::Unlink("/w/n".into()));
    place.ok(write_text("/w/n", &"x".repeat(90)));
}

#[test]
fn montys_own_limits() {
    let mut place = place(Mode::ReadWrite);
    let limits = MountLimits::new().with_write_bytes(4).with_memory(5);
    place.files = place.files.with_limits("/w/", limits);
    let (class, text) = place.no(read("/w/a.txt"));
    assert_eq!(class, ExcType::MemoryError);
    assert_eq!(text, "mount memory usage limit of 5 bytes exceeded");
    place.ok(write_text("/w/n", "1234"));
    let (class, text) = place.no(write_text("/w/n", "5"));
    assert_eq!(
        (class, text.as_str()),
        (ExcType::OSError, "disk write limit of 4 bytes exceeded")
    );
}

#[test]
fn a_reader_beside_sees_the_old_content_or_the_new() {
    let place = place(Mode::ReadWrite);
    let versions = ["a".repeat(100_000), "b".repeat(70_000)];
    place.ok(write_text("/w/n", &versions[0]));
    let host = place.base.path().join("n");
    let done = std::sync::atomic::AtomicBool::new(false);
    let reads = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut reads = 0_u32;
            while !done.load(std::sync::atomic::Ordering::Relaxed) {
                let seen = std::fs::read_to_string(&host).unwrap();
                assert!(versions.contains(&seen), "{} bytes", seen.len());
                reads += 1;
            }
            reads
        });
        for round in 0..200 {
            place.ok(write_text("/w/n", &versions[round % 2]));
        }
        done.store(true, std::sync::atomic::Ordering::Relaxed);
        reader.join().unwrap()
    });
    assert!(reads > 0);
}

#[test]
fn an_overlay_lasts_and_is_committed() {
    let (base, state) = (TempDir::new().unwrap(), TempDir::new().unwrap());
    let mount = MountSpec::new(base.path(), VirtualPath::parse("/w").unwrap());
    let catalogue = Catalogue::open_ambient(state.path().join("state")).unwrap();
    catalogue
        .create("one", &SessionSpec::new().mount(mount))
        .unwrap();
    for text in ["first", "second"] {
        let files = MontyFiles::new(Arc::new(
            catalogue
                .open("one", handfast_session::Caller::new("test"))
                .unwrap(),
        ));
        assert!(matches!(
            files.answer(append_text("/w/n", text)),
            ExtFunctionResult::Return(_)
        ));
    }
    assert!(!base.path().join("n").exists());
    let session = catalogue
        .open("one", handfast_session::Caller::new("test"))
        .unwrap();
    session
        .commit(&CommitOptions::default(), &mut |_, _| {})
        .unwrap();
    assert_eq!(
        std::fs::read_to_string(base.path().join("n")).unwrap(),
        "firstsecond"
    );
}
