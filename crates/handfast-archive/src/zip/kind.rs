//! What a member of a zip is: its name says it, and its attributes, and they have to agree.

use crate::member::MemberKind;
use crate::refusal::Rule;
use crate::stop::{Stop, refuse};

/// The one system whose links all readers make.
const UNIX: u16 = 3;

/// Systems whose attributes hold a mode: Unix and macOS.
const WITH_MODES: [u16; 2] = [UNIX, 19];

/// The kind and the mode of a member.
pub(super) fn kind_of(
    name: &[u8],
    made_by: u16,
    attributes: u32,
) -> Result<(MemberKind, Option<u32>), Stop> {
    let disagree = || {
        refuse(
            Rule::ZipAttributes,
            "the attributes disagree about what a member is",
        )
    };
    let mode = attributes >> 16;
    let by_name = match name.ends_with(b"/") {
        true => MemberKind::Dir,
        false => MemberKind::File,
    };
    let by_mode = match mode & 0o170_000 {
        0 => None,
        0o100_000 => Some(MemberKind::File),
        0o040_000 => Some(MemberKind::Dir),
        0o120_000 => Some(MemberKind::Symlink),
        _ => Some(MemberKind::Special),
    };
    let is_dos_dir = attributes & 0x10 != 0;
    // Some readers leave a volume's label out without a word.
    if attributes & 0x08 != 0 || is_dos_dir && by_name != MemberKind::Dir {
        return disagree();
    }
    if !WITH_MODES.contains(&(made_by >> 8)) {
        // Some readers look at the mode all the same.
        return match by_mode {
            None => Ok((by_name, None)),
            Some(kind) if kind == by_name => Ok((by_name, None)),
            Some(_) => disagree(),
        };
    }
    if by_mode == Some(MemberKind::Symlink) && made_by >> 8 != UNIX {
        return disagree();
    }
    match by_mode {
        None => Ok((by_name, (mode != 0).then_some(mode & 0o7777))),
        Some(kind @ (MemberKind::File | MemberKind::Dir)) if kind != by_name => disagree(),
        Some(MemberKind::Symlink | MemberKind::Special) if by_name == MemberKind::Dir => disagree(),
        Some(kind) => Ok((kind, Some(mode & 0o7777))),
    }
}
