//! Verbs that change an object in place.

use handfast::Timestamp;
use handfast::files::Attributes;

use super::{Victim, keep, nothing, victim};

pub(super) const VICTIMS: &[Victim] = &[
    victim("chmod", Some("g"), keep, |files, names, attempt| {
        // Never what the files outside have.
        let mode = if attempt % 2 == 0 { 0o600 } else { 0o640 };
        nothing(files.set_attributes(&names.at("g")?, &Attributes::new().mode(mode)))
    })
    .common(),
    victim("chown", Some("g"), keep, |files, names, _| {
        let user = rustix::process::geteuid().as_raw();
        let owner = Attributes::new().owner(Some(user), None);
        nothing(files.set_attributes(&names.at("g")?, &owner))
    }),
    victim("set-times", Some("g"), keep, |files, names, _| {
        let time = Timestamp {
            seconds: 7,
            nanoseconds: 7,
        };
        let times = Attributes::new().times(None, Some(time));
        nothing(files.set_attributes(&names.at("g")?, &times))
    }),
    Victim::of_root("set-xattr", Some("g"), keep, |root, names, _| {
        nothing(root.set_xattr(&names.at("g")?, "user.x", b"inside"))
    }),
    Victim::of_root(
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
                Ok(super::Returned::default())
            }
            done => nothing(done),
        },
    ),
];
