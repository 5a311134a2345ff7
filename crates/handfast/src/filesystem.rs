//! Which filesystem a root lies on, and what that weakens.

use std::fmt;

/// The kind of filesystem behind a root.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash)]
#[non_exhaustive]
pub enum FilesystemKind {
    /// ext2, ext3 or ext4.
    Ext,
    /// XFS.
    Xfs,
    /// Btrfs.
    Btrfs,
    /// tmpfs or ramfs.
    Tmpfs,
    /// F2FS.
    F2fs,
    /// ZFS.
    Zfs,
    /// bcachefs.
    Bcachefs,
    /// overlayfs, as under most containers.
    Overlay,
    /// NFS.
    Nfs,
    /// SMB or CIFS.
    Smb,
    /// 9p, as in virtual machines.
    Plan9,
    /// Ceph.
    Ceph,
    /// FUSE: a program answers, and may answer anything.
    Fuse,
    /// FAT or exFAT: no owners, no links, coarse times.
    Fat,
    /// procfs.
    Proc,
    /// Another one, by its magic number; zero where the platform does not report it.
    Other(u32),
}

impl FilesystemKind {
    /// From the magic number that `statfs` answers with.
    #[must_use]
    pub const fn from_magic(magic: u32) -> Self {
        match magic {
            0xef53 => Self::Ext,
            0x5846_5342 => Self::Xfs,
            0x9123_683e => Self::Btrfs,
            0x0102_1994 | 0x8584_58f6 => Self::Tmpfs,
            0xf2f5_2010 => Self::F2fs,
            0x2fc1_2fc1 => Self::Zfs,
            0xca45_1a4e => Self::Bcachefs,
            0x794c_7630 => Self::Overlay,
            0x6969 => Self::Nfs,
            0x517b | 0xff53_4d42 | 0xfe53_4d42 => Self::Smb,
            0x0102_1997 => Self::Plan9,
            0x00c3_6400 => Self::Ceph,
            0x6573_5546 | 0x6573_5543 => Self::Fuse,
            0x4d44 | 0x2011_bab0 => Self::Fat,
            0x9fa0 => Self::Proc,
            other => Self::Other(other),
        }
    }

    /// Its usual name.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Ext => "ext4",
            Self::Xfs => "xfs",
            Self::Btrfs => "btrfs",
            Self::Tmpfs => "tmpfs",
            Self::F2fs => "f2fs",
            Self::Zfs => "zfs",
            Self::Bcachefs => "bcachefs",
            Self::Overlay => "overlayfs",
            Self::Nfs => "nfs",
            Self::Smb => "smb",
            Self::Plan9 => "9p",
            Self::Ceph => "ceph",
            Self::Fuse => "fuse",
            Self::Fat => "fat",
            Self::Proc => "proc",
            Self::Other(_) => "other",
        }
    }

    /// Whether another machine or program decides what is there.
    #[must_use]
    pub const fn is_remote(self) -> bool {
        matches!(
            self,
            Self::Nfs | Self::Smb | Self::Plan9 | Self::Ceph | Self::Fuse
        )
    }

    /// What means less on this filesystem, one sentence each.
    #[must_use]
    pub const fn weaknesses(self) -> &'static [&'static str] {
        match self {
            Self::Nfs | Self::Smb | Self::Plan9 | Self::Ceph => &[
                "other machines may change the tree without this kernel noticing",
                "locks reach only clients that use the same lock manager",
                "a finished sync depends on the server",
                "identities may be cached and out of date",
            ],
            Self::Fuse => &[
                "a user program answers every call and may lie about kind, size and identity",
                "that program can delay any call for as long as it likes",
                "locks and syncs mean what that program makes of them",
            ],
            Self::Overlay => {
                &["a file's device and inode may change when it is first written (copy-up)"]
            }
            Self::Fat => &[
                "owners, modes, links and fine times do not exist",
                "names fold case",
            ],
            Self::Proc => &["links of processes are magic, and are refused"],
            _ => &[],
        }
    }
}

impl fmt::Display for FilesystemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Other(0) => f.write_str("unknown"),
            Self::Other(magic) => write!(f, "other ({magic:#x})"),
            known => f.write_str(known.name()),
        }
    }
}
