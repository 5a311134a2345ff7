//! What holds for any bytes at all. The fuzz target `archives` runs the same check.

use handfast::{RelPath, Root};
use handfast_archive::{Input, LinkPolicy, Options, Report, Target, extract, list};

fn options() -> Options<'static> {
    let mut options = Options::new();
    options.links = LinkPolicy::Inside;
    options.limits.bytes = 1 << 20;
    options.limits.entries = 200;
    options.limits.window = 1 << 22;
    options
}

/// The bytes, and the same bytes as a header whose checksum is right: otherwise few would get far.
pub(crate) fn check(bytes: &[u8]) {
    one(bytes);
    let mut sealed = bytes.to_vec();
    for at in (0..sealed.len().saturating_sub(511)).step_by(512) {
        let block = &mut sealed[at..at + 512];
        if block[257..262] == *b"ustar" {
            block[148..156].fill(b' ');
            let sum: u32 = block.iter().map(|byte| u32::from(*byte)).sum();
            block[148..156].copy_from_slice(format!("{sum:06o}\0 ").as_bytes());
        }
    }
    one(&sealed);
}

fn one(bytes: &[u8]) {
    let dir = tempfile::tempdir().unwrap();
    std::fs::create_dir(dir.path().join("inside")).unwrap();
    let root = Root::open_ambient(dir.path().join("inside")).unwrap();
    let out = RelPath::parse("out").unwrap();
    let listed = list(Input::new(bytes, &root), None, options()).unwrap();
    let extracted = extract(
        Input::new(bytes, &root),
        &Target::new_dir(&root, &out),
        options(),
    );
    // A name that the filesystem itself does not take is an error, and leaves nothing either.
    let is_there = extracted.as_ref().is_ok_and(|report| report.extracted);
    if let Ok(extracted) = &extracted {
        assert_eq!(told(&listed), told(extracted));
        assert!(extracted.bytes <= 1 << 20 && extracted.verdicts.len() <= 201);
        assert!(!extracted.extracted || extracted.is_clean());
    }
    let left = std::fs::read_dir(dir.path().join("inside"))
        .unwrap()
        .count();
    assert_eq!(left, usize::from(is_there), "{extracted:?}");
    assert_eq!(
        std::fs::read_dir(dir.path()).unwrap().count(),
        1,
        "something is outside"
    );
}

fn told(report: &Report) -> String {
    let verdicts: Vec<_> = report
        .verdicts
        .iter()
        .map(|it| (&it.name, &it.outcome))
        .collect();
    format!("{verdicts:?} {:?}", report.refusal)
}
