//! What a reviewer should look at twice.

use super::Side;

/// Something about a change that is easily missed. The list grows.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Ord, PartialOrd)]
#[non_exhaustive]
pub enum Flag {
    /// Git runs it, or takes orders from it.
    RunByGit,
    /// A build service runs it.
    CiWorkflow,
    /// A shell or an editor obeys it.
    ShellOrEditorSettings,
    /// An agent obeys it, or starts what it names.
    AgentSettings,
    /// A build tool or a package manager runs or obeys it.
    BuildSettings,
    /// It may be executed and could not before.
    BecomesExecutable,
    /// A set-id or sticky bit is asked for; a commit does not set it.
    SetIdAsked,
    /// A link whose target leads out of the mount, or may.
    LeadsOutside,
    /// It holds characters that a terminal obeys or hides.
    HiddenCharacters,
    /// The file has other names in the base, which keep the old content.
    OtherNames,
    /// It is one of several names of a file. Those that are committed together stay names of one file.
    LinkedName,
    /// Extended attributes of the file in the base are lost.
    LosesAttributes,
    /// A rule makes the name read-only: a commit takes it only if its path is named.
    ReadOnlyName,
    /// A rule denies the name, which the base does not have: as [`Flag::ReadOnlyName`].
    DeniedName,
}

impl Flag {
    /// Its name in JSON.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::RunByGit => "run-by-git",
            Self::CiWorkflow => "ci-workflow",
            Self::ShellOrEditorSettings => "shell-or-editor-settings",
            Self::AgentSettings => "agent-settings",
            Self::BuildSettings => "build-settings",
            Self::BecomesExecutable => "becomes-executable",
            Self::SetIdAsked => "set-id-asked",
            Self::LeadsOutside => "leads-outside",
            Self::HiddenCharacters => "hidden-characters",
            Self::OtherNames => "other-names",
            Self::LinkedName => "linked-name",
            Self::LosesAttributes => "loses-attributes",
            Self::ReadOnlyName => "read-only-name",
            Self::DeniedName => "denied-name",
        }
    }

    /// What it means, for people.
    #[must_use]
    pub const fn words(self) -> &'static str {
        match self {
            Self::RunByGit => "run by git",
            Self::CiWorkflow => "CI workflow",
            Self::ShellOrEditorSettings => "shell or editor settings",
            Self::AgentSettings => "agent settings",
            Self::BuildSettings => "obeyed by a build tool",
            Self::BecomesExecutable => "becomes executable",
            Self::SetIdAsked => "set-id asked for",
            Self::LeadsOutside => "leads outside",
            Self::HiddenCharacters => "hidden characters",
            Self::OtherNames => "other names keep the old content",
            Self::LinkedName => "one of several names of one file",
            Self::LosesAttributes => "loses extended attributes",
            Self::ReadOnlyName => "read-only name, committed only if named",
            Self::DeniedName => "denied name, committed only if named",
        }
    }
}

/// Names anywhere on the path, names of files, and where they lie.
type FlagNames = (Flag, &'static [&'static str], &'static [&'static str]);

const KNOWN: &[FlagNames] = &[
    (
        Flag::RunByGit,
        &[".git/", ".husky/", ".githooks/", ".lefthook/"],
        &[
            // A directory of this name is one change as well.
            ".git",
            ".gitattributes",
            ".gitmodules",
            ".gitconfig",
            ".pre-commit-config.yaml",
            "lefthook.yml",
            ".lefthook.yml",
        ],
    ),
    (
        Flag::CiWorkflow,
        &[
            ".github/workflows/",
            ".github/actions/",
            ".circleci/",
            ".gitlab/",
            ".buildkite/",
            ".woodpecker/",
        ],
        &[
            ".gitlab-ci.yml",
            "Jenkinsfile",
            "azure-pipelines.yml",
            ".travis.yml",
            ".drone.yml",
            ".woodpecker.yml",
            "bitbucket-pipelines.yml",
        ],
    ),
    (
        Flag::ShellOrEditorSettings,
        &[".vscode/", ".idea/", ".zed/", ".devcontainer/", ".config/"],
        &[
            ".bashrc",
            ".bash_profile",
            ".bash_login",
            ".profile",
            ".zshrc",
            ".zshenv",
            ".envrc",
            ".editorconfig",
            ".vimrc",
            ".exrc",
            ".direnvrc",
            ".devcontainer.json",
            ".bash_logout",
            ".inputrc",
            ".tmux.conf",
            ".gdbinit",
            ".nvim.lua",
        ],
    ),
    (
        Flag::AgentSettings,
        &[".claude/", ".codex/", ".cursor/", ".gemini/", ".windsurf/"],
        &[
            ".mcp.json",
            "CLAUDE.md",
            "AGENTS.md",
            "GEMINI.md",
            ".cursorrules",
        ],
    ),
    (
        Flag::BuildSettings,
        &[".cargo/"],
        &[
            "build.rs",
            "setup.py",
            "conftest.py",
            ".npmrc",
            ".yarnrc.yml",
            ".yarnrc",
            ".pnpmfile.cjs",
            ".mise.toml",
            "mise.toml",
            "Makefile",
        ],
    ),
];

/// The flags that a change has: by its path in the mount, by its path in the session, which also names
/// a repository that is a mount of its own, and by both sides.
pub(super) fn of(
    path: &[u8],
    shown: &[u8],
    before: Option<&Side>,
    after: Option<&Side>,
) -> Vec<Flag> {
    let mut found = Vec::new();
    let whole = [b"/", shown, b"/"].concat();
    for (flag, dirs, files) in KNOWN {
        let lies_in = |dir: &&str| {
            let dir = format!("/{dir}");
            whole
                .windows(dir.len())
                .any(|part| part.eq_ignore_ascii_case(dir.as_bytes()))
        };
        let is_called = |name: &&str| {
            let name = format!("/{name}/");
            let begin = whole.len().checked_sub(name.len());
            begin.is_some_and(|begin| whole[begin..].eq_ignore_ascii_case(name.as_bytes()))
        };
        if dirs.iter().any(lies_in) || files.iter().any(is_called) {
            found.push(*flag);
        }
    }
    let mode = |side: Option<&Side>| side.and_then(|side| side.mode).unwrap_or(0);
    let is_file = |side: &&Side| side.kind == handfast::FileKind::File;
    if let Some(after) = after {
        if is_file(&after) && mode(Some(after)) & 0o111 != 0 && mode(before) & 0o111 == 0 {
            found.push(Flag::BecomesExecutable);
        }
        // A file that only moves keeps its names.
        if after.names > 1 && before.is_none_or(|before| before.names != after.names) {
            found.push(Flag::LinkedName);
        }
        if mode(Some(after)) & 0o7000 != 0 && mode(before) & 0o7000 != mode(Some(after)) & 0o7000 {
            found.push(Flag::SetIdAsked);
        }
        if after
            .target
            .as_deref()
            .is_some_and(|target| leads_outside(path, target))
        {
            found.push(Flag::LeadsOutside);
        }
        if matches!(&after.form, Some(super::Form::Odd(_))) {
            found.push(Flag::HiddenCharacters);
        }
    }
    if let Some(before) = before.filter(is_file) {
        // A file that only moves keeps its names and attributes.
        let kept = |same: &dyn Fn(&Side) -> bool| after.is_some_and(same);
        if before.names > 1 && !kept(&|after| after.names == before.names) {
            found.push(Flag::OtherNames);
        }
        let keeps = |after: &Side| {
            let mut each = before.xattrs.iter();
            let name = |text: &str| text.split('=').next().map(str::to_owned);
            each.all(|old| after.xattrs.iter().any(|new| name(new) == name(old)))
        };
        if !before.xattrs.is_empty() && !kept(&keeps) {
            found.push(Flag::LosesAttributes);
        }
    }
    found
}

/// Whether a link's text leads out of its mount, or may: after a name, which may be a link itself,
/// nobody knows where `..` leads.
fn leads_outside(path: &[u8], target: &[u8]) -> bool {
    let mut depth = path.iter().filter(|byte| **byte == b'/').count();
    let mut named = false;
    if target.first() == Some(&b'/') {
        return true;
    }
    for step in target.split(|byte| *byte == b'/') {
        match step {
            b"" | b"." => {}
            b".." if named || depth == 0 => return true,
            b".." => depth -= 1,
            _ => named = true,
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_others_run_is_flagged_wherever_it_lies() {
        let flags = |path: &str| of(path.as_bytes(), path.as_bytes(), None, None);
        assert_eq!(flags("a/.git/hooks/pre-commit"), [Flag::RunByGit]);
        assert_eq!(flags(".github/workflows/x.yml"), [Flag::CiWorkflow]);
        assert_eq!(flags("home/.BASHRC"), [Flag::ShellOrEditorSettings]);
        assert_eq!(flags("build.rs"), [Flag::BuildSettings]);
        assert_eq!(flags("sub/.git"), [Flag::RunByGit]);
        let in_repository = of(b"config", b".git/config", None, None);
        assert_eq!(in_repository, [Flag::RunByGit]);
        assert!(flags("notes.bashrc").is_empty());
        assert!(flags("git/hooks").is_empty());
    }

    #[test]
    fn links_that_may_lead_outside_are_known() {
        for (path, target, outside) in [
            ("a/b", "../c", false),
            ("a/b", "../../c", true),
            ("b", "../c", true),
            ("b", "/etc", true),
            ("a/b", "x/../../c", true),
            ("a/b", "./c", false),
        ] {
            let is = leads_outside(path.as_bytes(), target.as_bytes());
            assert_eq!(is, outside, "{path} -> {target}");
        }
    }
}
