//! Effects that were told wrong: something was made, and a call after it failed.

use crate::support::*;
use crate::traced::Failing;

#[test]
fn l9_a_directory_that_was_made_is_not_denied() {
    if !have_program("strace") {
        return;
    }
    for (backend, call) in [("walk", "openat"), ("kernel", "openat"), ("auto", "statx")] {
        if backend == "kernel" && !kernel_available() {
            skip("the kernel backend");
            continue;
        }
        let failing = Failing {
            call,
            number: 1,
            error: "EMFILE",
            older_kernel: false,
        };
        let args = ["create-dir", "ROOT", backend, "new"];
        let (scratch, said) = failing.run(Scratch::new, &args);
        assert!(scratch.path("root/new").exists(), "the scene is another");
        assert!(said.starts_with("Io visible no-retry"), "{backend}: {said}");
    }
}

/// Before Linux 6.10 a file is linked by name and then looked at.
#[test]
fn l9_a_link_that_was_made_is_not_denied() {
    if !have_program("strace") {
        return;
    }
    let scene = || {
        let scratch = Scratch::new();
        scratch.file("f", "");
        scratch
    };
    let mut told = 0;
    for number in 1..=3 {
        let failing = Failing {
            call: "statx",
            number,
            error: "ENOMEM",
            older_kernel: true,
        };
        let args = ["hard-link", "ROOT", "walk", "f", "g"];
        let (scratch, said) = failing.run(scene, &args);
        let exists = scratch.path("root/g").exists();
        println!("{number}: {exists} {said}");
        if exists {
            told += 1;
            assert!(said.starts_with("Io visible no-retry"), "{number}: {said}");
        } else {
            assert!(said.starts_with("Io none"), "{number}: {said}");
        }
        if told > 0 {
            break;
        }
    }
    assert!(told > 0, "no look after the link was ever made to fail");
}
