//! Archives that are made: the same for the same tree, and extracted to the same tree.

use std::os::unix::fs::PermissionsExt;

use handfast::{ErrorKind, Links, RelPath, Root, RootOptions};
use handfast_archive::{CreateOptions, LinkPolicy, NewFormat, create};

use crate::support::{Place, tree, with_links};

const FORMATS: [NewFormat; 3] = [NewFormat::Tar, NewFormat::TarGzip, NewFormat::Zip];

fn options(format: NewFormat) -> CreateOptions {
    let mut options = CreateOptions::new();
    (options.format, options.links) = (format, LinkPolicy::Inside);
    options
}

fn plant(place: &Place) {
    let top = place.inside().join("tree");
    std::fs::create_dir_all(top.join("d/empty")).unwrap();
    std::fs::write(top.join("d/file"), "content").unwrap();
    std::fs::write(top.join("caf\u{e9}"), vec![b'x'; 300_000]).unwrap();
    std::fs::write(top.join("n".repeat(150)), "").unwrap();
    std::fs::write(top.join("run"), "#!").unwrap();
    std::fs::set_permissions(top.join("run"), PermissionsExt::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("d/file", top.join("link")).unwrap();
}

fn make(place: &Place, options: CreateOptions) -> Result<Vec<u8>, handfast::Error> {
    let root =
        Root::open_ambient_with(place.inside(), RootOptions::new().links(Links::Beneath)).unwrap();
    let mut archive = Vec::new();
    create(
        &root,
        &RelPath::parse("tree").unwrap(),
        &mut archive,
        options,
    )?;
    Ok(archive)
}

#[test]
fn what_was_made_is_extracted_to_the_same_tree() {
    for format in FORMATS {
        let place = Place::new();
        plant(&place);
        let archive = make(&place, options(format)).unwrap();
        let report = place.extract(&archive, with_links()).unwrap();
        assert!(report.is_clean(), "{format:?} {:?}", report.refusal);
        let (made, extracted) = (place.inside().join("tree"), place.inside().join("out"));
        assert_eq!(tree(&made), tree(&extracted), "{format:?}");
    }
}

#[test]
fn the_same_tree_makes_the_same_bytes() {
    for format in FORMATS {
        let (one, other) = (Place::new(), Place::new());
        plant(&one);
        plant(&other);
        let file = other.inside().join("tree/d/file");
        std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600)).unwrap();
        let time = std::time::SystemTime::UNIX_EPOCH;
        std::fs::File::options()
            .write(true)
            .open(&file)
            .unwrap()
            .set_modified(time)
            .unwrap();
        assert_eq!(
            make(&one, options(format)).unwrap(),
            make(&other, options(format)).unwrap()
        );
        std::fs::write(&file, "changed").unwrap();
        assert_ne!(
            make(&one, options(format)).unwrap(),
            make(&other, options(format)).unwrap()
        );
    }
}

#[test]
fn nothing_is_left_out_silently() {
    let place = Place::new();
    plant(&place);
    let refused = |options| make(&place, options).unwrap_err().kind();
    assert_eq!(refused(CreateOptions::new()), ErrorKind::Link);
    std::os::unix::fs::symlink("../../x", place.inside().join("tree/out")).unwrap();
    assert_eq!(refused(options(NewFormat::Tar)), ErrorKind::Escape);
    std::fs::remove_file(place.inside().join("tree/out")).unwrap();
    let fifo = place.inside().join("tree/fifo");
    rustix::fs::mkfifoat(rustix::fs::CWD, &fifo, rustix::fs::Mode::RWXU).unwrap();
    assert_eq!(refused(options(NewFormat::Tar)), ErrorKind::Kind);
    std::fs::remove_file(&fifo).unwrap();
    std::fs::write(place.inside().join("tree/back\\slash"), "").unwrap();
    assert_eq!(refused(options(NewFormat::Zip)), ErrorKind::Invalid);
    assert!(make(&place, options(NewFormat::Tar)).is_ok());
    let mut dated = options(NewFormat::Zip);
    dated.modified = 1;
    assert_eq!(refused(dated), ErrorKind::Invalid);
}

#[test]
fn other_programs_read_what_was_made() {
    let place = Place::new();
    plant(&place);
    for (format, program, args) in [
        (NewFormat::Tar, "tar", ["-xf"].as_slice()),
        (NewFormat::TarGzip, "tar", &["-xzf"]),
        (NewFormat::Zip, "unzip", &["-q"]),
    ] {
        let archive = place.dir.path().join("archive");
        std::fs::write(&archive, make(&place, options(format)).unwrap()).unwrap();
        let out = tempfile::tempdir().unwrap();
        let ran = std::process::Command::new(program)
            .args(args)
            .arg(&archive)
            .current_dir(out.path())
            .status();
        match ran {
            Ok(status) => assert!(status.success(), "{program}"),
            Err(_) => {
                println!("skipped: {program} is not here");
                continue;
            }
        }
        assert_eq!(
            tree(&place.inside().join("tree")),
            tree(out.path()),
            "{program}"
        );
    }
}
