//! A sandbox's mounts: code to read, data to change, a workspace to try things in.
//!
//! The guest names files by absolute virtual paths. What it changes in the workspace stays in an
//! overlay until the host has looked at it.
#![allow(clippy::print_stdout, reason = "an example")]
#![allow(
    clippy::disallowed_methods,
    reason = "the example sets its own scene, in a directory nobody else knows"
)]

use std::error::Error;
use std::path::Path;

use handfast_session::{
    Caller, CommitOptions, Mode, MountSpec, Protect, Quota, Session, SessionSpec, VirtualPath,
};

/// What the guest may see.
fn sandbox(host: &Path) -> Result<Session, Box<dyn Error>> {
    let at = |path: &str| VirtualPath::parse(path);
    let secrets = Protect::preset("workspace")?;
    let spec = SessionSpec::new()
        .mount(MountSpec::new(host.join("code"), at("/code")?).mode(Mode::ReadOnly))
        .mount(MountSpec::new(host.join("data"), at("/data")?).mode(Mode::ReadWrite))
        .mount(
            MountSpec::new(host.join("desk"), at("/desk")?)
                .mode(Mode::Memory)
                .protect(secrets),
        )
        .quota(Quota {
            bytes: Some(1 << 20),
            inodes: Some(100),
            ..Quota::new()
        });
    Ok(Session::new(&spec, Caller::new("guest"))?)
}

/// What an untrusted guest tries.
fn guest(files: &Session) -> Vec<(&'static str, String)> {
    let told = |outcome: Result<(), handfast_session::Error>| match outcome {
        Ok(()) => "done".to_owned(),
        Err(error) => error.to_string(),
    };
    vec![
        ("read code", told(files.read("/code/main.py").map(drop))),
        (
            "change code",
            told(files.write("/code/main.py", "evil").map(drop)),
        ),
        (
            "change data",
            told(files.write("/data/result.csv", "1,2\n").map(drop)),
        ),
        (
            "try a change",
            told(files.write("/desk/plan.txt", "new plan\n").map(drop)),
        ),
        ("read a secret", told(files.read("/desk/.env").map(drop))),
        (
            "leave",
            told(files.read("/desk/../../etc/passwd").map(drop)),
        ),
        (
            "fill the disk",
            told(files.write("/data/big", vec![0; 2 << 20]).map(drop)),
        ),
    ]
}

fn set_scene(host: &Path) -> std::io::Result<()> {
    for (file, content) in [
        ("code/main.py", "print('hello')\n"),
        ("data/input.csv", "1\n"),
        ("desk/plan.txt", "old plan\n"),
        ("desk/.env", "TOKEN=secret\n"),
    ] {
        let file = host.join(file);
        std::fs::create_dir_all(file.parent().unwrap_or(host))?;
        std::fs::write(file, content)?;
    }
    Ok(())
}

fn main() -> Result<(), Box<dyn Error>> {
    let host = tempfile::tempdir()?;
    set_scene(host.path())?;
    let files = sandbox(host.path())?;
    for (what, outcome) in guest(&files) {
        println!("{what:<14} {outcome}");
    }
    for change in files.diff()? {
        println!("changed        {}", change.path);
    }
    let committed = files.commit(&CommitOptions::default(), &mut |_, _| {})?;
    println!("committed      {}", committed.committed.len());
    Ok(())
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_guest_gets_what_it_may_and_the_host_decides_about_the_rest() {
        let host = tempfile::tempdir().unwrap();
        super::set_scene(host.path()).unwrap();
        let files = super::sandbox(host.path()).unwrap();
        let outcomes = super::guest(&files);
        let done: Vec<_> = outcomes
            .iter()
            .filter(|(_, outcome)| outcome == "done")
            .map(|(what, _)| *what)
            .collect();
        assert_eq!(
            done,
            ["read code", "change data", "try a change"],
            "{outcomes:?}"
        );
        let plan = || std::fs::read_to_string(host.path().join("desk/plan.txt")).unwrap();
        assert_eq!(plan(), "old plan\n");
        files.commit(&Default::default(), &mut |_, _| {}).unwrap();
        assert_eq!(plan(), "new plan\n");
        super::main().unwrap();
    }
}
