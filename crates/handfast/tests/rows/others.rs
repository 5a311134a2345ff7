//! Who else is there: other users, and kernels that lack something.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rustix::fs::{Gid, Uid};
use seccompiler::{
    BpfProgram, SeccompAction, SeccompCmpArgLen, SeccompCmpOp, SeccompCondition, SeccompFilter,
    SeccompRule,
};

use crate::support::{am_root, races_are_long, skip};

/// An outsider, and another one.
pub(crate) const MALLORY: u32 = 1000;
pub(crate) const BOB: u32 = 1001;

/// Runs something as another user, in a thread of its own that then ends. The caller is root.
pub(crate) fn as_user<T: Send>(uid: u32, work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| scope.spawn(|| become_user(uid, work)).join().unwrap())
}

/// For the calling thread and for good.
pub(crate) fn become_user<T>(uid: u32, work: impl FnOnce() -> T) -> T {
    rustix::thread::set_thread_groups(&[]).unwrap();
    rustix::thread::set_thread_gid(Gid::from_raw(uid)).unwrap();
    rustix::thread::set_thread_uid(Uid::from_raw(uid)).unwrap();
    work()
}

/// Whether other users can be played here.
pub(crate) fn others_can_be_played() -> bool {
    if !am_root() {
        skip("only root can play another user");
    }
    am_root()
}

/// Runs a victim while another user attacks, until the victim is done or the time is over.
/// `victim` does one round and says whether it came to harm. What it counted is given back.
pub(crate) fn under_attack(
    rounds: u32,
    attack: impl Fn(&mut u64) + Sync,
    mut victim: impl FnMut() -> bool,
) -> (u32, u32) {
    let done = AtomicBool::new(false);
    let deadline = Instant::now() + patience();
    let (mut tried, mut harmed) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            become_user(MALLORY, || {
                let mut moves = 0;
                while !done.load(Ordering::Relaxed) {
                    attack(&mut moves);
                }
            });
        });
        let end = EndsAttack(&done);
        while tried < rounds && Instant::now() < deadline {
            tried += 1;
            harmed += u32::from(victim());
        }
        drop(end);
    });
    (tried, harmed)
}

/// How long an attack lasts at most.
fn patience() -> Duration {
    Duration::from_secs(if races_are_long() { 20 } else { 2 })
}

/// Ends the attack when the victim does, by a failed assertion too.
pub(crate) struct EndsAttack<'a>(pub(crate) &'a AtomicBool);

impl Drop for EndsAttack<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Gives everybody the right to write a directory, without the sticky bit.
pub(crate) fn share(path: &Path) {
    set_mode(path, 0o777);
}

pub(crate) fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
}

/// What an older kernel, or a filter of a container, does not have.
#[derive(Clone, Copy)]
pub(crate) enum Lacks {
    /// Files without a name (`O_TMPFILE`).
    Unnamed,
    /// Linking by descriptor for ordinary users, as before Linux 6.10.
    LinkByDescriptor,
    /// Renames with flags.
    RenameFlags,
    /// Renames that must not replace, on this filesystem.
    NoReplace,
}

/// Runs something on a kernel that lacks something, in a thread of its own that then ends.
pub(crate) fn on_older_kernel<T: Send>(lacks: &[Lacks], work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        scope
            .spawn(|| {
                lacks.iter().for_each(|lack| take_away(*lack));
                work()
            })
            .join()
            .unwrap()
    })
}

/// For the calling thread and for good.
pub(crate) fn take_away(lack: Lacks) {
    let (call, argument, errno) = match lack {
        Lacks::Unnamed => (
            libc::SYS_openat,
            Some((2, libc::O_TMPFILE & !libc::O_DIRECTORY)),
            libc::EOPNOTSUPP,
        ),
        Lacks::LinkByDescriptor => (
            libc::SYS_linkat,
            Some((4, libc::AT_EMPTY_PATH)),
            libc::ENOENT,
        ),
        Lacks::RenameFlags => (libc::SYS_renameat2, None, libc::ENOSYS),
        Lacks::NoReplace => (libc::SYS_renameat2, Some((4, 1)), libc::EINVAL),
    };
    let rules = argument.map_or_else(Vec::new, |(index, flag)| {
        let flag = u64::from(flag.unsigned_abs());
        let is_set = SeccompCmpOp::MaskedEq(flag);
        let condition =
            SeccompCondition::new(index, SeccompCmpArgLen::Dword, is_set, flag).unwrap();
        vec![SeccompRule::new(vec![condition]).unwrap()]
    });
    let filter = SeccompFilter::new(
        [(call, rules)].into(),
        SeccompAction::Allow,
        SeccompAction::Errno(errno.unsigned_abs()),
        std::env::consts::ARCH.try_into().unwrap(),
    )
    .unwrap();
    let program: BpfProgram = filter.try_into().unwrap();
    seccompiler::apply_filter(&program).unwrap();
}

/// As [`under_attack`], by a process of the same user.
pub(crate) fn under_plain_attack(
    rounds: u32,
    attack: impl Fn(&mut u64) + Sync,
    mut victim: impl FnMut() -> bool,
) -> (u32, u32) {
    let done = AtomicBool::new(false);
    let deadline = Instant::now() + patience();
    let (mut tried, mut harmed) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut moves = 0;
            while !done.load(Ordering::Relaxed) {
                attack(&mut moves);
            }
        });
        let end = EndsAttack(&done);
        while tried < rounds && Instant::now() < deadline {
            tried += 1;
            harmed += u32::from(victim());
        }
        drop(end);
    });
    (tried, harmed)
}
