//! The preset `workspace`, as a run needs it.
//!
//! Unmodified programs make names that the preset speaks of: git's clones, worktrees and submodules have
//! hooks and settings, and pip brings a bundle of certificates. In an overlay a program may write read-only
//! names, and a commit takes one only if it is named; so the rules speak of every repository, but only
//! of the files in it that make git run something or read other settings. Elsewhere a read-only name cannot
//! be written at all, so the rules speak of the project's own repository alone.

use handfast_session::{Error, Mode, Protect};

/// Where the preset speaks of the settings of any repository.
const ANY_REPOSITORY: &str = "**/.git/";

/// Git writes these for every worktree and submodule.
const MADE_BY_GIT: &[&str] = &["**/.git/worktrees/**", "**/.git/modules/**"];

/// What makes git run something, or read other settings, of what it keeps for worktrees and submodules.
const OBEYED_BY_GIT: &[&str] = &[
    "**/.git/worktrees/*/commondir",
    "**/.git/worktrees/*/gitdir",
    "**/.git/worktrees/*/config.worktree",
];

/// Where git keeps submodules: those of a repository, and those of one of its worktrees.
const MODULES: &[&str] = &["**/.git/modules/**/", "**/.git/worktrees/*/modules/**/"];

/// What makes git run something, or read other settings, in the repository of a submodule.
const OBEYED_IN_MODULES: &[&str] = &[
    "hooks",
    "config",
    "config.worktree",
    "info/attributes",
    "commondir",
    "gitdir",
];

/// A bundle of public certificates that Python packages bring along.
const BUNDLE: &str = "cacert";

/// The patterns of a preset for a run, in which changes wait or do not.
///
/// # Errors
/// `Invalid` if there is no preset of that name.
pub(super) fn preset(name: &str, mode: Mode) -> Result<Protect, Error> {
    let any = Protect::preset(name)?;
    let mut own = Protect::new();
    for pattern in any.deny {
        match pattern.as_str() {
            "*.pem" => own.deny.extend(all_but(BUNDLE, ".pem")),
            _ => own.deny.push(pattern),
        }
    }
    let waits = mode == Mode::Overlay;
    let mut speaks_of_git = false;
    for pattern in any.read_only {
        match pattern.strip_prefix(ANY_REPOSITORY) {
            _ if MADE_BY_GIT.contains(&pattern.as_str()) => speaks_of_git = true,
            Some(rest) if !waits => own.read_only.push(format!("/.git/{rest}")),
            _ => own.read_only.push(pattern),
        }
    }
    if waits && speaks_of_git {
        let of_modules = MODULES.iter().flat_map(|modules| {
            let each = OBEYED_IN_MODULES.iter();
            each.map(move |name| format!("{modules}{name}"))
        });
        let of_worktrees = OBEYED_BY_GIT.iter().map(|&pattern| pattern.to_owned());
        own.read_only.extend(of_worktrees.chain(of_modules));
    }
    Ok(own)
}

/// Patterns for every name with an ending but one, which is ASCII: classes speak of single bytes.
/// Patterns know no exceptions, so these say where a name differs: in a byte, by ending earlier, or by
/// going on.
pub(super) fn all_but(stem: &str, ending: &str) -> Vec<String> {
    let mut patterns = Vec::new();
    let mut same = String::new();
    for letter in stem.chars() {
        let plain = letter.is_ascii_alphanumeric();
        let own = if plain {
            letter.to_string()
        } else {
            format!("\\{letter}")
        };
        patterns.push(format!("{same}[!{own}]*{ending}"));
        let shorter = format!("{same}{ending}");
        if !shorter.is_empty() {
            patterns.push(shorter);
        }
        same.push_str(&own);
    }
    patterns.push(format!("{same}?*{ending}"));
    patterns
}

#[cfg(test)]
mod tests {
    use handfast_session::Patterns;

    use super::*;

    fn denies(name: &str) -> bool {
        let patterns =
            Patterns::compile(&preset("workspace", Mode::Overlay).unwrap().deny).unwrap();
        patterns.covers(&handfast::RelPath::parse(name).unwrap())
    }

    #[test]
    fn what_makes_git_run_something_waits_in_every_repository() {
        let covers = |mode, name: &str| {
            let patterns = Patterns::compile(&preset("workspace", mode).unwrap().read_only);
            let path = handfast::RelPath::parse(name).unwrap();
            patterns.unwrap().covers(&path)
        };
        for name in [
            ".git/config",
            ".git/hooks/pre-commit",
            "nest/.git/config",
            ".git/modules/sub/config",
            ".git/modules/a/modules/b/hooks/post-checkout",
            ".git/modules/sub/info/attributes",
            ".git/worktrees/w/commondir",
            ".git/worktrees/w/modules/sub/config",
        ] {
            assert!(covers(Mode::Overlay, name), "{name}");
        }
        for name in [
            ".git/HEAD",
            ".git/modules/sub/HEAD",
            ".git/modules/sub/objects/aa/bb",
            ".git/worktrees/w/HEAD",
            ".git/worktrees/w/index",
        ] {
            assert!(!covers(Mode::Overlay, name), "{name}");
        }
        // There they could not be made.
        assert!(covers(Mode::ReadWrite, ".git/config"));
        assert!(!covers(Mode::ReadWrite, "nest/.git/config"));
    }

    #[test]
    fn every_key_is_denied_and_the_bundle_of_certificates_is_not() {
        for name in [
            "a.pem",
            "c.pem",
            "ca.pem",
            "cacer.pem",
            "cacerts.pem",
            "cacert2.pem",
            "Cacert.pem",
            "x/y/server.pem",
            ".pem",
            "cb.pem",
            "cacery.pem",
            "cacert.pem.pem",
            "id_rsa",
            ".env",
            "a/.env.local",
            "tls.key",
        ] {
            assert!(denies(name), "{name}");
        }
        for name in ["cacert.pem", "v/site-packages/cacert.pem", "a.txt", "pem"] {
            assert!(!denies(name), "{name}");
        }
    }
}
