//! Which engines a run can have here: each is tried, in namespaces of its own that go with the trial.

use std::fmt::Display;
use std::io;
use std::os::fd::AsFd;
use std::path::Path;

use rustix::mount::MountFlags;
use rustix::process::{Signal, WaitOptions};

use crate::channel::{Channel, Word};
use crate::{ids, mounts, sys};

/// Where things are tried: private and in memory.
const PLACE: &str = "/tmp";

/// One way to run a program.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct EngineTrial {
    /// The name, as `--engine` has it.
    pub name: &'static str,
    /// Nothing is missing; or what is, and what helps.
    pub missing: Option<String>,
}

/// Tries every engine, the one that a run takes by itself first. Nothing is mounted or started when
/// this returns.
///
/// # Security
/// Call it while this process has one thread.
#[must_use]
pub fn try_engines() -> Vec<EngineTrial> {
    let [fuse, overlay] = match in_namespaces() {
        Ok(both) => both,
        Err(why) => [Some(why.clone()), Some(why)],
    };
    let landlock = match (sys::landlock_abi(), rustix::process::geteuid().is_root()) {
        (_, true) => {
            Some("it is refused as root, whom Landlock alone does not keep from keys".to_owned())
        }
        (0, _) => Some(
            "this kernel has no Landlock, or it is switched off (`lsm=` of the boot line)"
                .to_owned(),
        ),
        (1 | 2, _) => {
            Some("this kernel's Landlock lets files be cut off; Linux 6.2 does not".to_owned())
        }
        _ => None,
    };
    vec![
        EngineTrial {
            name: "fuse",
            missing: fuse,
        },
        EngineTrial {
            name: "overlayfs",
            missing: overlay,
        },
        EngineTrial {
            name: "landlock",
            missing: landlock,
        },
    ]
}

/// Tries a mount of the device, and one of the kernel's overlay.
fn in_namespaces() -> Result<[Option<String>; 2], String> {
    let failed = |error: io::Error| format!("it could not be tried: {error}");
    let (outside, inside) = Channel::pair().map_err(failed)?;
    let first = match sys::fork_into(sys::NAMESPACES) {
        Ok(Some(first)) => first,
        Ok(None) => {
            drop(outside);
            try_inside(&inside);
            sys::exit_now(0);
        }
        Err(error) => return Err(barred(&error)),
    };
    drop(inside);
    let hear = || match outside.hear() {
        Ok(Some(Word::Served)) => Ok(None),
        Ok(Some(Word::Refused(why))) => Ok(Some(why)),
        _ => Err("the trial ended too early".to_owned()),
    };
    let heard = ids::write_maps(first)
        .map_err(|error| barred(&error))
        .and_then(|()| outside.say(&Word::Mapped).map_err(failed))
        .and_then(|()| Ok([hear()?, hear()?]));
    let _ = rustix::process::kill_process(first, Signal::KILL);
    let _ = rustix::process::waitpid(Some(first), WaitOptions::empty());
    heard
}

/// In the namespaces: each trial, and a word about it.
fn try_inside(channel: &Channel) {
    let _ = rustix::process::set_parent_process_death_signal(Some(Signal::KILL));
    if !matches!(channel.hear(), Ok(Some(Word::Mapped))) {
        return;
    }
    let place = mounts::keep_apart().and_then(|()| mounts::memory(Path::new(PLACE), 0o755));
    for trial in [try_fuse as fn() -> Result<(), String>, try_overlay] {
        let tried = place
            .clone()
            .map_err(|why| barred(&why))
            .and_then(|()| trial());
        let word = match tried {
            Ok(()) => Word::Served,
            Err(why) => Word::Refused(why),
        };
        drop(channel.say(&word));
    }
}

fn make(name: &str) -> Result<std::path::PathBuf, String> {
    let path = Path::new(PLACE).join(name);
    match std::fs::create_dir(&path) {
        Ok(()) => Ok(path),
        Err(error) => Err(format!("it could not be tried: {error}")),
    }
}

fn try_fuse() -> Result<(), String> {
    let device = handfast_fuse::open_device().map_err(|error| match error.kind() {
        io::ErrorKind::PermissionDenied => format!(
            "/dev/fuse is not open to you ({error}): `chmod 666 /dev/fuse`, which is what distributions do; \
             in Docker `--device /dev/fuse`"
        ),
        io::ErrorKind::NotFound => {
            "there is no /dev/fuse: `modprobe fuse`; in Docker `--device /dev/fuse`".to_owned()
        }
        _ => format!("/dev/fuse does not work ({error}): `modprobe fuse`; in Docker `--device /dev/fuse`"),
    })?;
    let settings = handfast_fuse::MountSettings::new();
    handfast_fuse::mount_at(device.as_fd(), &make("fuse")?, settings)
        .map_err(|error| format!("a mount in a user namespace is refused: {error}"))
}

fn try_overlay() -> Result<(), String> {
    for name in ["lower", "upper", "work"] {
        make(name)?;
    }
    let options = c"lowerdir=/tmp/lower,upperdir=/tmp/upper,workdir=/tmp/work,userxattr";
    let at = make("merged")?;
    mounts::special("overlay", &at, MountFlags::NOSUID, options)
        .map_err(|why| format!("{why}: `modprobe overlay`; it needs Linux 5.11"))?;
    // A kernel that cannot keep its marks in memory makes the mount read-only.
    std::fs::create_dir(at.join("made"))
        .map_err(|error| format!("the overlay cannot be written to: {error}"))
}

/// Why there are no user namespaces, and what helps.
fn barred(error: &dyn Display) -> String {
    let said = |name: &str| read(&format!("/proc/sys/{name}"));
    let fix = if said("kernel/apparmor_restrict_unprivileged_userns").as_deref() == Some("1") {
        "AppArmor restricts them: `sysctl kernel.apparmor_restrict_unprivileged_userns=0`, or a profile with \
         `userns,` for this program"
    } else if said("kernel/unprivileged_userns_clone").as_deref() == Some("0") {
        "`sysctl kernel.unprivileged_userns_clone=1` lets ordinary users make them"
    } else if said("user/max_user_namespaces").as_deref() == Some("0") {
        "`sysctl user.max_user_namespaces=10000` lets users make them"
    } else {
        "a container's filter may bar them: in Docker `--security-opt seccomp=unconfined --security-opt \
         apparmor=unconfined`; in a run of Handfast there are none"
    };
    format!("user namespaces are barred ({error}): {fix}")
}

#[allow(
    clippy::disallowed_methods,
    reason = "settings of the kernel, by the only paths they have"
)]
fn read(path: &str) -> Option<String> {
    let text = std::fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned())
}
