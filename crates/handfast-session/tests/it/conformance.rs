//! A session answers like a root, verb by verb; what it refuses is listed here with its reason.

use std::path::Path;

use handfast::{ErrorKind, Files, Links, Root, RootOptions};
use handfast_conformance::{Difference, Layer, LayerAnswer, Refusal, compare_both};
use handfast_session::{Mode, MountSpec, Session, SessionSpec};

use super::support::{me, v};

/// The model: a root's own ways.
struct Plain;

impl Layer for Plain {
    fn name(&self) -> String {
        "root".to_owned()
    }

    fn open(&self, root: &Path, links: Links) -> Box<dyn Files> {
        let options = RootOptions::new().links(links);
        Box::new(Root::open_ambient_with(root, options).unwrap())
    }
}

/// A session with one mount, at `/`.
struct OneMount {
    mode: Mode,
    refusals: Vec<Refusal>,
    differences: Vec<Difference>,
}

impl Layer for OneMount {
    fn name(&self) -> String {
        format!("session {}", self.mode.name())
    }

    fn open(&self, root: &Path, links: Links) -> Box<dyn Files> {
        let mount = MountSpec::new(root, v("/")).mode(self.mode).links(links);
        Box::new(Session::new(&SessionSpec::new().mount(mount), me()).unwrap())
    }

    fn refusals(&self) -> &[Refusal] {
        &self.refusals
    }

    fn differences(&self) -> &[Difference] {
        &self.differences
    }

    fn is_on_disk(&self) -> bool {
        self.mode == Mode::ReadWrite
    }

    fn shown(&self, path: &str) -> String {
        match path {
            "" => String::new(),
            "." => "/".to_owned(),
            path => format!("/{path}"),
        }
    }
}

const fn other(
    case: &'static str,
    path: Option<&'static str>,
    [root, layer]: [LayerAnswer; 2],
    why: &'static str,
) -> Difference {
    Difference {
        case,
        path,
        root,
        layer,
        why,
    }
}

const fn refused(kind: ErrorKind) -> LayerAnswer {
    LayerAnswer::Refused(kind)
}

const TARGET: &str = "a target is data to an overlay; a commit refuses it";

const NOT_FOLLOWED: &str = "no new file is looked for behind a link, a slash or not";

/// What every session answers otherwise.
fn of_every_session() -> Vec<Difference> {
    let mount_point = [refused(ErrorKind::Invalid), refused(ErrorKind::Busy)];
    let limit = [refused(ErrorKind::Limit); 2];
    let counted = [refused(ErrorKind::Link), refused(ErrorKind::Limit)];
    let link = [refused(ErrorKind::NotFound), refused(ErrorKind::Link)];
    let nothing = [refused(ErrorKind::Link), refused(ErrorKind::NotFound)];
    let to_nothing = "a link that leads to nothing is followed name by name";
    let busy = "the top of a mount is a mount point";
    vec![
        other("rename", Some("."), mount_point, busy),
        other("exchange", Some("."), mount_point, busy),
        other("remove", Some("."), mount_point, busy),
        other("", Some("dangling*"), link, to_nothing),
        other("", Some("dangling*"), nothing, to_nothing),
        other(
            "remove_tree depth limit",
            None,
            limit,
            "the tree is judged and counted before anything is removed: nothing is gone",
        ),
        other(
            "copy_tree depth limit",
            None,
            counted,
            "the tree is judged and counted before anything is copied",
        ),
    ]
}

fn check(mode: Mode, refusals: &[Refusal], differences: &[Difference]) {
    let layer = OneMount {
        mode,
        refusals: refusals.to_vec(),
        differences: [differences, &of_every_session()].concat(),
    };
    for report in compare_both(&Plain, &layer) {
        assert!(report.compared > 5_000 && report.done > 400, "{report:?}");
        assert!(
            report.refused + report.different < report.compared / 5,
            "{report:?}"
        );
    }
}

#[test]
fn a_read_write_session_answers_like_a_root() {
    let differences = [
        ErrorKind::NotADirectory,
        ErrorKind::IsADirectory,
        ErrorKind::Escape,
    ]
    .map(|kind| {
        let link = [refused(kind), refused(ErrorKind::Link)];
        other("open create-new", None, link, NOT_FOLLOWED)
    });
    check(Mode::ReadWrite, &[], &differences);
}

#[test]
fn an_overlay_answers_like_a_root() {
    let refusals = [Refusal::verb(
        "set_attributes all",
        "an overlay keeps no owners",
    )];
    let of_dir = [LayerAnswer::Done, refused(ErrorKind::Unsupported)];
    let no_file = [LayerAnswer::Anything, refused(ErrorKind::Kind)];
    let copied = [refused(ErrorKind::HardLink), LayerAnswer::Done];
    let own_names = [LayerAnswer::Done, LayerAnswer::Done];
    let linked = [refused(ErrorKind::Escape), LayerAnswer::Done];
    let entry = [LayerAnswer::Anything, refused(ErrorKind::NotADirectory)];
    let own_copy = "the file is copied up: its other names keep their content";
    let differences = [
        other("open create-new", None, entry, NOT_FOLLOWED),
        other(
            "xattr",
            None,
            of_dir,
            "an overlay keeps no extended attributes of directories",
        ),
        other("xattr", Some("hard"), copied, own_copy),
        other(
            "",
            Some("fifo"),
            no_file,
            "an overlay covers files, directories and links only",
        ),
        other(
            "",
            Some("fifo/"),
            no_file,
            "an overlay covers files, directories and links only",
        ),
        other(
            "create_dir_all",
            Some("fifo/inner"),
            no_file,
            "an overlay covers files, directories and links only",
        ),
        other(
            "create_dir_all",
            Some("fifo/absent"),
            no_file,
            "an overlay covers files, directories and links only",
        ),
        other("open", Some("hard"), copied, own_copy),
        other("append", Some("hard"), copied, own_copy),
        other("set_attributes", Some("hard"), copied, own_copy),
        other("hard_link from", Some("hard"), own_names, own_copy),
        other("symlink out", None, linked, TARGET),
        other("symlink absolute", None, linked, TARGET),
        other("symlink up", None, linked, TARGET),
    ];
    check(Mode::Memory, &refusals, &differences);
}
