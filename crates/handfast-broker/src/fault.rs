//! What a refusal or a failure looks like to a client.
//!
//! Two texts: `why` is for the client, and holds no path of the host, no link's target and no
//! lease id. What is for the broker's own people goes to standard error where it happens.

use std::fmt;

use handfast::{Effect, ErrorKind};
use serde_json::{Map, Value};

/// The errors of `io.handfast.Broker`, and those of every varlink service.
#[derive(Clone, Copy, Debug, Eq, PartialEq, Hash)]
#[non_exhaustive]
pub enum Code {
    /// The lease, the policy or a protected pattern says no.
    Denied,
    /// There is no such lease, or it is not the caller's. Both look alike.
    NoSuchLease,
    /// The lease ran out.
    LeaseExpired,
    /// The lease was taken away, given back, or its holder is gone.
    LeaseRevoked,
    /// The object is not the one, or not in the state, that was seen.
    Stale,
    /// A limit of this broker: connections, leases, drafts, sizes.
    Limit,
    /// A quota of the policy, or the disk, is used up.
    Quota,
    /// A file operation failed; `kind` says how.
    Failed,
    /// The lease store or the log cannot be written. Nothing was done.
    Unavailable,
    /// Parameters that cannot be meant.
    InvalidParameter,
    /// No such method.
    MethodNotFound,
    /// No such interface.
    InterfaceNotFound,
    /// The method answers in parts and must be called with `more`.
    ExpectedMore,
    /// An error that the other side named and this one does not know.
    Unknown,
}

impl Code {
    const ALL: [Self; 13] = [
        Self::Denied,
        Self::NoSuchLease,
        Self::LeaseExpired,
        Self::LeaseRevoked,
        Self::Stale,
        Self::Limit,
        Self::Quota,
        Self::Failed,
        Self::Unavailable,
        Self::InvalidParameter,
        Self::MethodNotFound,
        Self::InterfaceNotFound,
        Self::ExpectedMore,
    ];

    /// The name on the wire.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Denied => "io.handfast.Broker.Denied",
            Self::NoSuchLease => "io.handfast.Broker.NoSuchLease",
            Self::LeaseExpired => "io.handfast.Broker.LeaseExpired",
            Self::LeaseRevoked => "io.handfast.Broker.LeaseRevoked",
            Self::Stale => "io.handfast.Broker.Stale",
            Self::Limit => "io.handfast.Broker.Limit",
            Self::Quota => "io.handfast.Broker.Quota",
            Self::Failed => "io.handfast.Broker.Failed",
            Self::Unavailable => "io.handfast.Broker.Unavailable",
            Self::InvalidParameter => "org.varlink.service.InvalidParameter",
            Self::MethodNotFound => "org.varlink.service.MethodNotFound",
            Self::InterfaceNotFound => "org.varlink.service.InterfaceNotFound",
            Self::ExpectedMore => "org.varlink.service.ExpectedMore",
            Self::Unknown => "unknown",
        }
    }

    /// The code of a name.
    #[must_use]
    pub fn from_name(name: &str) -> Self {
        let found = Self::ALL.into_iter().find(|code| code.name() == name);
        found.unwrap_or(Self::Unknown)
    }
}

/// An error of the broker.
#[derive(Clone, Debug)]
pub struct Fault {
    code: Code,
    kind: Option<ErrorKind>,
    effect: Effect,
    why: String,
    parameter: Option<String>,
    differs: Option<String>,
}

impl Fault {
    pub(crate) fn new(code: Code, why: impl Into<String>) -> Self {
        Self {
            code,
            kind: None,
            effect: Effect::None,
            why: why.into(),
            parameter: None,
            differs: None,
        }
    }

    pub(crate) fn denied(why: impl Into<String>) -> Self {
        Self::new(Code::Denied, why).of_kind(ErrorKind::Denied)
    }

    pub(crate) fn parameter(name: &str, why: impl fmt::Display) -> Self {
        let mut fault = Self::new(Code::InvalidParameter, format!("`{name}`: {why}"));
        fault.parameter = Some(name.to_owned());
        fault
    }

    pub(crate) fn of_kind(mut self, kind: ErrorKind) -> Self {
        self.kind = Some(kind);
        self
    }

    pub(crate) fn with_code(mut self, code: Code) -> Self {
        self.code = code;
        self
    }

    pub(crate) fn with_why(mut self, why: String) -> Self {
        self.why = why;
        self
    }

    pub(crate) fn differing(mut self, what: impl Into<String>) -> Self {
        self.differs = Some(what.into());
        self
    }

    /// What went wrong, for programs.
    #[must_use]
    pub fn code(&self) -> Code {
        self.code
    }

    /// How a file operation failed, where one did.
    #[must_use]
    pub fn kind(&self) -> Option<ErrorKind> {
        self.kind
    }

    /// Whether anything was changed.
    #[must_use]
    pub fn effect(&self) -> Effect {
        self.effect
    }

    /// Why, in words.
    #[must_use]
    pub fn why(&self) -> &str {
        &self.why
    }

    /// Of `Stale`: what differs from the version that was presented.
    #[must_use]
    pub fn differs(&self) -> Option<&str> {
        self.differs.as_deref()
    }

    /// The kind for the log; a refusal by the broker itself is `Denied` there.
    pub(crate) fn log_kind(&self) -> ErrorKind {
        self.kind.unwrap_or(match self.code {
            Code::Stale => ErrorKind::Stale,
            Code::Limit => ErrorKind::Limit,
            Code::Quota => ErrorKind::Quota,
            Code::InvalidParameter => ErrorKind::Invalid,
            Code::Failed | Code::Unavailable => ErrorKind::Io,
            _ => ErrorKind::Denied,
        })
    }

    /// The `parameters` on the wire.
    pub(crate) fn parameters(&self) -> Value {
        let mut map = Map::new();
        let mut put = |key: &str, value: &str| {
            map.insert(key.to_owned(), Value::from(value));
        };
        match self.code {
            Code::InvalidParameter => put("parameter", self.parameter.as_deref().unwrap_or("")),
            Code::MethodNotFound => put("method", &self.why),
            Code::InterfaceNotFound => put("interface", &self.why),
            Code::ExpectedMore => {}
            _ => {
                if let Some(kind) = self.kind {
                    put("kind", kind.name());
                }
                put("why", &self.why);
                if self.effect != Effect::None {
                    put("effect", self.effect.name());
                }
                if let Some(differs) = &self.differs {
                    put("differs", differs);
                }
            }
        }
        Value::Object(map)
    }

    /// Reads an error reply.
    pub(crate) fn from_wire(name: &str, parameters: &Value) -> Self {
        let text = |key: &str| parameters.get(key).and_then(Value::as_str);
        let code = Code::from_name(name);
        let mut why = text("why").unwrap_or_default().to_owned();
        if why.is_empty() {
            let about = ["parameter", "method", "interface"]
                .into_iter()
                .find_map(text);
            why = match about {
                Some(about) => format!("{name}: `{}`", handfast::escape(about.as_bytes())),
                None => handfast::escape(name.as_bytes()),
            };
        }
        let mut fault = Self::new(code, why);
        fault.kind = text("kind").and_then(|name| {
            ErrorKind::ALL
                .iter()
                .copied()
                .find(|kind| kind.name() == name)
        });
        fault.effect = match text("effect") {
            Some("visible") => Effect::Visible,
            Some("unknown") => Effect::Unknown,
            _ => Effect::None,
        };
        fault.differs = text("differs").map(str::to_owned);
        fault
    }
}

impl From<handfast_session::Error> for Fault {
    fn from(error: handfast_session::Error) -> Self {
        let code = match error.kind() {
            ErrorKind::Denied => Code::Denied,
            ErrorKind::Stale => Code::Stale,
            ErrorKind::Quota => Code::Quota,
            _ => Code::Failed,
        };
        let mut fault = Self::new(code, error.to_string()).of_kind(error.kind());
        fault.effect = error.effect();
        if code == Code::Stale {
            fault.differs = Some(error.detail());
        }
        fault
    }
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.why)
    }
}

impl std::error::Error for Fault {}
