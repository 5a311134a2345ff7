//! A kernel that lacks a system call, or a filter that answers for it.

use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};

/// How an absent call answers: by an old kernel, and by a careless filter.
pub(super) const ERRNOS: [(&str, i32); 2] = [("ENOSYS", libc::ENOSYS), ("EPERM", libc::EPERM)];

/// Calls that operations on files are made of, each masked alone.
pub(super) const CALLS: &[(&str, i64)] = &[
    ("openat2", libc::SYS_openat2),
    ("openat", libc::SYS_openat),
    ("statx", libc::SYS_statx),
    ("renameat", libc::SYS_renameat),
    ("renameat2", libc::SYS_renameat2),
    ("linkat", libc::SYS_linkat),
    ("unlinkat", libc::SYS_unlinkat),
    ("mkdirat", libc::SYS_mkdirat),
    ("write", libc::SYS_write),
    ("pwrite64", libc::SYS_pwrite64),
    ("ftruncate", libc::SYS_ftruncate),
    ("fsync", libc::SYS_fsync),
    ("fdatasync", libc::SYS_fdatasync),
    ("fchmod", libc::SYS_fchmod),
    ("fchown", libc::SYS_fchown),
    ("flock", libc::SYS_flock),
    ("fcntl", libc::SYS_fcntl),
    ("getdents64", libc::SYS_getdents64),
    ("getrandom", libc::SYS_getrandom),
    ("copy_file_range", libc::SYS_copy_file_range),
    ("ioctl", libc::SYS_ioctl),
    ("fsetxattr", libc::SYS_fsetxattr),
    ("fgetxattr", libc::SYS_fgetxattr),
    ("readlinkat", libc::SYS_readlinkat),
    ("faccessat2", libc::SYS_faccessat2),
    ("fchmodat2", libc::SYS_fchmodat2),
    ("utimensat", libc::SYS_utimensat),
];

/// Masks one call for the rest of this process's life.
pub(super) fn apply(errno: &str, call: &str) -> Option<()> {
    let (_, errno) = ERRNOS.iter().find(|(name, _)| *name == errno)?;
    let (_, number) = CALLS.iter().find(|(name, _)| *name == call)?;
    let filter = SeccompFilter::new(
        [(*number, Vec::new())].into_iter().collect(),
        SeccompAction::Allow,
        SeccompAction::Errno(errno.unsigned_abs()),
        std::env::consts::ARCH.try_into().ok()?,
    )
    .ok()?;
    let program: BpfProgram = filter.try_into().ok()?;
    seccompiler::apply_filter(&program).ok()
}
