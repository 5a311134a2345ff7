//! Sound archives with bytes changed at random: no panic, no escape, limits hold.

use crate::any_bytes::check;
use crate::tar_bytes::{Block, Bytes};
use crate::zip_bytes::{Entry, Zip};

/// A generator that gives the same numbers in every run.
struct Random(u64);

impl Random {
    fn next(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 % below as u64).unwrap()
    }
}

fn sound() -> Vec<Vec<u8>> {
    let tar = Bytes::new()
        .global(&[("comment", b"x")])
        .dir("d")
        .pax(&[("path", b"d/long"), ("mtime", b"1.5")])
        .file("x", b"content")
        .long(b'L', b"d/gnu\0")
        .header(&Block::gnu(b'0', b"g", 3))
        .content(b"abc")
        .symlink("l", "d/long")
        .hard_link("h", "d/long")
        .end();
    let zip = Zip::of([
        Entry::dir("d/"),
        Entry::deflated("d/a", b"content content content"),
        Entry::stored("b", b"1").streamed(),
        Entry::symlink("l", "b"),
    ]);
    vec![tar, zip.bytes()]
}

#[test]
fn changed_bytes_never_do_harm() {
    let cases = std::env::var("HANDFAST_RANDOM_CASES").ok();
    let cases: usize = cases.and_then(|text| text.parse().ok()).unwrap_or(25);
    let mut random = Random(0x5eed);
    for mut archive in sound() {
        check(&archive);
        let original = archive.clone();
        for _ in 0..cases {
            archive.clone_from(&original);
            for _ in 0..1 + random.next(3) {
                let at = random.next(archive.len());
                let interesting = [0, 1, b'/', b'.', b'0', b'7', 0x80, 0xff];
                archive[at] = match random.next(3) {
                    0 => interesting[random.next(interesting.len())],
                    1 => archive[at] ^ 1 << random.next(8),
                    _ => archive[random.next(original.len())],
                };
            }
            if random.next(8) == 0 {
                archive.truncate(random.next(original.len()));
            }
            check(&archive);
        }
    }
}
