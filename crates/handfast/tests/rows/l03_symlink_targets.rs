//! A link whose target climbs after another link led it up.

use handfast::ErrorKind;

use crate::support::*;

#[test]
fn l3_no_link_can_be_made_that_leads_outside() {
    each_policy(|options, links| {
        let scratch = Scratch::new();
        scratch.dir("x/y");
        let root = scratch.open(options);
        root.symlink("../..", &rel("x/y/z")).unwrap();
        let made = root.symlink("z/../outside/secret", &rel("x/y/l"));
        // Other programs follow it: the test is one.
        let leaked = std::fs::read(scratch.path("root/x/y/l"));
        assert!(leaked.is_err(), "{links:?}: another program reads outside");
        assert_kind(made, ErrorKind::Escape);
        for target in ["a/..", "a/../b", "./a/../b", "../a/..", "a/./.."] {
            assert_kind(root.symlink(target, &rel("x/y/l")), ErrorKind::Escape);
        }
        for target in [
            "a",
            "../a",
            "../../a",
            "./../a",
            ".././../a/b",
            "..",
            "a/./b",
        ] {
            root.symlink(target, &rel("x/y/l")).unwrap();
            root.remove_file(&rel("x/y/l")).unwrap();
        }
    });
}

#[test]
fn l3_a_copied_tree_holds_no_such_link() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch
            .dir("t/y")
            .link("../..", "t/y/z")
            .link("z/../outside", "t/y/l");
        let root = scratch.open(beneath(backend));
        let error = assert_kind(root.copy_tree(&rel("t"), &rel("copy")), ErrorKind::Escape);
        assert_eq!(error.effect(), handfast::Effect::None);
        scratch.assert_no_leftovers();
    });
}
