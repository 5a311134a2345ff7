//! What holds for every verb.

use crate::support::*;
use handfast::{
    Effect, ErrorKind, Links, OpenOptions, RelPath, RenameMode, Root, RootOptions, Specials,
};

#[test]
fn the_root_itself_is_only_looked_at() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        scratch.file("f", "").dir("d");
        let root = scratch.open(options);
        let here = RelPath::root();
        root.metadata(&here).unwrap();
        root.open_dir(&here).unwrap();
        root.walk(&here).unwrap();
        assert_kind(root.read(&here), ErrorKind::Invalid);
        assert_kind(root.write(&here, ""), ErrorKind::Invalid);
        assert_kind(root.write_new(&here, ""), ErrorKind::Invalid);
        assert_kind(root.append(&here, ""), ErrorKind::Invalid);
        assert_kind(root.create_dir(&here), ErrorKind::Invalid);
        assert_kind(root.remove_file(&here), ErrorKind::Invalid);
        assert_kind(root.remove_dir(&here), ErrorKind::Invalid);
        assert_kind(root.remove_tree(&here), ErrorKind::Invalid);
        assert_kind(
            root.rename(&here, &rel("x"), RenameMode::Replace),
            ErrorKind::Invalid,
        );
        assert_kind(
            root.rename(&rel("f"), &here, RenameMode::Replace),
            ErrorKind::Invalid,
        );
        assert_kind(root.symlink("x", &here), ErrorKind::Invalid);
        assert_kind(root.hard_link(&rel("f"), &here), ErrorKind::Invalid);
        assert_kind(root.hard_link(&here, &rel("x")), ErrorKind::Invalid);
        assert_kind(root.copy(&here, &rel("x")), ErrorKind::Invalid);
        assert_kind(root.copy_tree(&rel("d"), &here), ErrorKind::Invalid);
    });
}

#[test]
fn special_files_only_where_they_are_allowed() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.fifo("fifo");
        let _socket = std::os::unix::net::UnixListener::bind(scratch.path("root/socket")).unwrap();
        let root = scratch.open(options(backend));
        for special in ["fifo", "socket"] {
            assert_kind(root.open(&rel(special)), ErrorKind::Kind);
            assert_kind(root.read(&rel(special)), ErrorKind::Kind);
            assert_kind(root.write(&rel(special), "x"), ErrorKind::Kind);
            assert_kind(root.append(&rel(special), "x"), ErrorKind::Kind);
            assert_kind(root.copy(&rel(special), &rel("x")), ErrorKind::Kind);
            assert_kind(root.chmod(&rel(special), 0o600), ErrorKind::Kind);
            assert_kind(
                root.open_with(&rel(special), OpenOptions::new().read(false).write(true)),
                ErrorKind::Kind,
            );
            root.metadata(&rel(special)).unwrap();
        }
        let allowing = scratch.open(options(backend).specials(Specials::Allow));
        allowing.open(&rel("fifo")).unwrap();
        root.remove_file(&rel("socket")).unwrap();
    });
}

#[test]
fn a_root_must_be_a_directory_and_not_a_link() {
    let scratch = Scratch::new();
    scratch.file("f", "").dir("d").link("d", "link");
    let open = |path: &str| Root::open_ambient(scratch.path(path));
    assert_kind(open("root/f"), ErrorKind::NotADirectory);
    assert_kind(open("root/link"), ErrorKind::Link);
    assert_kind(open("root/link/"), ErrorKind::Link);
    assert_kind(open("root/link///"), ErrorKind::Link);
    assert_kind(open("root/none"), ErrorKind::NotFound);
    assert_kind(Root::open_ambient(""), ErrorKind::Invalid);
    open("root/d/").unwrap();
    Root::open_ambient("/").unwrap();
    Root::open_ambient(".").unwrap();
    let error = open("root/none").unwrap_err();
    assert!(
        error.path().ends_with("root/none"),
        "who opens a root by its path is told which: {error}"
    );
    let fd = std::fs::File::open(scratch.path("root/f")).unwrap();
    assert_kind(
        Root::from_fd(fd.into(), RootOptions::new()),
        ErrorKind::NotADirectory,
    );
}

#[test]
fn denied_objects_are_denied_under_any_name() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        scratch.file("d/state/key", "secret").file("d/f", "f");
        let open = scratch.open(options.clone());
        let state = open.metadata(&rel("d/state")).unwrap().identity;
        let file = open.metadata(&rel("d/f")).unwrap().identity;
        let root = scratch.open(options.deny(state).deny(file));
        std::fs::rename(scratch.path("root/d/state"), scratch.path("root/moved")).unwrap();
        std::fs::hard_link(scratch.path("root/d/f"), scratch.path("root/g")).unwrap();
        let denied = ErrorKind::Denied;
        assert_kind(root.read(&rel("moved/key")), denied);
        assert_kind(root.read_dir(&rel("moved")), denied);
        assert_kind(root.metadata(&rel("moved")), denied);
        assert_kind(root.walk(&rel("moved")), denied);
        assert_kind(root.write(&rel("moved/new"), ""), denied);
        assert_kind(root.create_dir_all(&rel("moved/a/b")), denied);
        assert_kind(root.remove_tree(&rel("moved")), denied);
        assert_kind(
            root.rename(&rel("moved"), &rel("x"), RenameMode::Replace),
            denied,
        );
        assert_kind(
            root.rename(&rel("d"), &rel("moved"), RenameMode::Exchange),
            denied,
        );
        for name in ["d/f", "g"] {
            assert_kind(root.read(&rel(name)), denied);
            assert_kind(root.write(&rel(name), ""), denied);
            assert_kind(root.remove_file(&rel(name)), denied);
            assert_kind(root.copy(&rel(name), &rel("x")), denied);
            assert_kind(root.hard_link(&rel(name), &rel("x")), denied);
        }
        std::fs::rename(scratch.path("root/moved"), scratch.path("root/d/state")).unwrap();
        assert_kind(root.remove_tree(&rel("d")), denied);
        assert_eq!(scratch.read("root/d/state/key"), "secret");
        assert_eq!(scratch.read("root/d/f"), "f");
        assert_kind(root.copy_tree(&rel("d"), &rel("x")), denied);
        let mut walk = root.walk(&rel("d")).unwrap();
        let mut kinds = Vec::new();
        loop {
            match walk.next_entry() {
                Ok(Some(_)) => {}
                Ok(None) => break,
                Err(error) => kinds.push(error.kind()),
            }
        }
        assert_eq!(kinds, [denied]);
    });
}

#[test]
fn errors_name_verb_and_path_and_never_a_host_path_or_target() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        scratch
            .link(scratch.path("outside/secret"), "esc\u{1b}ape\n")
            .link("loop", "loop");
        let root = scratch.open(options);
        let hostile = rel("esc\u{1b}ape\n");
        let errors = [
            root.read(&hostile).unwrap_err(),
            root.write(&hostile, "").unwrap_err(),
            root.chmod(&hostile, 0o600).unwrap_err(),
            root.create_dir_all(&hostile).unwrap_err(),
            root.read_dir(&hostile).unwrap_err(),
            root.rename(&rel("none"), &hostile, RenameMode::NoReplace)
                .unwrap_err(),
            root.read(&rel("loop")).unwrap_err(),
        ];
        for error in errors {
            let text = format!("{error} {error:?} {}", error.detail());
            assert!(!text.contains("handfast-test"), "{text}");
            assert!(!text.contains("secret"), "{text}");
            assert!(!text.contains('\u{1b}') && !text.contains('\n'), "{text}");
            assert!(text.contains(error.verb().name()), "{text}");
            assert_eq!(error.effect(), Effect::None);
        }
    });
}

#[test]
fn non_utf8_names_are_names_like_any_other() {
    each_policy(|options, _| {
        let scratch = Scratch::new();
        let root = scratch.open(options);
        let path = rel(b"\xff\xfe/\x80");
        root.create_dir(&rel(b"\xff\xfe")).unwrap();
        root.write(&path, "x").unwrap();
        assert_eq!(root.read(&path).unwrap(), b"x");
        let error = root.read(&rel(b"\xff\xfe/\x81")).unwrap_err();
        assert_eq!(error.path(), "\\xff\\xfe/\\x81");
        root.remove_tree(&rel(b"\xff\xfe")).unwrap();
    });
}

#[test]
fn a_trailing_slash_is_answered_by_what_is_there() {
    each_policy(|options, links| {
        let scratch = Scratch::new();
        scratch.file("f", "f").dir("d").link("d", "link");
        let root = scratch.open(options);
        let clean = |text: &str| RelPath::clean(text).unwrap();
        let kinds = |path: &str| {
            let path = clean(path);
            [
                root.read(&path).map(drop).unwrap_err().kind(),
                root.version(&path).map(drop).unwrap_err().kind(),
                root.write(&path, "").map(drop).unwrap_err().kind(),
                root.append(&path, "").map(drop).unwrap_err().kind(),
            ]
        };
        assert_eq!(kinds("f/"), [ErrorKind::NotADirectory; 4]);
        assert_eq!(kinds("d/"), [ErrorKind::IsADirectory; 4]);
        assert_eq!(kinds("none/"), [ErrorKind::NotFound; 4]);
        assert_eq!(
            kinds("link/"),
            [match links {
                Links::Refuse => ErrorKind::Link,
                Links::Beneath | Links::InRoot => ErrorKind::IsADirectory,
            }; 4]
        );
        assert_kind(root.remove_file(&clean("d/")), ErrorKind::IsADirectory);
        assert_kind(root.remove_file(&clean("link/")), ErrorKind::NotADirectory);
        assert!(scratch.path("root/d").is_dir());
    });
}

#[test]
fn the_root_is_not_changed_through_a_link_to_it() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.dir("d").link(".", "here").link("d/..", "up");
        let before = mode_of(&scratch, "root");
        let root = scratch.open(beneath(backend));
        for name in ["here", "up"] {
            assert_kind(root.chmod(&rel(name), 0o700), ErrorKind::Invalid);
            assert_kind(root.set_times(&rel(name), None, None), ErrorKind::Invalid);
            assert_kind(root.chown(&rel(name), None, None), ErrorKind::Invalid);
            assert_kind(
                root.set_xattr(&rel(name), "user.x", b""),
                ErrorKind::Invalid,
            );
        }
        assert_eq!(mode_of(&scratch, "root"), before);
    });
}
