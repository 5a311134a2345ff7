//! Patterns that most people want, by name.

use handfast::ErrorKind;

use super::Protect;
use crate::error::Error;

/// The presets there are.
pub const PRESETS: &[&str] = &["workspace"];

/// Secrets of a working directory: neither read nor changed.
const WORKSPACE_DENY: &[&str] = &[
    ".env",
    ".env.*",
    "*.pem",
    "*.key",
    "*.p12",
    "*.pfx",
    "id_rsa",
    "id_ecdsa",
    "id_ed25519",
    ".netrc",
    ".npmrc",
    ".pypirc",
    ".git-credentials",
    ".aws/",
    ".ssh/",
    ".gnupg/",
];

/// What other programs run or obey: read, and not changed.
const WORKSPACE_READ_ONLY: &[&str] = &[
    "**/.git/hooks",
    "**/.git/config",
    "**/.git/config.worktree",
    // These lead git to another configuration.
    "**/.git/commondir",
    "**/.git/gitdir",
    "**/.git/worktrees/**",
    "**/.git/modules/**",
    ".gitmodules",
    ".claude/",
    ".codex/",
    ".cursor/",
    ".gemini/",
    ".vscode/",
    ".idea/",
    ".mcp.json",
    ".envrc",
    ".bashrc",
    ".bash_profile",
    ".zshrc",
    ".zprofile",
    ".profile",
];

/// The patterns of a preset.
pub(crate) fn preset(name: &str) -> Result<Protect, Error> {
    let own = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
    match name {
        "workspace" => Ok(Protect {
            deny: own(WORKSPACE_DENY),
            read_only: own(WORKSPACE_READ_ONLY),
        }),
        other => Err(Error::refused(
            ErrorKind::Invalid,
            format!(
                "there is no preset `{}`; there is `{}`",
                handfast::escape(other.as_bytes()),
                PRESETS.join("`, `")
            ),
        )),
    }
}
