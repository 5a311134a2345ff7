//! What happens to a file between `stage` and `commit`.

use std::fs;
use std::io::Write;
use std::sync::mpsc::sync_channel;

use handfast::{ErrorKind, WriteOptions};

use crate::others::*;
use crate::support::*;

#[test]
fn l7_a_mode_that_was_narrowed_meanwhile_stays_narrow() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.file("f", "old");
        set_mode(&scratch.path("root/f"), 0o644);
        let root = scratch.open(options(backend));
        let mut staged = root.stage(&rel("f"), WriteOptions::new()).unwrap();
        staged.write_all(b"new").unwrap();
        set_mode(&scratch.path("root/f"), 0o600);
        staged.commit().unwrap();
        assert_eq!(mode_of(&scratch, "root/f"), 0o600);
        assert_eq!(scratch.read("root/f"), "new");
    });
}

#[test]
fn l7_what_appeared_meanwhile_is_judged() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.file("f", "old");
        let root = scratch.open(options(backend));
        let stage = |name: &str| root.stage(&rel(name), WriteOptions::new()).unwrap();
        // A FIFO in the place of the file, and where nothing was.
        let (replaced, new) = (stage("f"), stage("g"));
        fs::remove_file(scratch.path("root/f")).unwrap();
        scratch.fifo("f").fifo("g");
        assert_kind(replaced.commit(), ErrorKind::Kind);
        assert_kind(new.commit(), ErrorKind::Kind);
        // A link is not followed and not replaced.
        let linked = stage("h");
        scratch.link("../outside/secret", "h");
        assert_kind(linked.commit(), ErrorKind::Link);
        assert_eq!(scratch.read("outside/secret"), "outside");
        // A file that appeared keeps its own mode.
        let appeared = stage("i");
        scratch.file("i", "private");
        set_mode(&scratch.path("root/i"), 0o600);
        appeared.commit().unwrap();
        assert_eq!(mode_of(&scratch, "root/i"), 0o600);
        scratch.assert_no_leftovers();
    });
}

/// A file that went keeps what it showed to nobody from being shown.
#[test]
fn l7_a_file_that_went_meanwhile_is_made_with_its_old_mode() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.file("f", "old").file("g", "old");
        set_mode(&scratch.path("root/f"), 0o600);
        let root = scratch.open(options(backend));
        let staged = root.stage(&rel("f"), WriteOptions::new()).unwrap();
        fs::remove_file(scratch.path("root/f")).unwrap();
        staged.commit().unwrap();
        assert_eq!(mode_of(&scratch, "root/f"), 0o600);
        // And a name that became free can be taken as new.
        let staged = root.stage(&rel("g"), WriteOptions::new()).unwrap();
        fs::remove_file(scratch.path("root/g")).unwrap();
        staged.commit_new().unwrap();
    });
}

/// A file that the caller may not write any more is not replaced either.
#[test]
fn l7_a_right_that_was_taken_away_is_gone() {
    if !others_can_be_played() {
        return;
    }
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.file("f", "old");
        share(&scratch.root_path());
        set_mode(&scratch.path("root/f"), 0o666);
        let root = scratch.open(options(backend));
        let (staged, wait_staged) = sync_channel(1);
        let (go_on, wait_go_on) = sync_channel(1);
        let root = &root;
        let said = std::thread::scope(|scope| {
            let user = scope.spawn(move || {
                become_user(MALLORY, || {
                    let draft = root.stage(&rel("f"), WriteOptions::new()).unwrap();
                    staged.send(()).unwrap();
                    wait_go_on.recv().unwrap();
                    draft.commit()
                })
            });
            wait_staged.recv().unwrap();
            set_mode(&scratch.path("root/f"), 0o644);
            go_on.send(()).unwrap();
            user.join().unwrap()
        });
        assert_kind(said, ErrorKind::Denied);
        assert_eq!(scratch.read("root/f"), "old");
    });
}
