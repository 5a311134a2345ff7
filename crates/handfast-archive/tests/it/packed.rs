//! Packed archives: damaged, followed by more, and made to unpack to too much.

use std::io::Write as _;

use handfast_archive::{Options, Rule};

use crate::support::{Place, cases, check, verdict, with_links};
use crate::tar_bytes::{Block, Bytes};

fn gzip(data: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(data).unwrap();
    encoder.finish().unwrap()
}

/// A frame of zstd that holds the data as it is, and says that it has this size.
fn zstd_frame(data: &[u8], size: usize) -> Vec<u8> {
    let block = (data.len() << 3 | 1) as u32;
    [
        // One segment, and four bytes for the size.
        b"\x28\xb5\x2f\xfd\xa0",
        &(size as u32).to_le_bytes()[..],
        &block.to_le_bytes()[..3],
        data,
    ]
    .concat()
}

#[test]
fn compressed_data_that_is_damaged_or_goes_on_is_refused() {
    let whole = Bytes::new().file("f", b"data").end();
    let packed = gzip(&whole);
    let mut damaged = packed.clone();
    // A block of a type that there is not.
    damaged[10] = 7;
    let mut wrong_sum = packed.clone();
    let at = wrong_sum.len() - 6;
    wrong_sum[at] ^= 1;
    let zstd = include_bytes!("data/one.tar.zst");
    let xz = include_bytes!("data/one.tar.xz");
    let bzip2 = include_bytes!("data/one.tar.bz2");
    let flip = |bytes: &[u8], at: usize| {
        let mut bytes = bytes.to_vec();
        bytes[at] ^= 0x10;
        bytes
    };
    let cases = cases! {
        "gzip, cut" => Truncated, packed[..packed.len() - 4].to_vec();
        "gzip, damaged" => Compressed, damaged;
        "gzip, a wrong checksum" => Compressed, wrong_sum;
        "gzip and text" => Compressed, [&packed[..], b"text behind it"].concat();
        "gzip and another archive in gzip" => AfterEnd, [&packed[..], &packed].concat();
        "gzip in gzip" => Truncated, gzip(&packed);
        "gzip of text" => Number, gzip(&[b'x'; 2000]);
        "zstd, cut" => Truncated, zstd[..zstd.len() - 6].to_vec();
        "zstd and text" => Compressed, [&zstd[..], b"text behind it"].concat();
        "zstd and a skippable frame" => Compressed, [&zstd[..], b"\x50\x2a\x4d\x18\x01\0\0\0x"].concat();
        "zstd, a wrong checksum" => Compressed, flip(zstd, zstd.len() - 1);
        "zstd that promises one byte more" => Compressed, zstd_frame(&whole, whole.len() + 1);
        "xz, cut" => Truncated, xz[..xz.len() - 6].to_vec();
        "xz and text" => Compressed, [&xz[..], b"text"].concat();
        "xz, damaged" => Compressed, flip(xz, 60);
        "bzip2, cut" => Truncated, bzip2[..bzip2.len() - 6].to_vec();
        "bzip2 and text" => Compressed, [&bzip2[..], b"text"].concat();
        "bzip2, damaged" => Compressed, flip(bzip2, 60);
    };
    assert_eq!(check(cases, with_links), 18);
}

#[test]
fn bombs_run_into_limits() {
    let zeros = Bytes::new().file("f", &vec![0; 4 << 20]).end();
    let many = (0..200).fold(Bytes::new(), |it, at| it.file(&format!("{at}"), b"x"));
    let long_names = (0..20).fold(Bytes::new(), |it, at| {
        it.pax(&[("path", format!("{at}/{}", "n".repeat(200)).as_bytes())])
            .file("f", b"")
    });
    let limits = || {
        let mut options = Options::new();
        options.limits.entries = 100;
        options.limits.name_bytes = 2000;
        options.limits.file_size = 6 << 20;
        options.limits.bytes = 10 << 20;
        options
    };
    let cases = cases! {
        "4 MiB of zeros in gzip" => Ratio, gzip(&zeros);
        "200 members" => Entries, many.end();
        "names of 4,000 bytes in all" => NameBytes, long_names.end();
        "a file of 7 MiB" => FileSize, Bytes::new().file("f", &vec![b'x'; 7 << 20]).end();
        "three files of 4 MiB" => Bytes,
            { let file = vec![b'x'; 4 << 20]; Bytes::new().file("a", &file).file("b", &file).file("c", &file).end() };
        "a header that promises 8 GiB" => FileSize, Bytes::new().header(Block::ustar(b'0', b"f", 0).octal(124, 12, 0o77_777_777_777)).end();
    };
    assert_eq!(check(cases, limits), 6);
}

/// Names of 128 segments that share nothing: each makes a hundred directories that no member tells.
fn deep_names(count: usize) -> Vec<u8> {
    let below = vec!["d"; 110].join("/");
    (0..count)
        .fold(Bytes::new(), |it, at| {
            let name = format!("{at}/{below}");
            it.pax(&[("path", name.as_bytes())]).file("f", b"")
        })
        .end()
}

#[test]
fn directories_that_names_imply_count_as_members() {
    let limits = |entries, name_bytes| {
        move || {
            let mut options = Options::new();
            (options.limits.entries, options.limits.name_bytes) = (entries, name_bytes);
            options
        }
    };
    // Ten members, eleven hundred directories, and more than a hundred thousand bytes of their paths.
    let archive = deep_names(10);
    let cases = || cases! { "deep names" => Entries, deep_names(10); };
    assert_eq!(check(cases(), limits(1000, 16 << 20)), 1);
    let cases = cases! { "deep names" => NameBytes, archive.clone(); };
    assert_eq!(check(cases, limits(100_000, 100_000)), 1);
    let place = Place::new();
    let options = limits(1200, 200_000)();
    assert!(place.extract(&archive, options).unwrap().is_clean());
    // Characters that become many more when they are compared with others.
    let wide = "\u{fdfa}".repeat(80);
    let many = (0..50).fold(Bytes::new(), |it, at| {
        let name = format!("{at}{wide}");
        it.pax(&[("path", name.as_bytes())]).file("f", b"")
    });
    let cases = cases! { "names that grow" => NameBytes, many.end(); };
    assert_eq!(check(cases, limits(100, 50_000)), 1);
}

#[test]
fn an_extension_header_with_many_keywords_is_read_in_time() {
    let begun = std::time::Instant::now();
    let keywords: Vec<u8> = (0..80_000)
        .flat_map(|at| crate::tar_bytes::record(&format!("V.{at:x}"), b""))
        .collect();
    let archive = Bytes::new().pax_raw(&keywords).file("f", b"").end();
    let place = Place::new();
    assert!(place.extract(&archive, Options::new()).unwrap().is_clean());
    assert!(begun.elapsed().as_secs() < 20, "{:?}", begun.elapsed());
}

#[test]
fn an_extraction_that_takes_too_long_ends() {
    let place = Place::new();
    let mut options = Options::new();
    options.limits.time = Some(std::time::Duration::ZERO);
    let report = place
        .extract(&Bytes::new().file("f", b"x").end(), options)
        .unwrap();
    assert_eq!(verdict(&report), Some(Rule::Time));
    assert!(place.is_untouched());
}

#[test]
fn windows_larger_than_allowed_are_refused() {
    let place = Place::new();
    for archive in [
        &include_bytes!("data/one.tar.xz")[..],
        include_bytes!("data/wide.tar.zst"),
    ] {
        let mut options = Options::new();
        options.limits.window = 1 << 16;
        let report = place.extract(archive, options).unwrap();
        assert_eq!(verdict(&report), Some(Rule::Window), "{report:?}");
        assert!(place.is_untouched());
    }
}

#[test]
fn every_compression_comes_out_the_same() {
    for (name, archive) in [
        ("gzip of two members", {
            let whole = Bytes::new().file("f", b"data\n").end();
            [gzip(&whole[..700]), gzip(&whole[700..])].concat()
        }),
        ("zstd that says its size", {
            let whole = Bytes::new().file("f", b"data\n").end();
            zstd_frame(&whole, whole.len())
        }),
        ("zstd", include_bytes!("data/one.tar.zst").to_vec()),
        (
            "zstd of two frames",
            include_bytes!("data/two.tar.zst").to_vec(),
        ),
        ("xz", include_bytes!("data/one.tar.xz").to_vec()),
        ("bzip2", include_bytes!("data/one.tar.bz2").to_vec()),
    ] {
        let place = Place::new();
        let mut options = Options::new();
        options.digest = true;
        let report = place.extract(&archive, options).unwrap();
        assert!(report.is_clean(), "{name}: {report:?}");
        assert_eq!(place.tree()["out/f"], "file 644 data\n", "{name}");
        use sha2::Digest as _;
        let digest: [u8; 32] = sha2::Sha256::digest(&archive).into();
        assert_eq!(report.digest, Some(digest), "{name}");
    }
}
