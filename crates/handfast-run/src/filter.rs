//! Which system calls a program may not make.

use std::collections::BTreeMap;

use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule, sock_filter,
};

/// Calls that are refused whatever their arguments: they change the machine, reach into the kernel, or
/// open files without a path.
const REFUSED: [libc::c_long; 22] = [
    libc::SYS_acct,
    libc::SYS_add_key,
    libc::SYS_bpf,
    libc::SYS_clock_settime,
    libc::SYS_delete_module,
    libc::SYS_finit_module,
    libc::SYS_init_module,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_register,
    libc::SYS_io_uring_setup,
    libc::SYS_kexec_load,
    libc::SYS_keyctl,
    libc::SYS_open_by_handle_at,
    libc::SYS_perf_event_open,
    libc::SYS_quotactl,
    libc::SYS_reboot,
    libc::SYS_request_key,
    libc::SYS_settimeofday,
    libc::SYS_swapoff,
    libc::SYS_swapon,
    libc::SYS_userfaultfd,
    libc::SYS_vhangup,
];

/// Calls that change mounts and names of the machine, which a program may do in namespaces of its own.
const REFUSED_WITHOUT_NAMESPACES: [libc::c_long; 14] = [
    libc::SYS_chroot,
    libc::SYS_fsconfig,
    libc::SYS_fsmount,
    libc::SYS_fsopen,
    libc::SYS_fspick,
    libc::SYS_mount,
    libc::SYS_mount_setattr,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_pivot_root,
    libc::SYS_setdomainname,
    libc::SYS_sethostname,
    libc::SYS_setns,
    libc::SYS_umount2,
];

/// Requests to a terminal that put text into it as if a person had typed it.
const TYPING: [u64; 2] = [libc::TIOCSTI, libc::TIOCLINUX];

/// Bits of `clone` and `unshare` that make namespaces: in a new one a program has every capability.
const NEW_NAMESPACES: libc::c_int = libc::CLONE_NEWUSER
    | libc::CLONE_NEWNS
    | libc::CLONE_NEWPID
    | libc::CLONE_NEWNET
    | libc::CLONE_NEWIPC
    | libc::CLONE_NEWUTS
    | libc::CLONE_NEWCGROUP;

/// The filters, in the order in which they are installed. A nested program may make namespaces.
pub(crate) fn programs(nested: bool) -> Result<Vec<BpfProgram>, String> {
    let said = |error: seccompiler::BackendError| error.to_string();
    let arch = std::env::consts::ARCH.try_into().map_err(said)?;
    let mut refused: BTreeMap<_, Vec<SeccompRule>> =
        REFUSED.into_iter().map(|call| (call, Vec::new())).collect();
    refused.insert(libc::SYS_ioctl, typing().map_err(said)?);
    let filter = |rules, errno: i32| {
        let refuse = SeccompAction::Errno(errno.unsigned_abs());
        SeccompFilter::new(rules, SeccompAction::Allow, refuse, arch)?.try_into()
    };
    let mut programs = Vec::new();
    if !nested {
        refused.extend(REFUSED_WITHOUT_NAMESPACES.map(|call| (call, Vec::new())));
        let namespaces = namespaces().map_err(said)?;
        refused.insert(libc::SYS_unshare, namespaces.clone());
        refused.insert(libc::SYS_clone, namespaces);
        // The flags of `clone3` lie in memory, where no filter looks. Programs then use `clone`.
        let unknown = BTreeMap::from([(libc::SYS_clone3, Vec::new())]);
        programs.push(filter(unknown, libc::ENOSYS).map_err(said)?);
    }
    programs.push(filter(refused, libc::EPERM).map_err(said)?);
    Ok(programs.into_iter().map(without_other_numbers).collect())
}

fn typing() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let rule = |request: u64| {
        // The kernel looks at 32 bits only.
        let equal = SeccompCmpOp::Eq;
        let condition = SeccompCondition::new(1, SeccompCmpArgLen::Dword, equal, request)?;
        SeccompRule::new(vec![condition])
    };
    TYPING.into_iter().map(rule).collect()
}

fn namespaces() -> Result<Vec<SeccompRule>, seccompiler::BackendError> {
    let mut rules = Vec::new();
    for bit in 0..32 {
        let flag = 1_u64 << bit;
        if u64::from(NEW_NAMESPACES.cast_unsigned()) & flag == 0 {
            continue;
        }
        let is_set = SeccompCmpOp::MaskedEq(flag);
        let condition = SeccompCondition::new(0, SeccompCmpArgLen::Dword, is_set, flag)?;
        rules.push(SeccompRule::new(vec![condition])?);
    }
    Ok(rules)
}

/// Refuses the second set of numbers that x86-64 has for the same calls (x32), which a list of
/// numbers would not see.
fn without_other_numbers(program: BpfProgram) -> BpfProgram {
    const LOAD_NUMBER: u16 = 0x20;
    const JUMP_IF_AT_LEAST: u16 = 0x35;
    const RETURN: u16 = 0x06;
    const REFUSE: u32 = 0x0005_0000;
    let line = |code, jt, jf, k| sock_filter { code, jt, jf, k };
    let mut all = vec![
        line(LOAD_NUMBER, 0, 0, 0),
        line(JUMP_IF_AT_LEAST, 0, 1, 0x4000_0000),
        line(RETURN, 0, 0, REFUSE | libc::ENOSYS.cast_unsigned()),
    ];
    all.extend(program);
    all
}

#[cfg(test)]
mod tests {
    use std::io;

    use rustix::io::Errno;

    use crate::{privileges, sys};

    /// In a thread of its own, which keeps the filter for good.
    fn filtered<T: Send>(act: impl FnOnce() -> T + Send) -> T {
        std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                rustix::thread::set_no_new_privs(true).unwrap();
                privileges::filter_calls(false).unwrap();
                act()
            });
            thread.join().unwrap()
        })
    }

    #[test]
    fn nothing_is_typed_into_a_terminal() {
        // Without the filter the call fails by itself here: there is no terminal behind a pipe.
        let plain = sys::type_into_terminal().unwrap_err();
        assert_eq!(plain.raw_os_error(), Some(libc::ENOTTY));
        let refused = filtered(sys::type_into_terminal).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::EPERM));
    }

    #[test]
    fn no_namespace_is_made_and_no_mount_changed() {
        let new = || {
            let asked = std::process::Command::new("unshare")
                .args(["--user", "true"])
                .output();
            String::from_utf8(asked.unwrap().stderr).unwrap()
        };
        assert!(filtered(new).contains("Operation not permitted"));
        let unmount = || {
            let flags = rustix::mount::UnmountFlags::DETACH;
            rustix::mount::unmount("/nonexistent", flags)
        };
        assert_eq!(unmount(), Err(Errno::NOENT));
        assert_eq!(filtered(unmount), Err(Errno::PERM));
        // What is not listed still works, threads and processes included.
        let works = filtered(|| -> io::Result<bool> {
            let answer = std::thread::spawn(|| 7).join();
            let ended = std::process::Command::new("true").status()?;
            Ok(answer.is_ok() && ended.success())
        });
        assert!(works.unwrap());
    }
}
