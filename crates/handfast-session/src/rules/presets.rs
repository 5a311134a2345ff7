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

/// What other programs run or obey without being asked to build or test: read, and not changed.
///
/// `.git/HEAD` is not among them: every change of the branch writes it, and it only names a branch. Nor
/// are build files (`Makefile`, `build.rs`, `package.json`), which are what an agent is there to change.
const WORKSPACE_READ_ONLY: &[&str] = &[
    "**/.git/hooks",
    "**/.git/config",
    "**/.git/config.worktree",
    // Filters and merge drivers are chosen by attributes, and this file is in no commit.
    "**/.git/info/attributes",
    // These lead git to another configuration.
    "**/.git/commondir",
    "**/.git/gitdir",
    "**/.git/worktrees/**",
    "**/.git/modules/**",
    ".gitmodules",
    ".gitconfig",
    // Hooks that a program installs or runs for git.
    ".husky/",
    ".pre-commit-config.yaml",
    "lefthook.yml",
    ".lefthook.yml",
    // What a server runs after the push.
    "**/.github/workflows/",
    "**/.github/actions/",
    ".gitlab-ci.yml",
    ".circleci/",
    ".travis.yml",
    ".drone.yml",
    ".woodpecker.yml",
    ".woodpecker/",
    ".buildkite/",
    "azure-pipelines.yml",
    "bitbucket-pipelines.yml",
    "Jenkinsfile",
    // What tools run or load at their start, whatever they are started for.
    "**/.cargo/config",
    "**/.cargo/config.toml",
    ".yarnrc",
    ".yarnrc.yml",
    ".pnpmfile.cjs",
    ".mise.toml",
    "mise.toml",
    ".gdbinit",
    ".lldbinit",
    // What editors and agents run or obey.
    ".devcontainer/",
    ".devcontainer.json",
    ".exrc",
    ".vimrc",
    ".nvim.lua",
    ".zed/",
    ".windsurf/",
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
    ".bash_login",
    ".bash_logout",
    ".bash_aliases",
    ".zshrc",
    ".zshenv",
    ".zprofile",
    ".zlogin",
    ".zlogout",
    ".profile",
    ".inputrc",
    ".tmux.conf",
];

/// The patterns of a preset.
pub(crate) fn preset(name: &str) -> Result<Protect, Error> {
    let own = |list: &[&str]| list.iter().map(|text| (*text).to_owned()).collect();
    match name {
        "workspace" => Ok(Protect {
            deny: own(WORKSPACE_DENY),
            read_only: own(WORKSPACE_READ_ONLY),
            ask: Vec::new(),
        }),
        other => Err(Error::refused(
            ErrorKind::Invalid,
            format!(
                "there is no preset `{}`; known presets: `{}`",
                handfast::escape(other.as_bytes()),
                PRESETS.join("`, `")
            ),
        )),
    }
}
