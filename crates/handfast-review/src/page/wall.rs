//! What the page's process cannot do any more.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::BorrowedFd;

use handfast::harden::{Hardening, Wall};
use landlock::{ABI, Access, AccessNet, Ruleset, RulesetAttr, RulesetStatus};
use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};

/// The calls that a page makes: it reads and writes open sockets, waits, and needs memory. Everything else
/// is refused: files, new sockets, programs, threads, other processes.
const ALLOWED: &[libc::c_long] = &[
    libc::SYS_accept4,
    libc::SYS_brk,
    libc::SYS_clock_gettime,
    libc::SYS_clock_nanosleep,
    libc::SYS_close,
    libc::SYS_epoll_create1,
    libc::SYS_epoll_ctl,
    libc::SYS_eventfd2,
    libc::SYS_epoll_pwait,
    libc::SYS_epoll_pwait2,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_fcntl,
    libc::SYS_fstat,
    libc::SYS_futex,
    libc::SYS_getpeername,
    libc::SYS_getpid,
    libc::SYS_getrandom,
    libc::SYS_getsockname,
    libc::SYS_getsockopt,
    libc::SYS_gettid,
    libc::SYS_madvise,
    libc::SYS_mmap,
    libc::SYS_mprotect,
    libc::SYS_mremap,
    libc::SYS_munmap,
    libc::SYS_read,
    libc::SYS_readv,
    libc::SYS_recvfrom,
    libc::SYS_restart_syscall,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_sched_getaffinity,
    libc::SYS_sched_yield,
    libc::SYS_sendmsg,
    libc::SYS_sendto,
    libc::SYS_setsockopt,
    libc::SYS_shutdown,
    libc::SYS_sigaltstack,
    libc::SYS_write,
    libc::SYS_writev,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_epoll_wait,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    libc::SYS_ppoll,
];

/// Confines this process, for good: it has no descriptors but the first three and these, opens no file,
/// makes no connection and starts nothing. What is missing of that, in words. It must come before anything
/// else is opened.
///
/// # Errors
/// `Unsupported` once there is more than one thread; what the kernel says.
pub fn confine(kept: &[BorrowedFd<'_>]) -> io::Result<Vec<String>> {
    let mut weaker = Vec::new();
    if let Err(error) = crate::sys::close_others(kept) {
        weaker.push(format!("inherited descriptors stay open: {error}"));
    }
    match Hardening::new().scoped().harden_process() {
        Ok(Wall::Full) => {}
        Ok(Wall::Partial) => weaker.push("this kernel's Landlock knows not every right".to_owned()),
        Ok(Wall::None) => weaker.push("this kernel has no Landlock".to_owned()),
        Err(error) => return Err(error.into()),
    }
    match without_network() {
        Ok(RulesetStatus::FullyEnforced) => {}
        Ok(_) => weaker.push("this kernel's Landlock knows no network".to_owned()),
        Err(error) => return Err(io::Error::other(error)),
    }
    // The calls are refused besides, so a kernel without Landlock still keeps files out of reach.
    seccompiler::apply_filter(&filter().map_err(io::Error::other)?).map_err(io::Error::other)?;
    Ok(weaker)
}

fn without_network() -> Result<RulesetStatus, landlock::RulesetError> {
    let ruleset = Ruleset::default().handle_access(AccessNet::from_all(ABI::V4))?;
    Ok(ruleset.create()?.restrict_self()?.ruleset)
}

fn filter() -> Result<BpfProgram, seccompiler::BackendError> {
    let arch = std::env::consts::ARCH.try_into()?;
    let rules: BTreeMap<_, _> = ALLOWED.iter().map(|call| (*call, Vec::new())).collect();
    let refuse = SeccompAction::Errno(libc::EPERM.unsigned_abs());
    SeccompFilter::new(rules, refuse, SeccompAction::Allow, arch)?.try_into()
}
