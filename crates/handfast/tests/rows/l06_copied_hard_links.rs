//! A name planted for a file outside, and taken away again while a tree is copied.

use std::fs;

use handfast::{ErrorKind, HardLinks};

use crate::others::under_plain_attack;
use crate::support::*;

const ROUNDS: u32 = 6000;

#[test]
fn l6_copy_tree_holds_nothing_of_a_planted_hard_link() {
    each_backend(|backend| {
        let scratch = Scratch::new();
        scratch.file("t/f", "inside").dir("d");
        let root = scratch.open(options(backend).hard_links(HardLinks::Refuse));
        let top = scratch.top.clone();
        let attack = move |_: &mut u64| {
            let (aside, place) = (top.join("root/aside"), top.join("root/t/f"));
            drop(fs::remove_file(&aside));
            fs::hard_link(top.join("outside/secret"), &aside).unwrap();
            fs::rename(&aside, &place).unwrap();
            drop(fs::remove_file(&aside));
            fs::write(&aside, "inside").unwrap();
            fs::rename(&aside, &place).unwrap();
        };
        let (mut copied, mut refused) = (0, 0);
        let (tried, leaked) = under_plain_attack(ROUNDS, attack, || {
            match root.copy_tree(&rel("t"), &rel("d/copy")) {
                Ok(()) => {
                    copied += 1;
                    let content = fs::read(scratch.path("root/d/copy/f")).unwrap_or_default();
                    fs::remove_dir_all(scratch.path("root/d/copy")).unwrap();
                    content == b"outside"
                }
                Err(error) => {
                    assert!(
                        matches!(
                            error.kind(),
                            ErrorKind::HardLink | ErrorKind::Raced | ErrorKind::NotFound
                        ),
                        "{error}"
                    );
                    refused += 1;
                    false
                }
            }
        });
        println!(
            "{}: {leaked} of {tried} held what is outside, {copied} copied, {refused} refused",
            backend_name(backend)
        );
        assert_eq!(leaked, 0);
        assert!(copied > 0, "nothing was copied at all");
    });
}
