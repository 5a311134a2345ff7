//! Verbs that read and look.

use std::io::Read;

use handfast::Files;
use handfast::files::LastLink;

use super::{Seen, Victim, keep, nothing, victim};

pub(super) const VICTIMS: &[Victim] = &[
    victim("read", Some("data"), keep, |root, names, _| {
        root.read(&names.at("data")?).map(Seen::text)
    }),
    victim("open", Some("data"), keep, |root, names, _| {
        let mut file = root.open(&names.at("data")?)?;
        let mut seen = Seen::object(file.identity());
        drop(file.read_to_end(&mut seen.text));
        Ok(seen)
    }),
    victim("resolve", None, keep, |root, names, _| {
        let node = root.node(&names.at("data")?, LastLink::Itself)?;
        Ok(Seen::object(node.metadata().identity))
    }),
    victim("metadata", Some("data"), keep, |root, names, _| {
        let meta = root.metadata(&names.at("data")?)?;
        Ok(Seen::object(meta.identity))
    }),
    victim("read-link", None, keep, |root, names, _| {
        let target = root.read_link(&names.at("link")?)?;
        Ok(Seen::text(target.as_bytes()))
    }),
    victim("get-xattr", Some("g"), keep, |root, names, _| {
        nothing(root.get_xattr(&names.at("g")?, "user.x"))
    }),
    victim("list-xattr", Some("g"), keep, |root, names, _| {
        nothing(root.list_xattrs(&names.at("g")?))
    }),
    victim("version", Some("data"), keep, |root, names, _| {
        nothing(root.version(&names.at("data")?))
    }),
];
