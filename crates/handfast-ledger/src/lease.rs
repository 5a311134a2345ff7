//! Lease ids, and the handles that stand for them wherever others read.
//!
//! An id is a path, `u1000/build/6f0c…`: the user, the task, and 128 random bits. A process that presents
//! it proves that it was told. It is told once, to who acquired it; the broker keeps its digest.
//! The handle, `u1000/build/~93ab…`, has half of that digest instead of the random part: it stands
//! in the log, in lists and in the store, names the lease, and opens nothing. Both are here and not in
//! the broker, so that who has the id can search a log without one.

use std::fmt;

use rustix::rand::{GetRandomFlags, getrandom};
use sha2::{Digest, Sha256};

use crate::note::hex;

/// The secret name of a lease.
#[derive(Clone, Eq, PartialEq)]
pub struct LeaseId(String);

/// The public name of a lease.
#[derive(Clone, Debug, Eq, PartialEq, Hash, Ord, PartialOrd)]
pub struct LeaseHandle(String);

/// The longest task name.
const MAX_TASK: usize = 64;

impl LeaseId {
    /// A new id.
    ///
    /// # Errors
    /// If the task is no name, or the system has no random bytes.
    pub fn new(uid: u32, task: &str) -> Result<Self, String> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
        if task.is_empty() || task.len() > MAX_TASK || !task.bytes().all(plain) {
            return Err(format!(
                "a task is 1 to {MAX_TASK} letters, digits, `-`, `_` or `.`"
            ));
        }
        let mut random = [0; 16];
        match getrandom(&mut random, GetRandomFlags::empty()) {
            Ok(16) => {}
            _ => return Err("the system has no random bytes".to_owned()),
        }
        Ok(Self(format!("u{uid}/{task}/{}", hex(&random))))
    }

    /// Reads an id.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (_, random) = split(text)?;
        let good = random.len() == 32 && random.bytes().all(is_hex);
        good.then(|| Self(text.to_owned()))
    }

    /// The text. Any process of the user that has it may use the lease, if it is bound to a user.
    #[must_use]
    pub fn secret(&self) -> &str {
        &self.0
    }

    /// The handle of the lease.
    #[must_use]
    pub fn handle(&self) -> LeaseHandle {
        let digest = Sha256::digest(self.0.as_bytes());
        let (prefix, _) = split(&self.0).unwrap_or_default();
        LeaseHandle(format!("{prefix}/~{}", hex(&digest[..16])))
    }
}

impl LeaseHandle {
    /// Reads a handle.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (_, rest) = split(text)?;
        let digest = rest.strip_prefix('~')?;
        let good = digest.len() == 32 && digest.bytes().all(is_hex);
        good.then(|| Self(text.to_owned()))
    }

    /// The handle of what somebody presents: an id or a handle.
    #[must_use]
    pub fn of_either(text: &str) -> Option<Self> {
        Self::parse(text).or_else(|| LeaseId::parse(text).map(|id| id.handle()))
    }

    /// The text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it lies below a prefix, on a component border: `u1000` or `u1000/build`.
    #[must_use]
    pub fn is_below(&self, prefix: &str) -> bool {
        let prefix = prefix.strip_suffix('/').unwrap_or(prefix);
        prefix.is_empty()
            || self
                .0
                .strip_prefix(prefix)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    }
}

/// What is before the last part, and the last part, of three.
fn split(text: &str) -> Option<(&str, &str)> {
    let (prefix, last) = text.rsplit_once('/')?;
    let (user, task) = prefix.split_once('/')?;
    let number = user.strip_prefix('u')?;
    let digits =
        !number.is_empty() && number.len() <= 10 && number.bytes().all(|b| b.is_ascii_digit());
    let good = digits && !task.is_empty() && task.len() <= MAX_TASK && !task.contains('/');
    (good && text.is_ascii()).then_some((prefix, last))
}

fn is_hex(byte: u8) -> bool {
    matches!(byte, b'0'..=b'9' | b'a'..=b'f')
}

impl fmt::Debug for LeaseId {
    /// An id in a log or a panic would be a key lying about.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "LeaseId({})", self.handle())
    }
}

impl fmt::Display for LeaseHandle {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_gives_its_handle_and_a_handle_gives_no_id() {
        let id = LeaseId::new(1000, "build").unwrap();
        let again = LeaseId::parse(id.secret()).unwrap();
        assert_eq!(again.handle(), id.handle());
        assert_eq!(LeaseHandle::of_either(id.secret()), Some(id.handle()));
        let handle = id.handle();
        assert_eq!(
            LeaseHandle::of_either(handle.as_str()),
            Some(handle.clone())
        );
        assert!(LeaseId::parse(handle.as_str()).is_none());
        assert!(!format!("{id:?}").contains(id.secret()));
        assert!(handle.is_below("u1000") && handle.is_below("u1000/build/") && handle.is_below(""));
        assert!(!handle.is_below("u100") && !handle.is_below("u1000/bui"));
    }

    #[test]
    fn other_texts_are_no_ids() {
        let long = "t".repeat(65);
        for task in ["", "a/b", "a b", "é", long.as_str()] {
            assert!(LeaseId::new(0, task).is_err(), "{task}");
        }
        for text in [
            "", "u1/x", "x1/x/00", "u/x/00", "u1//00", "u1/x/~", "u1/a/b/c", "u1/x/é",
        ] {
            assert!(LeaseHandle::of_either(text).is_none(), "{text}");
        }
    }
}
