//! A disk that fills up while an archive is extracted. Needs the right to mount a small filesystem.

use std::path::{Path, PathBuf};
use std::process::Command;

use handfast::{RelPath, Root};
use handfast_archive::{Input, Options, Overwrite, Target, extract};

use crate::support::tree;
use crate::tar_bytes::Bytes;
use crate::zip_bytes::{Entry, Zip};

/// A filesystem of one megabyte.
struct Small(PathBuf);

impl Small {
    fn mount(at: &Path) -> Option<Self> {
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", "size=1m,mode=700", "hf-small"])
            .arg(at)
            .output();
        match mounted {
            Ok(out) if out.status.success() => Some(Self(at.to_owned())),
            _ => {
                println!("skipped: this user may not mount a small filesystem");
                None
            }
        }
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        drop(Command::new("umount").arg("-l").arg(&self.0).status());
    }
}

#[test]
fn a_full_disk_leaves_everything_as_it_was() {
    let dir = tempfile::tempdir().unwrap();
    let Some(small) = Small::mount(dir.path()) else {
        return;
    };
    std::fs::create_dir_all(small.0.join("there/d")).unwrap();
    std::fs::write(small.0.join("there/d/file0"), "old").unwrap();
    let before = tree(&small.0);
    let half = vec![b'x'; 512 << 10];
    let names = ["d/file0", "d/file1", "d/file2"];
    let tar = names
        .iter()
        .fold(Bytes::new(), |bytes, name| bytes.file(name, &half));
    let zip = Zip::of(names.map(|name| Entry::stored(name, &half))).bytes();
    let root = Root::open_ambient(&small.0).unwrap();
    for archive in [tar.end(), zip] {
        for path in ["new", "there"] {
            let path = RelPath::parse(path).unwrap();
            let mut target = Target::new_dir(&root, &path);
            let mut options = Options::new();
            if path.to_string() == "there" {
                target = target.merged();
                options.overwrite = Overwrite::Replace;
            }
            // The copy of a zip lies on the full disk, too.
            let full = extract(Input::new(&archive[..], &root), &target, options);
            let error = full.unwrap_err().to_string();
            assert!(error.contains("No space left"), "{error}");
            assert_eq!(tree(&small.0), before, "{path}");
        }
    }
}
