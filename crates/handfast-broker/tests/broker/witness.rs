//! What tests look at besides the broker's answers: its log, and a small disk.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use handfast_ledger::LogReader;
use handfast_ledger::event::Record;

use crate::stage::Stage;

/// Another user can be played only by root.
pub(crate) fn may_play_others() -> bool {
    let root = rustix::process::geteuid().is_root();
    if !root {
        println!("skipped: only root can become other users");
    }
    root
}

pub(crate) fn size_of(dir: &Path) -> u64 {
    let files = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    files
        .map(|file| match file.metadata().unwrap() {
            found if found.is_dir() => size_of(&file.path()),
            found => found.len(),
        })
        .sum()
}

/// All events, in order. The broker may be writing meanwhile.
pub(crate) fn leaves(stage: &Stage) -> Vec<Vec<u8>> {
    let reader = LogReader::open(stage.log_dir()).unwrap();
    let mut leaves = Vec::new();
    let read = reader.for_each(0, |_, leaf| {
        leaves.push(leaf.to_vec());
        Ok(std::ops::ControlFlow::Continue(()))
    });
    if let Err(error) = read {
        panic!("{error}");
    }
    leaves
}

/// Refusals of a user in the log: told one by one, and counted.
pub(crate) fn refusals_of(stage: &Stage, uid: u32) -> (u64, u64) {
    let (mut told, mut counted) = (0, 0);
    for leaf in leaves(stage) {
        let record = Record::parse(&leaf).unwrap();
        let denied = record.decision.as_ref().is_some_and(|field| !field.allow);
        if !denied || record.wl.as_ref().and_then(|wl| wl.uid) != Some(uid) {
            continue;
        }
        match &record.fold {
            Some(fold) => counted += fold.count.0,
            None => told += 1,
        }
    }
    (told, counted)
}

/// A filesystem of a few megabytes.
pub(crate) struct Small {
    at: PathBuf,
}

impl Small {
    pub(crate) fn mount(at: PathBuf, size: &str) -> Option<Self> {
        std::fs::create_dir_all(&at).unwrap();
        let options = format!("size={size},mode=700");
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &options, "hf-small"])
            .arg(&at)
            .output();
        match mounted {
            Ok(out) if out.status.success() => Some(Self { at }),
            _ => {
                println!("skipped: this user may not mount a small filesystem");
                None
            }
        }
    }

    /// Takes all that is left.
    pub(crate) fn fill(&self) {
        let mut file = std::fs::File::create(self.at.join("ballast")).unwrap();
        for size in [4096, 1] {
            while file.write_all(&vec![b'x'; size]).is_ok() {}
        }
    }

    pub(crate) fn free(&self) {
        std::fs::remove_file(self.at.join("ballast")).unwrap();
    }
}

impl Drop for Small {
    fn drop(&mut self) {
        // Lazily: a broker may still stand in it.
        let done = Command::new("umount").arg("-l").arg(&self.at).status();
        if !done.is_ok_and(|status| status.success()) {
            eprintln!("still mounted: {}", self.at.display());
        }
    }
}
