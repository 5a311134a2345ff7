//! Verbs that change an object in place.

use handfast::Timestamp;

use super::{Victim, keep, nothing, victim};

pub(super) const VICTIMS: &[Victim] = &[
    victim("chmod", Some("g"), keep, |root, names, attempt| {
        // Never what the files outside have.
        let mode = if attempt % 2 == 0 { 0o600 } else { 0o640 };
        nothing(root.chmod(&names.at("g")?, mode))
    }),
    victim("chown", Some("g"), keep, |root, names, _| {
        let user = rustix::process::geteuid().as_raw();
        nothing(root.chown(&names.at("g")?, Some(user), None))
    }),
    victim("set-times", Some("g"), keep, |root, names, _| {
        let time = Timestamp {
            seconds: 7,
            nanoseconds: 7,
        };
        nothing(root.set_times(&names.at("g")?, None, Some(time)))
    }),
    victim("set-xattr", Some("g"), keep, |root, names, _| {
        nothing(root.set_xattr(&names.at("g")?, "user.x", b"inside"))
    }),
    victim(
        "remove-xattr",
        Some("g"),
        |inside, _| {
            if let Ok(path) = handfast::RelPath::parse("g") {
                drop(inside.set_xattr(&path, "user.y", b"inside"));
            }
        },
        |root, names, _| match root.remove_xattr(&names.at("g")?, "user.y") {
            // The attacker put a fresh file there, which has none.
            Err(error) if error.kind() == handfast::ErrorKind::NotFound => {
                Ok(super::Seen::default())
            }
            done => nothing(done),
        },
    ),
];
