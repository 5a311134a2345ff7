//! What a process has besides its files: calls it may make, descriptors, its root, its umask.

use std::process::Command;

use handfast::{Backend, BackendReason, ErrorKind, RelPath, WriteOptions};

use super::{open, rel};

/// `openat2` is taken away after the root was opened: the walk takes over, once and for good.
pub(crate) fn lose_openat2(root: &str, errno: &str) -> i32 {
    use seccompiler::{SeccompAction, SeccompFilter, apply_filter};
    let errno = match errno {
        "EPERM" => rustix::io::Errno::PERM,
        _ => rustix::io::Errno::NOSYS,
    };
    let strict = open(root, "kernel");
    let root = open(root, "auto");
    assert_eq!(root.read(&rel("a/f")).unwrap(), b"f");
    assert_eq!(root.enforcement().backend, Backend::Kernel);
    let filter = SeccompFilter::new(
        [(libc::SYS_openat2, vec![])].into_iter().collect(),
        SeccompAction::Allow,
        SeccompAction::Errno(errno.raw_os_error().unsigned_abs()),
        std::env::consts::ARCH.try_into().unwrap(),
    )
    .unwrap();
    let program: seccompiler::BpfProgram = filter.try_into().unwrap();
    apply_filter(&program).unwrap();
    assert_eq!(root.read(&rel("a/f")).unwrap(), b"f");
    let after = root.enforcement();
    assert_eq!(
        (after.backend, after.reason),
        (Backend::Walk, BackendReason::Lost)
    );
    root.write(&rel("a/g"), "g").unwrap();
    assert_eq!(
        root.read(&rel("a/link")).unwrap_err().kind(),
        ErrorKind::Link
    );
    // Who insists on the kernel gets it or nothing.
    assert_eq!(
        strict.read(&rel("a/f")).unwrap_err().kind(),
        ErrorKind::Unsupported
    );
    0
}

/// No descriptor of ours reaches a program that is started.
pub(crate) fn inherit(root: &str, backend: &str) -> i32 {
    // Whatever this process was started with is not ours.
    let count = || {
        let output = Command::new("ls")
            .args(["-1", "/proc/self/fd"])
            .output()
            .unwrap();
        String::from_utf8_lossy(&output.stdout).lines().count()
    };
    let before = count();
    let root = open(root, backend);
    let _file = root.open(&rel("a/f")).unwrap();
    let _dir = root.open_dir(&rel("a")).unwrap();
    let _node =
        handfast::Files::node(&root, &rel("a/f"), handfast::files::LastLink::Itself).unwrap();
    let _list = root.read_dir(&rel("a")).unwrap();
    let _walk = root.walk(&rel("a")).unwrap();
    let _temp = root.temp_file(&rel("a")).unwrap();
    let _temp_dir = root.temp_dir(&rel("a")).unwrap();
    let _lock = root
        .lock(
            &rel("a/lock"),
            handfast::LockKind::Exclusive,
            std::time::Duration::ZERO,
        )
        .unwrap();
    let _staged = root.stage(&rel("a/f"), WriteOptions::new()).unwrap();
    i32::from(count() != before)
}

/// The process's own root changes after a root was opened: the descriptor keeps its meaning.
pub(crate) fn chroot(root: &str, outside: &str) -> i32 {
    let root = open(root, "auto");
    if rustix::process::chroot(outside).is_err() {
        return 3;
    }
    std::env::set_current_dir("/").unwrap();
    assert_eq!(root.read(&rel("f")).unwrap(), b"f");
    root.write(&rel("g"), "g").unwrap();
    assert_eq!(root.read(&rel("out")).unwrap_err().kind(), ErrorKind::Link);
    0
}

/// The host's umask decides for new files, and for nothing that has an exact mode.
pub(crate) fn umask(root: &str, backend: &str) -> i32 {
    let root = open(root, backend);
    let mode = |path: &str| root.metadata(&rel(path)).unwrap().mode;
    for (mask, file, dir) in [
        (0o000, 0o666, 0o777),
        (0o077, 0o600, 0o700),
        (0o027, 0o640, 0o750),
    ] {
        rustix::process::umask(rustix::fs::Mode::from_raw_mode(mask));
        let name = |what: &str| format!("{what}-{mask:o}");
        root.write(&rel(&name("w")), "").unwrap();
        assert_eq!(mode(&name("w")), file);
        root.write_new(&rel(&name("n")), "").unwrap();
        assert_eq!(mode(&name("n")), file);
        root.append(&rel(&name("a")), "").unwrap();
        assert_eq!(mode(&name("a")), file);
        root.create_dir(&rel(&name("d"))).unwrap();
        assert_eq!(mode(&name("d")), dir);
        let exact = WriteOptions::new().mode(0o646);
        root.write_with(&rel(&name("e")), "", exact).unwrap();
        assert_eq!(mode(&name("e")), 0o646, "an exact mode is exact");
        root.write(&rel(&name("e")), "again").unwrap();
        assert_eq!(mode(&name("e")), 0o646, "a replaced file keeps its mode");
        let mut temp = root.temp_file(&RelPath::root()).unwrap();
        temp.persist_new(&rel(&name("t")), WriteOptions::new())
            .unwrap();
        assert_eq!(
            mode(&name("t")),
            0o600,
            "temporary files are for their owner"
        );
        let temp = root.temp_dir(&RelPath::root()).unwrap();
        assert_eq!(
            temp.root().metadata(&RelPath::root()).unwrap().mode,
            0o700 & !mask
        );
    }
    0
}
