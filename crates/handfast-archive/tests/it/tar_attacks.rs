//! Attacks on readers of tar, each by name with the verdict it has to get.

use handfast_archive::{Names, Options};

use crate::support::{cases, check, with_links};
use crate::tar_bytes::{Block, Bytes, record};

/// A file with one change to its header.
fn changed(change: impl FnOnce(&mut Block) -> &mut Block) -> Vec<u8> {
    let mut block = Block::ustar(b'0', b"file", 4);
    change(&mut block);
    Bytes::new().header(&block).content(b"data").end()
}

fn changed_gnu(change: impl FnOnce(&mut Block) -> &mut Block) -> Vec<u8> {
    let mut block = Block::gnu(b'0', b"file", 4);
    change(&mut block);
    Bytes::new().header(&block).content(b"data").end()
}

fn named(name: &[u8]) -> Vec<u8> {
    Bytes::new().pax(&[("path", name)]).file("x", b"data").end()
}

fn of_type(typeflag: u8, size: usize) -> Vec<u8> {
    let block = Block::ustar(typeflag, b"file", size);
    Bytes::new().header(&block).content(&vec![b'x'; size]).end()
}

#[test]
fn names_that_lead_elsewhere_are_refused() {
    let deep = vec!["a"; 2000].join("/");
    let cases = cases! {
        "climbs" => Climbs, named(b"../x");
        "climbs in the middle" => Climbs, named(b"a/../../x");
        "climbs back to where it was" => Climbs, named(b"a/../x");
        "climbs at the end" => Climbs, named(b"a/..");
        "climbs alone" => Climbs, named(b"..");
        "climbs behind a dot" => Climbs, named(b"./../x");
        "climbs behind slashes" => Climbs, named(b"a//../x");
        "climbs from a directory" => Climbs, Bytes::new().dir("../d").end();
        "is absolute" => Absolute, named(b"/etc/passwd");
        "is absolute twice" => Absolute, named(b"//etc/passwd");
        "is absolute in the header" => Absolute, changed(|it| it.put(0, b"/x\0\0"));
        "is absolute by its prefix" => Absolute, changed(|it| it.put(345, b"/etc"));
        "climbs by its prefix" => Climbs, changed(|it| it.put(345, b".."));
        "is empty" => EmptyName, changed(|it| it.put(0, &[0; 4]));
        "is a dot" => EmptyName, named(b".");
        "is a dot and a slash" => EmptyName, named(b"./");
        "ends in a slash" => SlashOnFile, named(b"file/");
        "ends in a slash and a dot" => SlashOnFile, named(b"file/.");
        "ends in a slash with the old type" => SlashOnFile, Bytes::new().header(&Block::ustar(0, b"dir/", 0)).end();
        "has a NUL by pax" => Nul, named(b"good\0/../../x");
        "is too long" => TooLong, named(&b"a/".repeat(2100));
        "has a long segment" => TooLong, named(&[b'a'; 256]);
        "is 2,000 deep" => TooDeep, named(deep.as_bytes());
        "is 129 deep" => TooDeep, named(vec!["a"; 129].join("/").as_bytes());
        "begins with a drive" => Absolute, named(b"a:b");
        "begins with a drive behind a dot" => Absolute, named(b"./C:/x");
        "is that of unfinished work" => Reserved, named(b".handfast-merge-00000000000000aa/journal");
        "is that of unfinished work further down" => Reserved, named(b"a/.handfast-t-1-2-0000000000000003/x");
    };
    assert_eq!(check(cases, Options::new), 28);
}

#[test]
fn members_that_take_each_others_places_are_refused() {
    let two = |one: &str, other: &str| Bytes::new().file(one, b"1").file(other, b"2").end();
    let same = Block::ustar(b'0', b"same", 0).sealed().repeat(100_000);
    let cases = cases! {
        "the same file twice" => Duplicate, two("a", "a");
        "the same file by another spelling" => Duplicate, two("a/b", "./a//b");
        "100,000 times one name" => Duplicate, Bytes::new().raw(&same).end();
        "a file below a file" => BelowFile, two("a", "a/b");
        "a file where a directory is" => Duplicate, two("a/b", "a");
        "a directory where a file is" => Duplicate, Bytes::new().file("a", b"").dir("a").end();
        "another case" => Collision, two("README", "readme");
        "another case of a directory" => Collision, two("Dir/a", "dir/b");
        "another normalisation" => Collision, two("caf\u{e9}", "cafe\u{301}");
        "a ligature" => Collision, two("\u{fb01}le", "file");
        "the Kelvin sign" => Collision, two("\u{212a}", "k");
        "a wide letter" => Collision, two("\u{ff41}", "A");
        "sharp s" => Collision, two("stra\u{df}e", "STRASSE");
    };
    assert_eq!(check(cases, Options::new), 13);
}

#[test]
fn links_are_refused_by_default() {
    let cases = cases! {
        "a symbolic link" => Link, Bytes::new().symlink("l", "x").end();
        "a hard link" => Link, Bytes::new().file("x", b"").hard_link("l", "x").end();
        "a link and a file through it" => Link, Bytes::new().symlink("l", "..").file("l/x", b"").end();
    };
    assert_eq!(check(cases, Options::new), 3);
}

#[test]
fn links_that_lead_outside_are_refused() {
    let link = |name: &str, target: &str| Bytes::new().symlink(name, target).end();
    let hard = |target: &str| Bytes::new().file("f", b"").hard_link("h", target).end();
    // Longer than a path of the kernel's, as the attacks on path checkers have it.
    let chain = {
        let name = "d".repeat(90);
        (0..50).fold(Bytes::new(), |it, at| {
            it.symlink(&format!("{at}{name}"), &format!("{}{name}", at + 1))
        })
    };
    let cases = cases! {
        "absolute" => LinkTarget, link("l", "/etc");
        "climbs" => LinkTarget, link("l", "..");
        "climbs from a directory" => LinkTarget, link("a/l", "../../x");
        "climbs after a name" => LinkTarget, link("a/b/l", "c/../../x");
        "climbs through another link" => LinkTarget, Bytes::new().symlink("a/b", ".").symlink("a/l", "b/../../x").end();
        "is empty" => LinkTarget, link("l", "");
        "leads to itself" => LinkTarget, link("l", "l");
        "two lead to each other" => LinkTarget, Bytes::new().symlink("a", "b").symlink("b", "a").end();
        "leads to itself through a directory" => LinkTarget, link("d/l", "../d/l/x");
        "a row of fifty" => LinkTarget, chain.end();
        "a target with a long segment" => LinkTarget,
            { Bytes::new().pax(&[("linkpath", &[b'a'; 300])]).symlink("l", "x").end() };
        "a target that is too long" => LinkTarget,
            Bytes::new().pax(&[("linkpath", &b"a/".repeat(3000))]).symlink("l", "x").end();
        "a file through a link" => BelowFile, Bytes::new().symlink("l", "d").dir("d").file("l/x", b"").end();
        "a file in the place of a link" => Duplicate, Bytes::new().symlink("l", "x").file("l", b"").end();
        "a link in the place of a directory" => Duplicate, Bytes::new().file("d/x", b"").symlink("d", "e").end();
        "a directory in the place of a link" => Duplicate, Bytes::new().symlink("d", "e").dir("d").end();
        "a link that another case of it replaces" => Collision,
            Bytes::new().symlink("Link", "e").file("link/x", b"").end();
        "a hard link outside" => HardLinkTarget, hard("../secret");
        "a hard link to an absolute path" => HardLinkTarget, hard("/etc/passwd");
        "a hard link to nothing" => HardLinkTarget, hard("nothing");
        "a hard link to another case" => HardLinkTarget, hard("F");
        "a hard link to itself" => HardLinkTarget, hard("h");
        "a hard link to a directory" => HardLinkTarget, Bytes::new().dir("d").hard_link("h", "d").end();
        "a hard link to a symbolic link" => HardLinkTarget, Bytes::new().symlink("s", "x").hard_link("h", "s").end();
        "a hard link to what comes later" => HardLinkTarget, Bytes::new().hard_link("h", "f").file("f", b"").end();
        "a hard link through a link" => HardLinkTarget,
            Bytes::new().file("d/f", b"").symlink("s", "d").hard_link("h", "s/f").end();
        "a hard link without a target" => HardLinkTarget, hard("");
    };
    assert_eq!(check(cases, with_links), 27);
}

#[test]
fn headers_that_readers_understand_differently_are_refused() {
    let mut signed = Block::ustar(b'0', b"f\xff", 0).sealed();
    // The sum of signed bytes, as some old writers counted.
    let sum: i64 = signed
        .iter()
        .enumerate()
        .map(|(at, byte)| match at {
            148..156 => i64::from(b' '),
            _ => i64::from(i8::from_ne_bytes([*byte])),
        })
        .sum();
    signed[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
    let binary = |value: &[u8]| {
        let mut field = [0; 12];
        field[0] = 0x80;
        field[12 - value.len()..].copy_from_slice(value);
        field
    };
    let cases = cases! {
        "a wrong checksum" => Checksum,
            changed(|it| it).iter().enumerate().map(|(at, byte)| if at == 0 { b'g' } else { *byte }).collect();
        "a signed checksum" => Checksum, Bytes::new().raw(&signed).end();
        "no checksum" => Checksum,
            Bytes::new().raw(&{ let mut block = Block::ustar(b'0', b"f", 0).sealed(); block[148..156].fill(0); block }).end();
        "no magic, and a device number" => Magic, changed(|it| it.put(257, &[0; 8]).put(329, b"0000001\0"));
        "no magic, and a prefix" => Magic, changed(|it| it.put(257, &[0; 8]).put(345, b"x"));
        "no magic, and a checksum that is wrong" => Format, {
            let mut bytes = changed(|it| it.put(257, &[0; 8]));
            bytes[0] ^= 1;
            bytes
        };
        "a pax header before a member without magic" => ExtensionsMixed, {
            let mut block = Block::ustar(b'0', b"f", 0);
            Bytes::new().pax(&[("path", b"a")]).header(block.put(257, &[0; 8])).end()
        };
        "a directory of old writers" => SlashOnFile, {
            let mut block = Block::ustar(0, b"d/", 0);
            Bytes::new().header(block.put(257, &[0; 8])).end()
        };
        "no magic later on" => Magic,
            Bytes::new().file("a", b"").raw(&{ let mut block = Block::ustar(b'0', b"f", 0); block.put(257, b"tar\0"); block.sealed() }).end();
        "half a magic" => Magic, changed(|it| it.put(257, b"ustar\0\0\0"));
        "two magics mixed" => Magic, changed(|it| it.put(257, b"ustar \x00\x00"));
        "text after a NUL in the name" => Text, changed(|it| it.put(0, b"a\0b\0"));
        "text after a NUL in the prefix" => Text, changed(|it| it.put(345, b"a\0b"));
        "text after a NUL in the target" => Text, changed(|it| it.put(157, b"\0x"));
        "a size with a minus" => Number, changed(|it| it.put(124, b"-0000000004\0"));
        "a size with an eight" => Number, changed(|it| it.put(124, b"00000000008\0"));
        "a size with a space inside" => Number, changed(|it| it.put(124, b"0000 000004\0"));
        "a size in hexadecimal" => Number, changed(|it| it.put(124, b"0x000000004\0"));
        "a size with digits after its end" => Number, changed(|it| it.put(124, b"4\x00000000001"));
        "no size" => Number, changed(|it| it.put(124, &[0; 12]));
        "a negative size in base 256" => Number, changed_gnu(|it| it.put(124, &[0xff; 12]));
        "a size of 2^64 in base 256" => Number,
            changed_gnu(|it| it.put(124, &binary(&[1, 0, 0, 0, 0, 0, 0, 0, 0])));
        "a size of 2^63 in base 256" => Number,
            changed_gnu(|it| it.put(124, &binary(&[0x80, 0, 0, 0, 0, 0, 0, 0])));
        "a size of 2^40 in base 256" => FileSize, changed_gnu(|it| it.put(124, &binary(&[1, 0, 0, 0, 0, 0])));
        "a mode that is no number" => Number, changed(|it| it.put(100, b"rw-r--r-"));
        "an owner that is no number" => Number, changed(|it| it.put(108, b"root\0\0\0\0"));
        "a group that is negative" => Number, changed(|it| it.put(116, &[0xff; 8]));
        "a time that is no number" => Number, changed(|it| it.put(136, b"yesterday\0\0\0"));
        "a device number that is none" => Number, changed(|it| it.put(329, b"zero\0\0\0\0"));
        "times of GNU where POSIX has the prefix" => Text, changed_gnu(|it| it.put(345, b"14524770400\x0014524770400\0"));
        "one time of GNU in base 256" => Text, changed_gnu(|it| it.put(357, &binary(&[1])));
        "a prefix in GNU's dialect" => Text, changed_gnu(|it| it.put(345, b"some/where/else"));
        "a prefix behind GNU's times" => Sparse, changed_gnu(|it| it.put(400, b"x"));
        "a target on a file" => Type, changed(|it| it.put(157, b"x"));
    };
    assert_eq!(check(cases, with_links), 34);
}

#[test]
fn types_that_readers_understand_differently_are_refused() {
    let sized = |typeflag| of_type(typeflag, 512);
    let linked = |typeflag| {
        let mut block = Block::ustar(typeflag, b"l", 512);
        block.target(b"file");
        Bytes::new()
            .file("file", b"")
            .header(&block)
            .content(&[0; 512])
            .end()
    };
    let cases = cases! {
        "a device" => Special, of_type(b'3', 0);
        "a block device" => Special, of_type(b'4', 0);
        "a FIFO" => Special, of_type(b'6', 0);
        "a device with content" => ContentOfNoFile, sized(b'3');
        "a FIFO with content" => ContentOfNoFile, sized(b'6');
        "a directory with content" => ContentOfNoFile, sized(b'5');
        "a symbolic link with content" => ContentOfNoFile, linked(b'2');
        "a hard link with content" => ContentOfNoFile, linked(b'1');
        "a hard link with a header as content" => ContentOfNoFile,
            { let mut block = Block::ustar(b'1', b"l", 512); block.target(b"file"); Bytes::new().file("file", b"").header(&block).file("../x", b"").end() };
        "a contiguous file" => Type, of_type(b'7', 4);
        "an unknown type" => Type, of_type(b'Z', 0);
        "an unknown type with content" => Type, sized(b'Z');
        "a type of zeros and ones" => Type, of_type(1, 0);
        "a dumped directory" => Type, sized(b'D');
        "a continued file" => Type, of_type(b'M', 4);
        "a list of names" => Type, of_type(b'N', 4);
        "a volume's name" => Type, of_type(b'V', 0);
        "Solaris' extended header" => Type, of_type(b'X', 4);
        "Solaris' list of rights" => Type, of_type(b'A', 4);
        "a sparse file" => Sparse, of_type(b'S', 4);
        "a sparse file of GNU" => Sparse, Bytes::new().header(&Block::gnu(b'S', b"f", 4)).content(b"data").end();
    };
    assert_eq!(check(cases, with_links), 21);
}

#[test]
fn extension_headers_that_readers_understand_differently_are_refused() {
    let raw = |records: &[u8]| Bytes::new().pax_raw(records).file("f", b"data").end();
    let with = |key: &str, value: &[u8]| Bytes::new().pax(&[(key, value)]).file("f", b"data").end();
    let gnu = Block::gnu(b'0', b"f", 0);
    let twice = [record("path", b"a"), record("path", b"b")].concat();
    let cases = cases! {
        "a record without a newline" => PaxRecord, raw(b"9 path=ab");
        "a record past its end" => PaxRecord, raw(b"99 path=a\n");
        "a record that is too short" => PaxRecord, raw(b"3 path=a\n");
        "a record without a length" => PaxRecord, raw(b"path=a\n");
        "a length with a zero in front" => PaxRecord, raw(b"010 path=a\n");
        "a length with a sign" => PaxRecord, raw(b"+10 path=a\n");
        "a length with a space in front" => PaxRecord, raw(b" 10 path=a\n");
        "a length beyond 64 bits" => PaxRecord, raw(b"99999999999999999999 path=a\n");
        "a record without an equals sign" => PaxRecord, raw(b"9 patha\n\n");
        "a record without a keyword" => PaxRecord, raw(b"5 =a\n");
        "zeros behind the records" => PaxRecord, raw(b"10 path=a\n\0\0");
        "an empty path" => PaxRecord, with("path", b"");
        "an empty target" => PaxRecord, with("linkpath", b"");
        "a NUL in a path" => Nul, with("path", b"a\0b");
        "a NUL in a target" => Nul, with("linkpath", b"a\0b");
        "a keyword twice" => PaxTwice, raw(&twice);
        "an unknown keyword" => PaxKey, with("filetype", b"dir");
        "an unknown character set" => PaxKey, with("hdrcharset", b"KOI8-R");
        "a keyword without a vendor" => PaxKey, with("A.", b"1");
        "a size that differs" => PaxSize, with("size", b"512");
        "a size that hides the rest" => PaxSize, with("size", b"0");
        "a size that is negative" => Number, with("size", b"-4");
        "a size with a zero in front" => Number, with("size", b"04");
        "a size beyond 63 bits" => Number, with("size", b"9223372036854775808");
        "a time that is none" => Number, with("mtime", b"now");
        "a sparse file of pax" => Sparse, with("GNU.sparse.major", b"1");
        "another name for a sparse file" => Sparse, with("GNU.sparse.name", b"../x");
        "a sparse file of Solaris" => Sparse, with("SUN.holesdata", b" 0 4 8");
        "another volume of GNU" => PaxKey, with("GNU.volume.filename", b"x");
        "a dumped directory of GNU" => PaxKey, with("GNU.dumpdir", b"Yx\0");
        "another type by Schily" => PaxKey, with("SCHILY.filetype", b"directory");
        "an access time that is none" => Number, with("atime", b"now");
        "an owner that is none" => Number, with("uid", b"root");
        "a target that only pax has" => LinkTarget,
            Bytes::new().pax(&[("linkpath", b"x")]).symlink("l", "").file("x", b"").end();
        "a target that only GNU's long one has" => LinkTarget,
            Bytes::new().long(b'K', b"x\0").header(&Block::gnu(b'2', b"l", 0)).end();
        "a sparse file of Schily" => Sparse, with("SCHILY.realsize", b"99");
        "a target for a file" => Type, with("linkpath", b"x");
        "a global path" => PaxGlobal, Bytes::new().global(&[("path", b"x")]).file("f", b"").end();
        "a global size" => PaxGlobal, Bytes::new().global(&[("size", b"0")]).file("f", b"").end();
        "a global target" => PaxGlobal, Bytes::new().global(&[("linkpath", b"x")]).file("f", b"").end();
        "a global header before the member's" => ExtensionsMixed,
            Bytes::new().pax(&[("path", b"a")]).global(&[("comment", b"x")]).file("f", b"").end();
        "two pax headers" => ExtensionTwice,
            Bytes::new().pax(&[("path", b"a")]).pax(&[("mtime", b"1")]).file("f", b"").end();
        "two long names" => ExtensionTwice, Bytes::new().long(b'L', b"a\0").long(b'L', b"b\0").header(&gnu).end();
        "two long targets" => ExtensionTwice, Bytes::new().long(b'K', b"a\0").long(b'K', b"b\0").header(&gnu).end();
        "pax and then GNU" => ExtensionsMixed,
            Bytes::new().pax(&[("path", b"a")]).long(b'L', b"b\0").header(&gnu).end();
        "GNU and then pax" => ExtensionsMixed,
            Bytes::new().long(b'L', b"b\0").pax(&[("path", b"a")]).file("f", b"").end();
        "a pax header before a GNU member" => ExtensionsMixed, Bytes::new().pax(&[("path", b"a")]).header(&gnu).end();
        "a long name before a POSIX member" => ExtensionsMixed, Bytes::new().long(b'L', b"a\0").file("f", b"").end();
        "a pax header in GNU's dialect" => ExtensionsMixed,
            Bytes::new().extension(&Block::gnu(b'x', b"p", 10), b"10 path=a\n").file("f", b"").end();
        "a long name in POSIX' dialect" => ExtensionsMixed,
            Bytes::new().extension(&Block::ustar(b'L', b"p", 2), b"a\0").header(&gnu).end();
        "a long name without an end" => GnuLongName, Bytes::new().long(b'L', b"abc").header(&gnu).end();
        "a long name with two ends" => GnuLongName, Bytes::new().long(b'L', b"a\0b\0").header(&gnu).end();
        "an empty long name" => GnuLongName, Bytes::new().long(b'L', b"\0").header(&gnu).end();
        "a long name that climbs" => Climbs, Bytes::new().long(b'L', b"../x\0").header(&gnu).end();
        "a long target that climbs" => LinkTarget,
            Bytes::new().long(b'K', b"../x\0").header(Block::gnu(b'2', b"l", 0).target(b"x")).end();
        "a long target for a file" => Type, Bytes::new().long(b'K', b"x\0").header(&gnu).end();
        "a pax header at the end" => ExtensionDangling, Bytes::new().file("f", b"").pax(&[("path", b"a")]).end();
        "a long name at the end" => ExtensionDangling, Bytes::new().file("f", b"").long(b'L', b"a\0").end();
        "a large pax header" => ExtensionBytes,
            { Bytes::new().pax(&[("comment", &vec![b'x'; 2 << 20])]).file("f", b"").end() };
        "a pax header that promises 8 GiB" => ExtensionBytes,
            { let mut block = Block::ustar(b'x', b"p", 0); block.octal(124, 12, 0o77_777_777_777); Bytes::new().header(&block).end() };
        "a row of global headers" => ExtensionBytes,
            (0..3000).fold(Bytes::new(), |it, _| it.global(&[("comment", b"x")])).file("f", b"").end();
    };
    assert_eq!(check(cases, with_links), 61);
}

#[test]
fn archives_that_end_differently_for_different_readers_are_refused() {
    let whole = Bytes::new().file("f", b"data").end();
    let cut = |len: usize| whole[..len].to_vec();
    let more = |bytes: &[u8]| [&whole[..], bytes].concat();
    let mut dirty = whole.clone();
    dirty[512 + 100] = b'x';
    let cases = cases! {
        "nothing at all" => Format, Vec::new();
        "half a header" => Truncated, cut(300);
        "a header alone" => Truncated, cut(512);
        "half its content" => Truncated, cut(514);
        "no padding" => Truncated, cut(516);
        "no end marker" => EndMarker, cut(1024);
        "half an end marker" => EndMarker, cut(1536);
        "an end marker that is cut" => Truncated, cut(1800);
        "a block of zeros, and more members" => EndMarker,
            { Bytes::new().file("f", b"").raw(&[0; 512]).file("g", b"").end() };
        "another archive behind it" => AfterEnd, more(&whole);
        "one byte behind it" => AfterEnd, more(b"x");
        "a byte behind much padding" => AfterEnd, more(&[&[0; 9000][..], b"x"].concat());
        "2 MiB of zeros behind it" => AfterEnd, more(&vec![0; 2 << 20]);
        "something in the padding" => Padding, dirty;
        "something in the padding of a pax header" => Padding,
            { let mut bytes = Bytes::new().pax(&[("path", b"a")]).file("f", b"").end(); bytes[1000] = 1; bytes };
        "text" => Format, b"This is no archive at all.".to_vec();
        "another format" => Format, b"7z\xbc\xaf\x27\x1c".to_vec();
        "an ELF file" => Format, [&b"\x7fELF"[..], &[0; 600]].concat();
    };
    assert_eq!(check(cases, with_links), 18);
}

#[test]
fn names_that_other_systems_read_differently_are_refused_when_asked() {
    let portable = || {
        let mut options = Options::new();
        options.names = Names::Portable;
        options
    };
    let cases = cases! {
        "a device of Windows" => Portable, named(b"d/CON.txt");
        "a stream of Windows" => Portable, named(b"file:stream");
        "a path of Windows" => Portable, named(b"a\\..\\b");
        "a drive of Windows further down" => Portable, named(b"d/C:x");
        "a dot at the end" => Portable, named(b"name.");
        "a space at the end" => Portable, named(b"name ");
        "a short name of Windows" => Portable, named(b"GIT~1");
        "bytes that are no text" => Portable, named(b"a\xff");
        "a hidden character" => Portable, named("a\u{202e}b".as_bytes());
        "a newline" => Portable, named(b"a\nb");
    };
    assert_eq!(check(cases, portable), 10);
}
