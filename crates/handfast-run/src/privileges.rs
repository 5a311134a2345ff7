//! What a program gives up before it starts.

use std::path::Path;

use landlock::{
    ABI, Access, AccessFs, PathBeneath, PathFd, Ruleset, RulesetAttr, RulesetCreatedAttr,
    RulesetError, RulesetStatus, Scope,
};
use rustix::process::Resource;
use rustix::thread::{CapabilitiesSecureBits, CapabilitySet, CapabilitySets};

use crate::filter;

/// Gives up every capability, now and for whatever is started later.
pub(crate) fn drop_capabilities() -> Result<(), String> {
    let said = |what: &str, error: &dyn std::fmt::Display| format!("{what}: {error}");
    // The user 0 gets nothing by being 0, and that cannot be changed back.
    let bits = CapabilitiesSecureBits::NO_ROOT
        | CapabilitiesSecureBits::NO_ROOT_LOCKED
        | CapabilitiesSecureBits::NO_SETUID_FIXUP
        | CapabilitiesSecureBits::NO_SETUID_FIXUP_LOCKED;
    rustix::thread::set_capabilities_secure_bits(bits)
        .map_err(|error| said("securebits", &error))?;
    crate::sys::drop_bounding_set().map_err(|error| said("capability bounding set", &error))?;
    drop_own_capabilities()
}

/// Gives up the capabilities that this process has, and does not get any by a program that it starts.
/// That is all for a process that has none to begin with.
pub(crate) fn drop_own_capabilities() -> Result<(), String> {
    let said = |what: &str, error: &dyn std::fmt::Display| format!("{what}: {error}");
    rustix::thread::set_no_new_privs(true).map_err(|error| said("no_new_privs", &error))?;
    rustix::thread::clear_ambient_capability_set()
        .map_err(|error| said("ambient capabilities", &error))?;
    let none = CapabilitySets {
        effective: CapabilitySet::empty(),
        permitted: CapabilitySet::empty(),
        inheritable: CapabilitySet::empty(),
    };
    rustix::thread::set_capabilities(None, none).map_err(|error| said("capabilities", &error))
}

/// So many processes and threads a run has at most, unless it is root's.
pub(crate) const MAX_PROCESSES: u64 = 10_000;

/// Limits how many processes and threads there are. A user namespace counts its own, so those outside
/// take no part. The kernel does not limit root in this way.
pub(crate) fn limit_processes() -> Result<(), String> {
    let mut limit = rustix::process::getrlimit(Resource::Nproc);
    let at_most = |known: Option<u64>| Some(known.unwrap_or(MAX_PROCESSES).min(MAX_PROCESSES));
    limit.current = at_most(limit.current);
    limit.maximum = at_most(limit.maximum);
    rustix::process::setrlimit(Resource::Nproc, limit)
        .map_err(|error| format!("the number of processes cannot be limited: {error}"))
}

/// Installs the filter of system calls. A nested program may make namespaces.
pub(crate) fn filter_calls(nested: bool) -> Result<(), String> {
    for program in filter::programs(nested)? {
        seccompiler::apply_filter(&program).map_err(|error| format!("seccomp: {error}"))?;
    }
    Ok(())
}

/// The second wall: reading everywhere, writing below some directories, no signals and no abstract
/// sockets to the outside. Older kernels give what they have; the plan says what that is.
pub(crate) fn restrict(writable: &[&Path], needed: bool) -> Result<(), String> {
    let status =
        landlocked(&[Path::new("/")], writable).map_err(|error| format!("Landlock: {error}"))?;
    match status == RulesetStatus::NotEnforced && needed {
        true => Err("Landlock is not enforced here".to_owned()),
        false => Ok(()),
    }
}

/// The only wall: reading below some directories, writing below others, nothing elsewhere; no signals
/// and no abstract sockets to the outside where the kernel has that.
pub(crate) fn confine(readable: &[&Path], writable: &[&Path]) -> Result<(), String> {
    let status = landlocked(readable, writable).map_err(|error| format!("Landlock: {error}"))?;
    match status {
        RulesetStatus::NotEnforced => Err("Landlock is not enforced here".to_owned()),
        _ => Ok(()),
    }
}

fn landlocked(readable: &[&Path], writable: &[&Path]) -> Result<RulesetStatus, RulesetError> {
    // The newest set that was tested; older kernels enforce what they know.
    let abi = ABI::V7;
    let all = AccessFs::from_all(abi);
    let read = AccessFs::from_read(abi);
    let of_files = AccessFs::from_file(abi);
    let mut rules = Ruleset::default()
        .handle_access(all)?
        .scope(Scope::AbstractUnixSocket | Scope::Signal)?
        .create()?;
    let places = writable.iter().map(|path| (*path, all));
    for (path, rights) in places.chain(readable.iter().map(|path| (*path, read))) {
        // A directory that is not there grants nothing.
        let Ok(fd) = PathFd::new(path) else {
            continue;
        };
        let is_dir = rustix::fs::fstat(&fd)
            .is_ok_and(|status| rustix::fs::FileType::from_raw_mode(status.st_mode).is_dir());
        let rights = if is_dir { rights } else { rights & of_files };
        rules = rules.add_rule(PathBeneath::new(fd, rights))?;
    }
    Ok(rules.restrict_self()?.ruleset)
}

#[cfg(test)]
mod tests {
    use std::os::linux::net::SocketAddrExt;
    use std::os::unix::net::{SocketAddr, UnixListener, UnixStream};
    use std::path::Path;

    use rustix::process::{Pid, Signal};

    use super::restrict;

    #[test]
    fn sockets_and_processes_outside_are_out_of_reach() {
        if crate::sys::landlock_abi() < 6 {
            println!("starved: this kernel has no scopes of Landlock");
            return;
        }
        let name = format!("handfast-run-test-{}", std::process::id());
        let address = SocketAddr::from_abstract_name(name).unwrap();
        let _listener = UnixListener::bind_addr(&address).unwrap();
        let mut outside = std::process::Command::new("sleep")
            .arg("60")
            .spawn()
            .unwrap();
        let pid = Pid::from_child(&outside);
        assert!(
            UnixStream::connect_addr(&address).is_ok(),
            "the control reaches it"
        );
        assert!(rustix::process::kill_process(pid, Signal::CONT).is_ok());
        let (connected, signalled, wrote) = std::thread::scope(|scope| {
            let thread = scope.spawn(|| {
                rustix::thread::set_no_new_privs(true).unwrap();
                restrict(&[Path::new("/nonexistent")], true).unwrap();
                let wrote = std::fs::File::create(std::env::temp_dir().join("handfast-run-wall"));
                let connected = UnixStream::connect_addr(&address);
                let signalled = rustix::process::kill_process(pid, Signal::KILL);
                (connected.is_ok(), signalled.is_ok(), wrote.is_ok())
            });
            thread.join().unwrap()
        });
        assert!(outside.try_wait().unwrap().is_none(), "it lives");
        outside.kill().unwrap();
        outside.wait().unwrap();
        assert_eq!((connected, signalled, wrote), (false, false, false));
    }
}
