//! Runs a program on a kernel that lacks some system calls: a filter answers for them.
//!
//! ```text
//! mask ENOSYS openat2 -- handfast doctor
//! mask EPERM openat2,fchmodat2 -- cargo test
//! mask EOPNOTSUPP unnamed -- PROGRAM     # no files without a name (O_TMPFILE)
//! mask ENOENT by-descriptor -- PROGRAM   # no linking by descriptor, as before Linux 6.10
//! mask EINVAL no-replace -- PROGRAM      # no rename that promises not to replace
//! ```
#![allow(
    clippy::print_stderr,
    reason = "a launcher that the tests use; words go to stderr"
)]

#[cfg(supported)]
fn main() -> std::process::ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(never) => match never {},
        Err(why) => {
            eprintln!("mask: {why}");
            eprintln!("usage: mask ERRNO CALL[,CALL…] -- PROGRAM [ARG…]");
            std::process::ExitCode::from(2)
        }
    }
}

#[cfg(supported)]
fn run(args: &[String]) -> Result<std::convert::Infallible, String> {
    use std::os::unix::process::CommandExt;

    let [errno, calls, dashes, program, rest @ ..] = args else {
        return Err("too few arguments".into());
    };
    if dashes != "--" {
        return Err("`--` is missing".into());
    }
    let errno = match errno.as_str() {
        "ENOSYS" => rustix::io::Errno::NOSYS,
        "EPERM" => rustix::io::Errno::PERM,
        "ENOENT" => rustix::io::Errno::NOENT,
        "EINVAL" => rustix::io::Errno::INVAL,
        "EOPNOTSUPP" => rustix::io::Errno::OPNOTSUPP,
        other => return Err(format!("unknown error {other}")),
    };
    let rules = calls
        .split(',')
        .map(|call| match part_of_a_call(call) {
            Some(rule) => rule,
            None => number(call).map(|number| (number, vec![])),
        })
        .collect::<Result<_, _>>()?;
    let action = seccompiler::SeccompAction::Errno(errno.raw_os_error().unsigned_abs());
    let arch = std::env::consts::ARCH
        .try_into()
        .map_err(|error| format!("{error}"))?;
    let filter =
        seccompiler::SeccompFilter::new(rules, seccompiler::SeccompAction::Allow, action, arch)
            .map_err(|error| error.to_string())?;
    let program_code: seccompiler::BpfProgram =
        filter.try_into().map_err(|error| format!("{error}"))?;
    seccompiler::apply_filter(&program_code).map_err(|error| error.to_string())?;
    let error = std::process::Command::new(program).args(rest).exec();
    Err(format!("cannot start {program}: {error}"))
}

/// What is less than a whole call: one of its flags.
#[cfg(supported)]
fn part_of_a_call(name: &str) -> Option<Result<(i64, Vec<seccompiler::SeccompRule>), String>> {
    use seccompiler::{SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompRule};
    let (call, argument, flag) = match name {
        // O_TMPFILE without the O_DIRECTORY that is part of it.
        "unnamed" => (libc::SYS_openat, 2, libc::O_TMPFILE & !libc::O_DIRECTORY),
        "by-descriptor" => (libc::SYS_linkat, 4, libc::AT_EMPTY_PATH),
        "no-replace" => (libc::SYS_renameat2, 4, 1),
        _ => return None,
    };
    let flag = u64::from(flag.unsigned_abs());
    let condition = SeccompCondition::new(
        argument,
        SeccompCmpArgLen::Dword,
        SeccompCmpOp::MaskedEq(flag),
        flag,
    );
    Some(
        condition
            .and_then(|condition| SeccompRule::new(vec![condition]))
            .map(|rule| (call, vec![rule]))
            .map_err(|error| error.to_string()),
    )
}

#[cfg(supported)]
fn number(call: &str) -> Result<i64, String> {
    Ok(match call {
        "openat2" => libc::SYS_openat2,
        "statx" => libc::SYS_statx,
        "renameat2" => libc::SYS_renameat2,
        "fchmodat2" => libc::SYS_fchmodat2,
        "faccessat2" => libc::SYS_faccessat2,
        "linkat" => libc::SYS_linkat,
        "landlock_create_ruleset" => libc::SYS_landlock_create_ruleset,
        other => return Err(format!("unknown call {other}")),
    })
}

#[cfg(not(supported))]
fn main() {}
