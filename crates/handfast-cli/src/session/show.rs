//! `session show NAME`: what a session consists of.

use std::os::unix::ffi::OsStrExt;

use clap::Args;
use handfast_session::{Comment, Mode, PastCommit, VirtualPath};

use super::place::StateArgs;
use super::{failures, undo};
use crate::failure::Failure;
use crate::fs::answer::{PrintResult, Printable};
use crate::json::JsonObject;
use crate::output::{self, Output};

/// Show the mounts, the number of changes, the snapshots, and the commits that can be taken back
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast session show review"
))]
pub(super) struct ShowArgs {
    /// The session
    name: String,
}

impl ShowArgs {
    pub(super) fn run(&self, state: &StateArgs) -> PrintResult {
        let session = state.open("show", &self.name)?;
        let failed = |error| failures::failed("show", "look at the session", &self.name, &error);
        let spec = state
            .holding("show", &self.name)?
            .spec(&self.name)
            .map_err(failed)?;
        let base = |at: &VirtualPath| {
            let mut mounts = spec.mounts().iter();
            let found = mounts.find(|mount| mount.at() == at);
            found.map(|mount| mount.host().as_os_str().as_bytes().to_vec())
        };
        let mut mounts: Vec<_> = session
            .mount_points()
            .into_iter()
            .map(|(at, mode)| (base(&at).unwrap_or_default(), at, mode))
            .collect();
        mounts.sort_by(|one, other| one.1.cmp(&other.1));
        Ok(Box::new(Shown {
            name: self.name.clone(),
            mounts,
            changes: session.diff().map_err(failed)?.len(),
            snapshots: session.labels().map_err(failed)?,
            commits: session.past_commits().map_err(failed)?,
            comments: session.comments().map_err(failed)?,
        }))
    }
}

struct Shown {
    name: String,
    /// The directory, where it is mounted, and how.
    mounts: Vec<(Vec<u8>, VirtualPath, Mode)>,
    changes: usize,
    snapshots: Vec<String>,
    commits: Vec<PastCommit>,
    comments: Vec<Comment>,
}

impl Printable for Shown {
    fn fields(&self) -> JsonObject {
        let mounts = self.mounts.iter().map(|(base, at, mode)| {
            JsonObject::new()
                .with_bytes("base", base)
                .with_bytes("path", &failures::bytes(at))
                .with("mode", mode.name())
        });
        let labels = self.snapshots.iter().map(String::as_str);
        JsonObject::new()
            .with("session", self.name.as_str())
            .with("mounts", output::list(mounts))
            .with("changes", self.changes as u64)
            .with("snapshots", crate::json::Json::from_iter(labels))
            .with(
                "commits",
                output::list(self.commits.iter().map(undo::fields)),
            )
            .with(
                "comments",
                output::list(self.comments.iter().map(comment_fields)),
            )
    }

    fn show(&mut self, out: &mut Output) -> Result<(), Box<Failure>> {
        out.line(&format!("session    {}", self.name));
        for (base, at, mode) in &self.mounts {
            let base = handfast::escape(base);
            out.line(&format!("mount      {at}  ({mode})  {base}"));
        }
        out.line(&format!("changes    {}", self.changes));
        for label in &self.snapshots {
            out.line(&format!("snapshot   {label}"));
        }
        for commit in &self.commits {
            out.line(&format!("commit     {}", undo::described(commit)));
        }
        for comment in &self.comments {
            out.line(&format!("rejected   {}", comment.line()));
        }
        Ok(())
    }
}

/// What a reviewer said, for programs.
fn comment_fields(comment: &Comment) -> JsonObject {
    JsonObject::new()
        .with_bytes("path", &failures::bytes(&comment.path))
        .with("hunk", comment.hunk.clone())
        .with("sha256", comment.digest.clone())
        .with("by", comment.by.as_str())
        .with("made", undo::time(comment.made))
        .with("text", comment.text.as_str())
}
