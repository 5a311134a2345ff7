//! Verbs that read and look.

use handfast::OpenOptions;
use handfast::files::{self, LastLink};

use super::{Returned, Victim, keep, nothing, victim};

pub(super) const VICTIMS: &[Victim] = &[
    victim("read", Some("data"), keep, |files, names, _| {
        files
            .read(&names.at("data")?, files.read_limit())
            .map(Returned::text)
    })
    .common(),
    victim("read-versioned", Some("data"), keep, |files, names, _| {
        let (text, version) = files.read_versioned(&names.at("data")?, files.read_limit())?;
        Ok(Returned::versioned(text, version))
    })
    .common(),
    victim("open", Some("data"), keep, |files, names, _| {
        let file = files.open(&names.at("data")?, OpenOptions::new())?;
        let mut seen = Returned::object(file.opened_metadata().identity);
        seen.text = files::read_whole(&*file, files.read_limit())?;
        Ok(seen)
    })
    .common(),
    victim("resolve", None, keep, |files, names, _| {
        let node = files.node(&names.at("data")?, LastLink::Itself)?;
        Ok(Returned::object(node.metadata().identity))
    }),
    victim("metadata", Some("data"), keep, |files, names, _| {
        let meta = files.metadata(&names.at("data")?, LastLink::Follow)?;
        Ok(Returned::object(meta.identity))
    })
    .common(),
    victim("read-link", None, keep, |files, names, _| {
        let target = files.read_link(&names.at("link")?)?;
        Ok(Returned::text(target.as_bytes()))
    }),
    Victim::of_root("get-xattr", Some("g"), keep, |root, names, _| {
        nothing(root.get_xattr(&names.at("g")?, "user.x"))
    }),
    Victim::of_root("list-xattr", Some("g"), keep, |root, names, _| {
        nothing(root.list_xattrs(&names.at("g")?))
    }),
    victim("version", Some("data"), keep, |files, names, _| {
        nothing(files.version(&names.at("data")?, false))
    }),
];
