//! The preset `workspace`, as a run needs it.
//!
//! The preset speaks of names anywhere. Unmodified programs make such names of their own: git's
//! clones and worktrees have hooks and settings, and pip brings a bundle of certificates. What they
//! make waits for review like everything else.

use handfast_session::{Error, Protect};

/// Where the preset speaks of the settings of any repository.
const ANY_REPOSITORY: &str = "**/.git/";

/// Git writes these for every worktree and submodule. The review flags them as run by git.
const MADE_BY_GIT: &[&str] = &["**/.git/worktrees/**", "**/.git/modules/**"];

/// A bundle of public certificates that Python packages bring along.
const BUNDLE: &str = "cacert";

/// The patterns of a preset for a run.
///
/// # Errors
/// `Invalid` if there is no preset of that name.
pub(super) fn preset(name: &str) -> Result<Protect, Error> {
    let any = Protect::preset(name)?;
    let mut own = Protect::new();
    for pattern in any.deny {
        match pattern.as_str() {
            "*.pem" => own.deny.extend(all_but(BUNDLE, ".pem")),
            _ => own.deny.push(pattern),
        }
    }
    for pattern in any.read_only {
        match pattern.strip_prefix(ANY_REPOSITORY) {
            _ if MADE_BY_GIT.contains(&pattern.as_str()) => {}
            // Of this project's repository alone.
            Some(rest) => own.read_only.push(format!("/.git/{rest}")),
            None => own.read_only.push(pattern),
        }
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
        let patterns = Patterns::compile(&preset("workspace").unwrap().deny).unwrap();
        patterns.covers(&handfast::RelPath::parse(name).unwrap())
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
