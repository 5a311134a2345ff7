//! `session usage NAME`: what is used and what may be.

use clap::Args;
use handfast_session::{MountUsage, Quota};

use super::failures;
use super::place::StateArgs;
use crate::failure::Failure;
use crate::fs::answer::{PrintResult, Printable};
use crate::json::JsonObject;
use crate::output::{self, Output};
use crate::width::{aligned, size};

/// Show how much the session uses, and its limits
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast session usage review"
))]
pub(super) struct UsageArgs {
    /// The session
    name: String,
}

impl UsageArgs {
    pub(super) fn run(&self, state: &StateArgs) -> PrintResult {
        let session = state.open("usage", &self.name)?;
        let mounts = session
            .usage()
            .map_err(|error| failures::failed("usage", "count the session", &self.name, &error))?;
        let quota = session.quota();
        Ok(Box::new(Usage { mounts, quota }))
    }
}

struct Usage {
    mounts: Vec<MountUsage>,
    quota: Quota,
}

impl Printable for Usage {
    fn fields(&self) -> JsonObject {
        let limits = |quota: &Quota| {
            JsonObject::new()
                .with("bytes", quota.bytes.map(|limit| limit.to_string()))
                .with("inodes", quota.inodes.map(|limit| limit.to_string()))
                .with(
                    "file_bytes",
                    quota.file_bytes.map(|limit| limit.to_string()),
                )
                .with("handles", quota.handles.map(|limit| limit.to_string()))
        };
        let mounts = self.mounts.iter().map(|mount| {
            let counted = |used: u64| mount.counted.then(|| used.to_string());
            JsonObject::new()
                .with_bytes("path", &failures::bytes(&mount.at))
                .with("mode", mount.mode.name())
                .with("bytes", counted(mount.used.bytes))
                .with("inodes", counted(mount.used.inodes))
                .with("quota", limits(&mount.quota))
        });
        JsonObject::new()
            .with("mounts", output::list(mounts))
            .with("quota", limits(&self.quota))
    }

    fn show(&mut self, out: &mut Output) -> Result<(), Box<Failure>> {
        let limit = |limit: Option<u64>| limit.map_or("-".to_owned(), |limit| limit.to_string());
        let most = |limit: Option<u64>| limit.map_or("-".to_owned(), size);
        let head = ["mount", "mode", "used", "limit", "files", "limit"];
        let mut rows = vec![head.map(str::to_owned)];
        for mount in &self.mounts {
            let counted = |used: String| match mount.counted {
                true => used,
                false => "-".to_owned(),
            };
            rows.push([
                mount.at.to_string(),
                mount.mode.name().to_owned(),
                counted(size(mount.used.bytes)),
                most(mount.quota.bytes),
                counted(mount.used.inodes.to_string()),
                limit(mount.quota.inodes),
            ]);
        }
        if !self.quota.is_unlimited() {
            let bytes: u64 = self.mounts.iter().map(|mount| mount.used.bytes).sum();
            let inodes: u64 = self.mounts.iter().map(|mount| mount.used.inodes).sum();
            rows.push([
                "in all".to_owned(),
                String::new(),
                size(bytes),
                most(self.quota.bytes),
                inodes.to_string(),
                limit(self.quota.inodes),
            ]);
        }
        for line in aligned(&rows) {
            out.line(&line);
        }
        Ok(())
    }
}
