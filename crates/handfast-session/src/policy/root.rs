//! `[[root]]`: one directory.

use std::path::Path;

use handfast::{HardLinks, Links};

use super::size;
use super::table::Keys;
use super::{invalid, table};
use crate::error::Error;
use crate::mount::{Mode, MountSpec};
use crate::quota::Quota;
use crate::rules::{PRESETS, Protect, Rules};
use crate::vpath::VirtualPath;

/// A directory of a policy.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct PolicyRoot {
    /// What the rest of the policy calls it.
    pub name: String,
    /// Where and how it is mounted.
    pub mount: MountSpec,
}

const KEYS: &[&str] = &[
    "name",
    "path",
    "mount",
    "mode",
    "preset",
    "deny",
    "read_only",
    "ask",
    "links",
    "hard_links",
    "allow_network_fs",
    "quota",
];

impl PolicyRoot {
    pub(super) fn read(mut keys: Keys, dir: &Path) -> Result<Self, Error> {
        let name = keys.required("name")?;
        let path = keys.required("path")?;
        let at = keys.string("mount")?.unwrap_or_else(|| format!("/{name}"));
        let at = VirtualPath::parse(&at)
            .map_err(|error| invalid(format!("[[root]] `{name}`: `mount`: {}", error.detail())))?;
        let mut mount = MountSpec::new(dir.join(path), at);
        if let Some(text) = keys.string("mode")? {
            let known: Vec<&str> = Mode::ALL.iter().map(|mode| mode.name()).collect();
            let mode = Mode::from_name(&text);
            mount.mode = mode.ok_or_else(|| keys.refuse("mode", &text, &known))?;
        }
        if let Some(text) = keys.string("links")? {
            mount.links = match text.as_str() {
                "refuse" => Links::Refuse,
                "beneath" => Links::Beneath,
                _ => return Err(keys.refuse("links", &text, &["refuse", "beneath"])),
            };
        }
        if let Some(text) = keys.string("hard_links")? {
            mount.hard_links = match text.as_str() {
                "refuse-writes" => HardLinks::RefuseWrites,
                "refuse" => HardLinks::Refuse,
                "allow" => HardLinks::Allow,
                _ => {
                    let known = ["refuse-writes", "refuse", "allow"];
                    return Err(keys.refuse("hard_links", &text, &known));
                }
            };
        }
        let mut protect = Protect::new();
        if let Some(text) = keys.string("preset")? {
            let preset = Protect::preset(&text);
            protect = preset.map_err(|_| keys.refuse("preset", &text, PRESETS))?;
        }
        protect.deny.extend(keys.strings("deny")?);
        protect.read_only.extend(keys.strings("read_only")?);
        protect.ask.extend(keys.strings("ask")?);
        Rules::compile(&protect)
            .map_err(|error| invalid(format!("[[root]] `{name}`: {}", error.detail())))?;
        Rules::compile_ask(&protect)
            .map_err(|error| invalid(format!("[[root]] `{name}`: {}", error.detail())))?;
        for (list, patterns) in [("read_only", &protect.read_only), ("ask", &protect.ask)] {
            if let Some(pattern) = patterns.iter().find(|text| protect.deny.contains(text)) {
                return Err(invalid(format!(
                    "[[root]] `{name}`: `{pattern}` stands in `deny` and in `{list}`"
                )));
            }
        }
        mount.protect = protect;
        mount.allow_network_fs = keys.boolean("allow_network_fs")?.unwrap_or(false);
        mount.quota = quota(&mut keys)?;
        if mount.mode == Mode::ReadOnly
            && (mount.quota.bytes.is_some()
                || mount.quota.inodes.is_some()
                || mount.quota.file_bytes.is_some())
        {
            return Err(invalid(format!(
                "[[root]] `{name}` is read-only and has a limit on what is written"
            )));
        }
        keys.finish(KEYS)?;
        Ok(Self { name, mount })
    }
}

/// `[quota]` in a table.
pub(super) fn quota(keys: &mut Keys) -> Result<Quota, Error> {
    let Some(mut keys) = keys.table("quota")? else {
        return Ok(Quota::new());
    };
    let size = "a number of bytes, such as 4096 or \"2GiB\"";
    let quota = Quota {
        bytes: keys.measured("bytes", size::bytes, size)?,
        inodes: keys.integer("inodes")?,
        file_bytes: keys.measured("file_bytes", size::bytes, size)?,
        handles: keys.integer("handles")?,
    };
    keys.finish(&["bytes", "inodes", "file_bytes", "handles"])?;
    if let (Some(bytes), Some(file)) = (quota.bytes, quota.file_bytes)
        && file > bytes
    {
        return Err(table::contradiction(
            "`file_bytes` is larger than `bytes`: no file could ever be that large",
        ));
    }
    Ok(quota)
}
