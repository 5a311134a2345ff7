//! Unmodified programs work under the default rules.

use super::stage::{as_each_user, is_root};

const SCRIPT: &str = include_str!("programs.sh");

/// Programs that this machine may lack; the others are on every machine that runs the tests.
const MAY_BE_ABSENT: &[&str] = &["rsync", "venv", "npm", "cargo", "cc", "make", "vim"];

#[test]
fn unmodified_programs_work_under_the_default_rules() {
    as_each_user(|stage| {
        // The tool chain that runs this test, where the user may read it.
        let cargo = std::env::var_os("CARGO").map(std::path::PathBuf::from);
        let tools = cargo.as_deref().and_then(|cargo| cargo.parent()?.parent());
        let tools = tools.filter(|_| stage.user == "0" || !is_root());
        let mut options = vec!["--quiet"];
        let mut script = SCRIPT.to_owned();
        if let Some(tools) = tools.and_then(std::path::Path::to_str) {
            options.extend(["--read", tools]);
            script = format!("export PATH={tools}/bin:$PATH\n{SCRIPT}");
        }
        let told = stage.run(&options, &script);
        let tried = SCRIPT
            .lines()
            .filter(|line| line.starts_with("try "))
            .count();
        assert_eq!(told.out.lines().count(), tried, "{told:?}");
        for line in told.out.lines() {
            let absent = line.strip_prefix("absent ");
            let is_fine =
                line.starts_with("ok ") || absent.is_some_and(|name| MAY_BE_ABSENT.contains(&name));
            assert!(is_fine, "as {}: {line}\n{told:?}", stage.user);
            if let Some(name) = absent {
                println!("skipped: {name} as {}: not on this machine", stage.user);
            }
        }
        // The base is what it was: nothing is committed yet.
        assert_eq!(
            std::fs::read(stage.base("a.txt")).unwrap(),
            b"from the base\n"
        );
        assert!(!stage.base("clone").exists() && !stage.base("h2").exists());
        let secret = stage.run(&["--quiet"], "ln .env e2; ls e2; cat .env");
        assert_eq!(
            (secret.code, secret.out.as_str()),
            (Some(1), ""),
            "{secret:?}"
        );
    });
}
