//! Local headers and data descriptors: they say again what the directory says, or the zip is refused.

use super::directory::{DESCRIPTOR, Record};
use super::extra::Extra;
use super::fields::Fields;
use super::spool::Spool;
use crate::refusal::Rule;
use crate::stop::{Stop, refuse};

const HEADER: usize = 30;

/// What a data descriptor may begin with.
pub(super) const SIGNATURE: &[u8] = b"PK\x07\x08";

/// Compares every member with its local header. The members have to lie one behind the other, from the
/// first byte of the file to the directory.
pub(super) fn check_all(spool: &Spool, records: &mut [Record], directory: u64) -> Result<(), Stop> {
    let mut order: Vec<usize> = (0..records.len()).collect();
    order.sort_by_key(|number| records[*number].offset);
    let mut at = 0;
    for (place, number) in order.iter().enumerate() {
        let next = order.get(place + 1);
        let end = next.map_or(directory, |next| records[*next].offset);
        let record = &mut records[*number];
        if record.offset < at {
            return overlap();
        }
        if record.offset > at {
            return gap();
        }
        at = check(spool, record, end)?;
    }
    match at == directory {
        true => Ok(()),
        false => gap(),
    }
}

/// Compares one member; says where it ends, which is before `end`.
fn check(spool: &Spool, record: &mut Record, end: u64) -> Result<u64, Stop> {
    let differs = || {
        refuse(
            Rule::ZipLocal,
            "a local header disagrees with the directory",
        )
    };
    let header = spool.exact(record.offset, HEADER)?;
    let fields = Fields(&header);
    if !header.starts_with(b"PK\x03\x04") {
        return differs();
    }
    let name_len = usize::from(fields.u16(26));
    let extra_len = usize::from(fields.u16(28));
    let texts = spool.exact(record.offset + HEADER as u64, name_len + extra_len)?;
    let (name, extra) = texts.split_at(name_len);
    let extra = Extra::parse(extra)?;
    if name != record.name
        || fields.u16(6) != record.flags
        || fields.u16(8) != record.method as u16
        || fields.u32(10) != record.stamp
    {
        return differs();
    }
    // Size before packed size, as the zip64 field has them.
    let wide = extra.wide(&[fields.u32(22), fields.u32(18)])?;
    let told = (fields.u32(14), wide[1], wide[0]);
    let right = (record.sum, record.packed, record.size);
    let is_later = record.flags & DESCRIPTOR != 0 && told == (0, 0, 0);
    if told != right && !is_later {
        return differs();
    }
    record.content = record.offset + (HEADER + name_len + extra_len) as u64;
    let after = record
        .content
        .checked_add(record.packed)
        .filter(|after| *after <= end);
    let Some(after) = after else {
        return overlap();
    };
    match (record.flags & DESCRIPTOR, end - after) {
        (0, 0) => Ok(end),
        (0, _) => gap(),
        (_, len) => check_descriptor(spool, record, after, len).map(|()| end),
    }
}

/// A descriptor fills what is left before the next member: with or without a signature, with lengths of 32
/// or of 64 bits. So there is only one way to read it.
fn check_descriptor(spool: &Spool, record: &Record, at: u64, len: u64) -> Result<(), Stop> {
    let differs = || {
        refuse(
            Rule::ZipDescriptor,
            "a data descriptor disagrees with the directory",
        )
    };
    let (signature, is_wide) = match len {
        12 => (0, false),
        16 => (4, false),
        20 => (0, true),
        24 => (4, true),
        _ => return differs(),
    };
    // It fits: it is one of the four.
    let data = spool.exact(at, len as usize)?;
    if signature == 4 && !data.starts_with(SIGNATURE) {
        return differs();
    }
    let fields = Fields(&data[signature..]);
    let told = match is_wide {
        false => (fields.u32(0), fields.u32(4).into(), fields.u32(8).into()),
        true => (fields.u32(0), fields.u64(4), fields.u64(12)),
    };
    match told == (record.sum, record.packed, record.size) {
        true => Ok(()),
        false => differs(),
    }
}

fn overlap<T>() -> Result<T, Stop> {
    refuse(Rule::ZipOverlap, "members of the zip overlap")
}

fn gap<T>() -> Result<T, Stop> {
    refuse(Rule::ZipGap, "the zip holds bytes that belong to no member")
}
