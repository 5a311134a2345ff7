//! What the broker's word is worth, against whom.
//!
//! A broker that runs as the user whose processes it serves keeps books: those processes can open
//! the files themselves. It is a wall against other users if the files are closed to them, and
//! against programs that were started confined.

use handfast::Metadata;
use handfast::harden::Wall;

/// What is known when the broker starts.
#[derive(Clone, Debug)]
pub(crate) struct Boundary {
    /// What keeps the broker itself inside.
    pub(crate) wall: Wall,
    pub(crate) own_uid: u32,
    pub(crate) roots: Vec<RootDoor>,
}

/// A root, and whether others get in without the broker.
#[derive(Clone, Debug)]
pub(crate) struct RootDoor {
    pub(crate) name: String,
    pub(crate) owner: u32,
    pub(crate) mode: u32,
}

impl RootDoor {
    pub(crate) fn of(name: &str, status: &Metadata) -> Self {
        Self {
            name: name.to_owned(),
            owner: status.uid,
            mode: status.mode,
        }
    }

    /// Whether somebody else than the broker's user gets in by the file's permissions.
    fn is_open(&self, broker: u32) -> bool {
        self.owner != broker || self.mode & 0o077 != 0
    }
}

impl Boundary {
    /// Whether processes of a user reach the files of a root through the broker only.
    pub(crate) fn is_wall(&self, root: usize, uid: u32) -> bool {
        let door = self.roots.get(root);
        uid != 0 && uid != self.own_uid && door.is_some_and(|door| !door.is_open(self.own_uid))
    }

    /// What holds against processes of a user, in one sentence.
    pub(crate) fn sentence(&self, uid: u32) -> String {
        if uid == 0 {
            return "bookkeeping: root opens what it wants".to_owned();
        }
        if uid == self.own_uid {
            return format!(
                "bookkeeping: processes of uid {uid}, the broker's own, can open these files themselves; `handfast lease run --confine` starts programs that cannot"
            );
        }
        match self.roots.iter().find(|root| root.is_open(self.own_uid)) {
            None => format!(
                "wall: uid {uid} reaches these files through the broker only; they belong to uid {} and are closed to others",
                self.own_uid
            ),
            Some(root) => format!(
                "bookkeeping: root `{}` belongs to uid {} with mode {:04o}, so others may get in without the broker; close it (chmod 700) for a wall",
                handfast::escape(root.name.as_bytes()),
                root.owner,
                root.mode
            ),
        }
    }

    /// What holds for the broker itself.
    pub(crate) fn inner(&self) -> &'static str {
        match self.wall {
            Wall::Full => {
                "Landlock: the broker can reach its roots, its own state and the device for mounts, and nothing else"
            }
            Wall::Partial => "Landlock: on, but this kernel does not know every right",
            Wall::None => "Landlock: missing here; only the broker's own care keeps it inside",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_which_holds() {
        let door = |owner, mode| Boundary {
            wall: Wall::Full,
            own_uid: 7,
            roots: vec![RootDoor {
                name: "ws".to_owned(),
                owner,
                mode,
            }],
        };
        assert!(door(7, 0o700).sentence(7).starts_with("bookkeeping"));
        assert!(door(7, 0o700).sentence(0).starts_with("bookkeeping"));
        assert!(door(7, 0o700).sentence(8).starts_with("wall"));
        for open in [door(7, 0o755), door(7, 0o750), door(8, 0o700)] {
            assert!(open.sentence(8).starts_with("bookkeeping"), "{open:?}");
        }
    }
}
