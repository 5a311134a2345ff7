//! The victim under strace: delayed inside a call, or with a call that fails.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::support::{Scratch, victim};

/// Runs the victim with one call delayed, acts as soon as it has reached the call, and gives back
/// what it said.
pub(crate) fn delayed(
    scratch: &Scratch,
    inject: &str,
    args: &[&str],
    act: impl FnOnce() + 'static,
) -> String {
    delayed_each(scratch, inject, args, vec![Box::new(act)])
}

/// The same for a call that is made several times, with something to do at each.
pub(crate) fn delayed_each(
    scratch: &Scratch,
    inject: &str,
    args: &[&str],
    acts: Vec<Box<dyn FnOnce()>>,
) -> String {
    delayed_with(scratch, &[], inject, args, acts)
}

/// The same behind a mask: `mask` is what the launcher is told.
pub(crate) fn delayed_with(
    scratch: &Scratch,
    mask: &[&str],
    inject: &str,
    args: &[&str],
    acts: Vec<Box<dyn FnOnce()>>,
) -> String {
    let log = scratch.path("trace");
    let (call, _) = inject.split_once(':').unwrap();
    let mut command = Command::new("strace");
    command
        .args(["-f", "-o", log.to_str().unwrap()])
        .args(["-e", &format!("trace=access,{call}")])
        .args(["-e", &format!("inject={inject}")]);
    if !mask.is_empty() {
        command.arg(victim().with_file_name("mask")).args(mask);
    }
    let child = command
        .arg(victim())
        .args(args)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    for (number, act) in acts.into_iter().enumerate() {
        let begun = Instant::now();
        loop {
            let text = std::fs::read_to_string(&log).unwrap_or_default();
            let after = text.split("handfast-marker").nth(1).unwrap_or_default();
            if after.matches(&format!("{call}(")).count() > number {
                break;
            }
            assert!(
                begun.elapsed() < Duration::from_secs(20),
                "the call is never made: {text}"
            );
            std::thread::sleep(Duration::from_millis(5));
        }
        std::thread::sleep(Duration::from_millis(100));
        act();
    }
    let output = child.wait_with_output().unwrap();
    std::fs::remove_file(&log).unwrap();
    String::from_utf8(output.stdout).unwrap()
}

/// What fails, and where.
pub(crate) struct Failing<'a> {
    /// The call's name, and its number among the calls of that name after the marker.
    pub(crate) call: &'a str,
    pub(crate) number: usize,
    pub(crate) error: &'a str,
    /// Linking by descriptor does not work either, as before Linux 6.10.
    pub(crate) older_kernel: bool,
}

impl Failing<'_> {
    /// Runs the victim in a fresh scene, `ROOT` in its arguments being the root. What it said.
    pub(crate) fn run(&self, scene: impl Fn() -> Scratch, args: &[&str]) -> (Scratch, String) {
        // How many there are before the marker is learned from a run in which nothing fails.
        let (_, _, text) = self.trace(&scene, args, None);
        let before = text.split("handfast-marker").next().unwrap();
        let before = before.matches(&format!("{}(", self.call)).count();
        let inject = format!(
            "inject={}:error={}:when={}",
            self.call,
            self.error,
            before + self.number
        );
        let (scratch, said, text) = self.trace(&scene, args, Some(inject));
        assert!(
            text.contains("(INJECTED)"),
            "the call is never made: {text}"
        );
        (scratch, said)
    }

    fn trace(
        &self,
        scene: impl Fn() -> Scratch,
        args: &[&str],
        inject: Option<String>,
    ) -> (Scratch, String, String) {
        let scratch = scene();
        let log = scratch.path("trace");
        let root = scratch.root_path();
        let mut command = Command::new("strace");
        command
            .args(["-f", "-o", log.to_str().unwrap()])
            .args(["-e", &format!("trace=access,{}", self.call)])
            .args(inject.iter().flat_map(|inject| ["-e", inject.as_str()]));
        if self.older_kernel {
            let mask = victim().with_file_name("mask");
            command.arg(mask).args(["ENOENT", "by-descriptor", "--"]);
        }
        let output = command
            .arg(victim())
            .args(args.iter().map(|arg| match *arg {
                "ROOT" => root.to_str().unwrap(),
                arg => arg,
            }))
            .output()
            .unwrap();
        let text = std::fs::read_to_string(&log).unwrap();
        let said = String::from_utf8(output.stdout).unwrap();
        (scratch, said, text)
    }
}
