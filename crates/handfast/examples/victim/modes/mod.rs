//! What it does, by its first argument. 0 if all is well, 3 if this machine cannot do it.

mod limits;
mod mounts;
mod process;
mod verbs;
mod wall;

use handfast::{BackendChoice, RelPath, Root, RootOptions};

pub(crate) fn run(args: &[&str]) -> i32 {
    match *args {
        ["write", root, backend, path, text, how] => verbs::write(root, backend, path, text, how),
        ["write-if", root, backend, path, text] => verbs::write_if(root, backend, path, text),
        ["remove-if", root, backend, path] => verbs::remove_if(root, backend, path),
        ["copy-tree", root, backend, from, to] => verbs::copy_tree(root, backend, from, to),
        ["create-dir", root, backend, path] => verbs::create_dir(root, backend, path),
        ["hard-link", root, backend, from, to] => verbs::hard_link(root, backend, from, to),
        ["deep", root, backend, path] => limits::deep(root, backend, path),
        ["harden", root, outside, backend] => wall::harden(root, outside, backend),
        ["harden-threads", root] => wall::harden_threads(root),
        ["mounts", root, outside] => mounts::mounts(root, outside),
        ["lose-openat2", root, errno] => process::lose_openat2(root, errno),
        ["inherit", root, backend] => process::inherit(root, backend),
        ["few-descriptors", root, backend] => limits::few_descriptors(root, backend),
        ["full-disk", root] => mounts::full_disk(root),
        ["mounted-temp", root, outside] => mounts::mounted_temp(root, outside),
        ["read-only", root] => mounts::read_only(root),
        ["overlay-rename", root] => mounts::overlay_rename(root),
        ["overlay", root] => mounts::overlay(root),
        ["chroot", root, outside] => process::chroot(root, outside),
        ["umask", root, backend] => process::umask(root, backend),
        ["hold-lock", root] => verbs::hold_lock(root),
        ["lock-once", root] => verbs::lock_once(root),
        ["read-link-target", root] => verbs::read_link_target(root),
        [] => {
            println!("run by the tests");
            0
        }
        _ => 2,
    }
}

fn rel(text: &str) -> RelPath {
    RelPath::parse(text).unwrap()
}

fn open(root: &str, backend: &str) -> Root {
    let choice = match backend {
        "kernel" => BackendChoice::Kernel,
        "walk" => BackendChoice::Walk,
        _ => BackendChoice::Auto,
    };
    Root::open_ambient_with(root, RootOptions::new().backend(choice)).unwrap()
}

/// A call that stands out in a trace: the sweep begins after it.
fn mark() {
    let marked = rustix::fs::access("/handfast-marker", rustix::fs::Access::EXISTS);
    assert!(marked.is_err());
}
