//! Attacks on readers of zip, each by name with the verdict it has to get.

use handfast_archive::Options;

use crate::support::{Place, cases, check, with_links};
use crate::zip_bytes::{Entry, Zip, Zip64, deflate, extra};

fn one(entry: Entry) -> Vec<u8> {
    Zip::of([entry]).bytes()
}

fn changed(change: impl FnOnce(&mut Entry)) -> Vec<u8> {
    one(Entry::deflated("file", b"some content").with(change))
}

fn named(name: &str) -> Vec<u8> {
    one(Entry::stored(name, b"x"))
}

#[test]
fn names_in_a_zip_that_lead_elsewhere_are_refused() {
    let two = |one: &str, other: &str| {
        Zip::of([Entry::stored(one, b"1"), Entry::stored(other, b"2")]).bytes()
    };
    let bytes = |name: &[u8], flags| {
        one(Entry::stored("x", b"").both(|it| {
            it.name = name.to_vec();
            it.flags = flags;
        }))
    };
    let cases = cases! {
        "climbs" => Climbs, named("../x");
        "climbs in the middle" => Climbs, named("a/../../x");
        "is absolute" => Absolute, named("/x");
        "is empty" => EmptyName, named("");
        "has a NUL" => Nul, named("a\0b");
        "has a backslash" => ZipName, named("..\\x");
        "has a drive" => ZipName, named("C:\\x");
        "is not ASCII without the flag" => ZipName, bytes("caf\u{e9}".as_bytes(), 0);
        "is not UTF-8 with the flag" => ZipName, bytes(b"caf\xe9", 1 << 11);
        "has a control character" => ZipName, named("a\n");
        "has a version" => ZipName, named("a;1");
        "stands twice" => Duplicate, two("a", "a");
        "stands twice by another spelling" => Duplicate, two("a/b", "a//b");
        "collides by case" => Collision, two("A", "a");
        "lies below a file" => BelowFile, two("a", "a/b");
        "is too deep" => TooDeep, named(&vec!["a"; 2000].join("/"));
        "is another one for some readers" => ZipExtra, changed(|it| it.central.extra = extra(0x7075, b"\x01\0\0\0\0../x"));
        "is another one in the local header" => ZipExtra, changed(|it| it.local.extra = extra(0x7075, b"\x01\0\0\0\0../x"));
    };
    assert_eq!(check(cases, Options::new), 18);
}

#[test]
fn headers_of_a_zip_that_disagree_are_refused() {
    let stored = |change: fn(&mut Entry)| one(Entry::stored("file", b"some content").with(change));
    let streamed = |change: fn(&mut Entry)| {
        one(Entry::deflated("file", b"some content")
            .streamed()
            .with(change))
    };
    let cases = cases! {
        "another name" => ZipLocal, changed(|it| it.local.name = b"../x".to_vec());
        "a shorter name" => ZipLocal, changed(|it| it.local.name = b"fil".to_vec());
        "another method" => ZipLocal, changed(|it| it.local.method = 0);
        "other flags" => ZipLocal, changed(|it| it.local.flags = 2);
        "encrypted in the local header alone" => ZipLocal, changed(|it| it.local.flags = 1);
        "another checksum" => ZipLocal, changed(|it| it.local.sum ^= 1);
        "another size" => ZipLocal, changed(|it| it.local.size += 1);
        "another packed size" => ZipLocal, changed(|it| it.local.packed += 1);
        "another date" => ZipLocal, changed(|it| it.local.stamp += 1);
        "no sizes without a descriptor" => ZipLocal, changed(|it| (it.local.sum, it.local.size, it.local.packed) = (0, 0, 0));
        "no local header" => ZipGap, changed(|it| it.offset = Some(4));
        "an offset behind the end" => ZipGap, changed(|it| it.offset = Some(1 << 30));
        "a longer member in the directory" => ZipLocal, changed(|it| it.central.packed += 4);
        "stored with two sizes" => ZipContent, stored(|it| (it.local.size, it.central.size) = (4, 4));
        "a descriptor with another checksum" => ZipDescriptor, streamed(|it| it.behind[4] ^= 1);
        "a descriptor with another size" => ZipDescriptor, streamed(|it| it.behind[12] ^= 1);
        "a descriptor with another packed size" => ZipDescriptor, streamed(|it| it.behind[8] ^= 1);
        "a descriptor with another signature" => ZipDescriptor, streamed(|it| it.behind[0] ^= 1);
        "a descriptor that is missing" => ZipDescriptor, streamed(|it| it.behind.clear());
        "a descriptor and more" => ZipDescriptor, streamed(|it| it.behind.extend([0; 7]));
        "sizes before a descriptor that differ" => ZipLocal, streamed(|it| it.local.size = 5);
        "what looks like a descriptor in stored content" => ZipDescriptor,
            one(Entry::stored("file", b"xPK\x07\x08more").streamed());
        "what looks like a descriptor over two pieces" => ZipDescriptor,
            one(Entry::stored("file", &[&[b'x'; (256 << 10) - 2][..], b"PK\x07\x08"].concat()).streamed());
        "a descriptor without the flag" => ZipGap, changed(|it| it.behind = vec![0; 16]);
    };
    assert_eq!(check(cases, Options::new), 24);
}

#[test]
fn members_of_a_zip_that_overlap_or_hide_bytes_are_refused() {
    let two = || Zip::of([Entry::stored("a", b"1"), Entry::stored("b", b"2")]);
    let cases = cases! {
        "two members of one place" => ZipOverlap, two().with(|it| it.entries[1].offset = Some(0)).bytes();
        "two names of one place" => ZipOverlap, {
            let entry = Entry::stored("a", b"1");
            let second = entry.clone().with(|it| it.offset = Some(0));
            let mut zip = Zip::of([entry, second]).bytes();
            // The second local header goes, so that the bytes are there once.
            zip.drain(32..64);
            let at = zip.len() - 6;
            zip[at..at + 4].copy_from_slice(&32u32.to_le_bytes());
            zip
        };
        "a member in another one" => ZipOverlap, {
            let inner = Zip::of([Entry::stored("x", b"inner")]).bytes();
            let outer = Entry::stored("outer", &inner[..36]);
            let hidden = Entry::stored("x", b"inner").with(|it| it.offset = Some(35));
            let mut zip = Zip::of([outer, hidden]).bytes();
            zip.drain(71..107);
            let at = zip.len() - 6;
            zip[at..at + 4].copy_from_slice(&71u32.to_le_bytes());
            zip
        };
        "a tar around a member" => Format, {
            let mut block = crate::tar_bytes::Block::ustar(b'0', b"", 0);
            let name = "a".repeat(70);
            let streamed = |content: &[u8]| one(Entry::stored(&name, content).streamed());
            block.put(0, &streamed(b"")[..100]);
            streamed(&block.sealed()[100..])
        };
        "bytes before the first" => Format, two().with(|it| it.entries[0].before = b"#!/bin/sh\n".to_vec()).bytes();
        "bytes between two" => ZipGap, two().with(|it| it.entries[1].before = b"hidden".to_vec()).bytes();
        "bytes behind the last" => ZipGap, two().with(|it| it.entries[1].behind = b"hidden".to_vec()).bytes();
        "bytes behind the directory" => ZipEnd, two().with(|it| it.gap = b"hidden".to_vec()).bytes();
        "bytes behind packed content" => ZipContent, {
            let mut packed = deflate(b"content");
            packed.extend(b"hidden");
            one(Entry::packed("a", 8, b"content", packed))
        };
        "content that is too long" => ZipContent, one(Entry::packed("a", 8, b"short", deflate(b"much longer")));
        "content that is too short" => ZipContent, one(Entry::packed("a", 8, b"much longer", deflate(b"short")));
        "content with another checksum" => Checksum, one(Entry::deflated("a", b"content").both(|it| it.sum ^= 1));
        "content that is damaged" => Compressed, one(Entry::packed("a", 8, b"content", vec![7; 20]));
        "zstd that is none" => Compressed, one(Entry::packed("a", 93, b"content", b"not zstd".to_vec()));
    };
    assert_eq!(check(cases, Options::new), 14);
}

#[test]
fn ends_of_a_zip_that_readers_find_differently_are_refused() {
    let zip = || Zip::of([Entry::stored("a", b"1")]);
    let inner = Zip::of([]).bytes();
    let cases = cases! {
        "bytes behind the end" => ZipEnd, zip().with(|it| it.tail = b"hidden".to_vec()).bytes();
        "another end behind it" => ZipEnd, zip().with(|it| it.tail = inner.clone()).bytes();
        "another end in the comment" => ZipEnd, zip().with(|it| it.comment = inner.clone()).bytes();
        "a signature in the comment" => ZipEnd, zip().with(|it| it.comment = b"PK\x05\x06 is here".to_vec()).bytes();
        "no end" => ZipEnd, { let bytes = zip().bytes(); bytes[..bytes.len() - 22].to_vec() };
        "half an end" => ZipEnd, { let bytes = zip().bytes(); bytes[..bytes.len() - 4].to_vec() };
        "more members than there are" => ZipDirectory, zip().with(|it| it.count = Some(2)).bytes();
        "fewer members than there are" => ZipDirectory, zip().with(|it| it.count = Some(0)).bytes();
        "a directory that is shorter" => ZipEnd, zip().with(|it| it.size = Some(1)).bytes();
        "a directory elsewhere" => ZipEnd, zip().with(|it| it.offset = Some(0)).bytes();
        "several volumes" => ZipEnd, zip().with(|it| it.disk = 1).bytes();
        "a member in another volume" => ZipDirectory, changed(|it| it.disk = 1);
        "members that zip64 should count" => Zip64, zip().with(|it| it.count = Some(u16::MAX)).bytes();
        "a place that zip64 should tell" => Zip64, zip().with(|it| it.offset = Some(u32::MAX)).bytes();
    };
    assert_eq!(check(cases, Options::new), 14);
}

#[test]
fn zip64_that_lies_is_refused() {
    let zip = |zip64: Zip64| {
        Zip::of([Entry::stored("a", b"1")])
            .with(|it| it.zip64 = Some(zip64))
            .bytes()
    };
    let cases = cases! {
        "another number of members" => Zip64, zip(Zip64 { entries: Some(2), ..Zip64::default() });
        "another size" => Zip64, zip(Zip64 { size: Some(3), ..Zip64::default() });
        "a longer record" => Zip64, zip(Zip64 { record_size: Some(60), ..Zip64::default() });
        "a locator that leads elsewhere" => Zip64, zip(Zip64 { locates: Some(0), ..Zip64::default() });
        "several volumes by zip64" => Zip64, zip(Zip64 { disks: Some(2), ..Zip64::default() });
        "a field that nobody needs" => Zip64, changed(|it| it.central.extra = extra(1, &[0; 8]));
        "a needed field that is missing" => Zip64, changed(|it| it.central.size = u32::MAX);
        "a field that is too short" => Zip64, changed(|it| {
            it.central.size = u32::MAX;
            it.central.extra = extra(1, &[0; 4]);
        });
        "a field in one header alone" => ZipLocal, changed(|it| {
            it.central.size = u32::MAX;
            it.central.extra = extra(1, &99u64.to_le_bytes());
        });
        "100,000,000 members" => Entries, Zip::of([Entry::stored("a", b"")]).with(|it| {
            it.zip64 = Some(Zip64 { entries: Some(100_000_000), ..Zip64::default() });
            it.count = Some(u16::MAX);
        }).bytes();
    };
    assert_eq!(check(cases, Options::new), 10);
}

#[test]
fn flags_methods_and_attributes_that_are_not_known_are_refused() {
    let flag = |flags: u16| one(Entry::deflated("a", b"x").both(|it| it.flags = flags));
    let method = |method: u16| one(Entry::deflated("a", b"x").both(|it| it.method = method));
    let attributes = |name: &str, made_by: u16, attributes: u32| {
        one(Entry::stored(name, b"").with(|it| {
            (it.made_by, it.attributes) = (made_by << 8, attributes);
        }))
    };
    let cases = cases! {
        "encrypted" => ZipFlags, flag(1);
        "strongly encrypted" => ZipFlags, flag(1 << 6 | 1);
        "a masked directory" => ZipFlags, flag(1 << 13);
        "a patch" => ZipFlags, flag(1 << 5);
        "encrypted by WinZip" => ZipFlags, changed(|it| it.central.extra = extra(0x9901, b"\x02\0AE\x03\0\0"));
        "shrunk" => ZipMethod, method(1);
        "imploded" => ZipMethod, method(6);
        "deflate64" => ZipMethod, method(9);
        "bzip2" => ZipMethod, method(12);
        "LZMA" => ZipMethod, method(14);
        "xz" => ZipMethod, method(95);
        "an unknown method" => ZipMethod, method(999);
        "an extra field past its end" => ZipExtra, changed(|it| it.central.extra = b"\x01\0\xff\0".to_vec());
        "an extra field twice" => ZipExtra, changed(|it| it.central.extra = [extra(9, b""), extra(9, b"")].concat());
        "half an extra field" => ZipExtra, changed(|it| it.local.extra = b"\0\0\0".to_vec());
        "a FIFO" => Special, attributes("a", 3, 0o010_644 << 16);
        "a device" => Special, attributes("a", 3, 0o020_644 << 16);
        "a link by attribute of another system" => ZipAttributes, attributes("a", 0, 0o120_777 << 16);
        "a file that ends in a slash" => ZipAttributes, attributes("a/", 3, 0o100_644 << 16);
        "a directory that does not" => ZipAttributes, attributes("a", 3, 0o040_755 << 16);
        "a directory of DOS that does not" => ZipAttributes, attributes("a", 0, 0x10);
        "a link by attribute of macOS" => ZipAttributes, attributes("a", 19, 0o120_777 << 16);
        "a link with internal attributes" => ZipAttributes, {
            let mut zip = one(Entry::symlink("l", "x"));
            let at = zip.windows(4).position(|it| it == b"PK\x01\x02").unwrap();
            zip[at + 36] = 1;
            zip
        };
        "a volume's label" => ZipAttributes, attributes("a", 0, 0x08);
        "a volume's label of Unix" => ZipAttributes, attributes("a", 3, 0o100_644 << 16 | 0x08);
        "a link by an extra field" => ZipExtra,
            changed(|it| it.central.extra = extra(0x756e, b"\0\0\0\0\xff\xa1\0\0\0\0\0\0\0\0"));
        "attributes in an extra field" => ZipExtra,
            changed(|it| it.local.extra = extra(0x6c78, b"\x07\x14\x03\0\0\0\0\xff\xa1"));
        "a link that ends in a slash" => ZipAttributes, attributes("a/", 3, 0o120_777 << 16);
        "a directory with content" => ContentOfNoFile, one(Entry::stored("a/", b"x").with(|it| it.attributes = 0o040_755 << 16));
        "a directory with packed content" => ZipContent, one(Entry::packed("a/", 8, b"", deflate(b"x")).with(|it| it.attributes = 0o040_755 << 16));
        "a symbolic link" => Link, one(Entry::symlink("l", "x"));
    };
    assert_eq!(check(cases, Options::new), 31);
}

#[test]
fn links_and_bombs_of_a_zip_are_refused() {
    let link = |target: &str| one(Entry::symlink("l", target));
    let bomb = Entry::deflated("bomb", &vec![0; 4 << 20]);
    let cases = cases! {
        "a link that climbs" => LinkTarget, link("../x");
        "an absolute link" => LinkTarget, link("/etc/passwd");
        "a link that leads to itself" => LinkTarget, link("l");
        "a link with a NUL" => LinkTarget, link("a\0b");
        "a link with a long target" => TooLong, link(&"a/".repeat(4000));
        "a file through a link" => BelowFile, Zip::of([Entry::symlink("l", "d"), Entry::stored("l/x", b"")]).bytes();
        "4 MiB of zeros" => Ratio, one(bomb);
        "a size of 3 GiB" => FileSize, one(Entry::deflated("a", b"").both(|it| it.size = 3 << 30));
    };
    assert_eq!(check(cases, with_links), 8);
}

#[test]
fn a_sound_zip_is_extracted() {
    let zstd = include_bytes!("data/text.zst");
    let place = Place::new();
    let archive = Zip::of([
        Entry::dir("d/"),
        Entry::stored("d/stored", b"1"),
        Entry::deflated("d/deflated", &[b'x'; 1000]),
        Entry::packed("zstd", 93, b"text\n", zstd.to_vec()),
        Entry::deflated("streamed", b"3").streamed(),
        Entry::deflated("short", b"4")
            .streamed()
            .with(|it| drop(it.behind.drain(..4))),
        Entry::symlink("link", "d/stored"),
        Entry::stored("caf\u{e9}", b"5"),
        Entry::stored("wide", b"6").with(|it| {
            it.central.size = u32::MAX;
            it.central.extra = extra(1, &1u64.to_le_bytes());
        }),
    ])
    .with(|it| {
        it.zip64 = Some(Zip64::default());
        it.comment = b"a comment".to_vec();
    })
    .bytes();
    let mut options = with_links();
    options.digest = true;
    let report = place.extract(&archive, options).unwrap();
    assert!(report.is_clean() && report.digest.is_some(), "{report:?}");
    let tree = place.tree();
    for (name, content) in [
        ("d/stored", "1"),
        ("d/deflated", &"x".repeat(1000)),
        ("zstd", "text\n"),
        ("streamed", "3"),
        ("short", "4"),
        ("caf\u{e9}", "5"),
        ("wide", "6"),
    ] {
        assert_eq!(tree[&format!("out/{name}")], format!("file 644 {content}"));
    }
    assert_eq!(tree["out/link"], "-> d/stored");
    assert!(crate::support::tree(&place.dir.path().join("scratch")).is_empty());
}
