//! What a token is narrowed by, in builds with tokens and without.

/// What a token shall not be good for any more.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Narrowing {
    /// Only what lies at or below one of these paths; all if there are none.
    pub paths: Vec<String>,
    /// Only reading.
    pub read_only: bool,
    /// Only for so many seconds from now, by the wall clock.
    pub seconds: Option<u64>,
    /// Only for processes of this user.
    pub uid: Option<u32>,
    /// A caveat in the token's own language: `check if operation("open")`.
    pub check: Option<String>,
}
