//! Changes by others between what a request did and what its answer says of it.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use handfast::{Event, Phase, RecordError, Recorder, Verb};
use handfast_session::{Caller, Mode, Protect};

use crate::support::{Cached, Mounted, in_namespace};

/// Puts a file under a name of the base as soon as a request has made that name.
struct Replacer {
    verb: Verb,
    name: &'static str,
    base: OnceLock<PathBuf>,
    has_acted: AtomicBool,
}

impl Recorder for Replacer {
    fn record(&self, event: &Event<'_>) -> Result<(), RecordError> {
        if event.verb == self.verb
            && event.phase == Phase::Result
            && let Some(base) = self.base.get()
            && !self.has_acted.swap(true, Ordering::SeqCst)
        {
            std::fs::rename(base.join("theirs"), base.join(self.name)).unwrap();
        }
        Ok(())
    }
}

fn replaced_after(verb: Verb, name: &'static str) -> (Mounted, Arc<Replacer>) {
    let replacer = Arc::new(Replacer {
        verb,
        name,
        base: OnceLock::new(),
        has_acted: AtomicBool::new(false),
    });
    let caller = Caller::new("test").recorder(Arc::clone(&replacer) as Arc<dyn Recorder>);
    let fill = |base: &Path| {
        std::fs::write(base.join("a"), "ours").unwrap();
        std::fs::write(base.join("theirs"), "of others").unwrap();
    };
    let lasting = (caller, Cached::For(Duration::from_secs(3600)));
    let mounted = Mounted::with_caller(Mode::ReadWrite, Protect::new(), fill, lasting);
    replacer.base.set(mounted.base.clone()).unwrap();
    (mounted, replacer)
}

fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn a_link_that_was_replaced_does_not_take_the_number_of_the_file() {
    in_namespace(
        "late::a_link_that_was_replaced_does_not_take_the_number_of_the_file",
        || {
            let (mounted, replacer) = replaced_after(Verb::HardLink, "b");
            let (a, b) = (mounted.view.join("a"), mounted.view.join("b"));
            assert_eq!(text(&a), "ours");
            std::fs::hard_link(&a, &b).unwrap();
            assert!(replacer.has_acted.load(Ordering::SeqCst));
            assert_eq!((text(&a), text(&b)), ("ours".into(), "of others".into()));
            let number = |path| std::fs::metadata(path).unwrap().ino();
            assert_ne!(number(&a), number(&b));
        },
    );
}

#[test]
fn what_replaced_a_renamed_file_does_not_take_its_number() {
    in_namespace(
        "late::what_replaced_a_renamed_file_does_not_take_its_number",
        || {
            let (mounted, replacer) = replaced_after(Verb::Rename, "c");
            let (a, c) = (mounted.view.join("a"), mounted.view.join("c"));
            let mut open = File::open(&a).unwrap();
            std::fs::rename(&a, &c).unwrap();
            assert!(replacer.has_acted.load(Ordering::SeqCst));
            assert_eq!(text(&c), "of others");
            assert_ne!(
                std::fs::metadata(&c).unwrap().ino(),
                open.metadata().unwrap().ino()
            );
            let mut content = String::new();
            open.read_to_string(&mut content).unwrap();
            assert_eq!(content, "ours");
        },
    );
}

#[test]
fn a_fifo_stays_where_a_rename_over_it_is_refused() {
    in_namespace(
        "late::a_fifo_stays_where_a_rename_over_it_is_refused",
        || {
            let fill = |base: &Path| {
                std::fs::write(base.join("a"), "ours").unwrap();
                // A link must not lead away from a protected name below it.
                std::os::unix::fs::symlink("a", base.join("link")).unwrap();
                std::fs::create_dir(base.join("d")).unwrap();
            };
            let protect = Protect::new().with_deny("fifo/key");
            let mounted = Mounted::new(Mode::Overlay, protect, fill);
            let at = |name: &str| mounted.view.join(name);
            let mode = rustix::fs::Mode::from_raw_mode(0o600);
            rustix::fs::mknodat(
                rustix::fs::CWD,
                at("fifo"),
                rustix::fs::FileType::Fifo,
                mode,
                0,
            )
            .unwrap();
            use std::os::unix::fs::FileTypeExt;
            let is_there =
                || std::fs::symlink_metadata(at("fifo")).is_ok_and(|it| it.file_type().is_fifo());
            for from in ["missing", "link", "d"] {
                let refused = std::fs::rename(at(from), at("fifo")).unwrap_err();
                assert!(is_there(), "{from}: {refused}");
            }
            let refused = std::fs::rename(at("d"), at("fifo")).unwrap_err();
            assert_eq!(refused.raw_os_error(), Some(libc::ENOTDIR));
            std::fs::rename(at("a"), at("fifo")).unwrap();
            assert!(!is_there());
            assert_eq!(text(&at("fifo")), "ours");
            std::fs::remove_file(at("fifo")).unwrap();
            assert!(!at("fifo").exists());
        },
    );
}
