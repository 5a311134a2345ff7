//! What a broker says, as the command tells it.

use handfast::{Effect, ErrorKind, escape};
use handfast_broker::{ClientError, Code, LeaseInfo};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::json::{Json, JsonObject};
use crate::width::duration;

/// The broker said no, or could not be asked: ``cannot <deed> `path`: …``.
pub(crate) fn failed(deed: &str, path: &[u8], error: &ClientError) -> Box<Failure> {
    let ClientError::Fault(fault) = error else {
        let deed = match path.is_empty() {
            true => deed.to_owned(),
            false => format!("{deed} `{}`", escape(path)),
        };
        return broken(&deed, &error.to_string());
    };
    let kind = fault.kind().unwrap_or(match fault.code() {
        Code::Stale => ErrorKind::Stale,
        Code::Limit => ErrorKind::Limit,
        Code::Quota => ErrorKind::Quota,
        Code::InvalidParameter => ErrorKind::Invalid,
        Code::Unavailable | Code::Failed => ErrorKind::Io,
        _ => ErrorKind::Denied,
    });
    let exit = match fault.code() {
        Code::InvalidParameter | Code::MethodNotFound | Code::InterfaceNotFound => Exit::Usage,
        Code::Unavailable => Exit::CannotTell,
        _ if kind == ErrorKind::Unsupported => Exit::CannotTell,
        _ => Exit::No,
    };
    let hint = match fault.code() {
        Code::NoSuchLease | Code::LeaseExpired | Code::LeaseRevoked => {
            Some("`handfast lease acquire` gives another")
        }
        Code::InvalidParameter if fault.why().contains("`paths`") => {
            Some("paths are patterns below the served directory, such as `src/**`, without `..`")
        }
        Code::Stale => Some("look at the file again, and begin again"),
        // Chooses words only; the holder of a token cannot look.
        Code::Denied if fault.why().starts_with("the lease does not") => {
            Some("`handfast lease lookup` shows what it covers")
        }
        _ => None,
    };
    let shown = escape(path);
    let sentence = if path.is_empty() {
        format!("cannot {deed}")
    } else {
        format!("cannot {deed} `{shown}`")
    };
    let failure = Failure {
        kind,
        verb: "lease",
        sentence,
        path: shown,
        destination: None,
        detail: escape(reason(fault.code(), fault.why()).as_bytes()),
        effect: fault.effect(),
        exit,
        hints: Vec::new(),
    };
    Box::new(failure.with_hints(hint.map(str::to_owned)))
}

/// Why, without the sentence that says what could not be done: that one is before it already.
fn reason(code: Code, why: &str) -> String {
    if let Some(argument) = why.strip_prefix("org.varlink.service.InvalidParameter: ") {
        return format!("the broker does not accept this argument: {argument}");
    }
    match why.split_once("`: ") {
        Some((start, reason)) if code == Code::Failed && start.starts_with("cannot ") => {
            reason.to_owned()
        }
        _ => why.to_owned(),
    }
}

/// The broker could not be asked, or something here failed.
pub(crate) fn broken(deed: &str, why: &str) -> Box<Failure> {
    Box::new(Failure {
        kind: ErrorKind::Io,
        verb: "lease",
        sentence: format!("cannot {deed}"),
        path: String::new(),
        destination: None,
        detail: escape(why.as_bytes()),
        effect: Effect::None,
        exit: Exit::CannotTell,
        hints: Vec::new(),
    })
}

/// A lease for programs.
pub(crate) fn object(lease: &LeaseInfo) -> JsonObject {
    let list = |words: &[String]| Json::from_iter(words.iter().map(String::as_str));
    JsonObject::new()
        .with("handle", lease.handle.as_str())
        .with("parent", lease.parent.clone())
        .with("uid", lease.uid)
        .with("bind", lease.bind.as_str())
        .with("pid", lease.pid)
        .with("paths", list(&lease.paths))
        .with("verbs", list(&lease.verbs))
        .with("purpose", lease.purpose.clone())
        .with("issue_time", lease.issue_time.as_str())
        .with("expire_time", lease.expire_time.as_str())
        .with("last_renewal", lease.last_renewal.clone())
        .with("ttl", lease.ttl)
        .with("renewable", lease.renewable)
        .with(
            "max_opens",
            lease.max_opens().map(|count| count.to_string()),
        )
        .with("opens", lease.opens().to_string())
        .with("outstanding", lease.outstanding().to_string())
}

/// A lease for people, one fact a line.
pub(super) fn lines(lease: &LeaseInfo) -> Vec<String> {
    let safe = |text: &str| escape(text.as_bytes());
    let mut lines = vec![
        format!("handle       {}", safe(&lease.handle)),
        format!("verbs        {}", safe(&lease.verbs.join(","))),
        format!("paths        {}", safe(&lease.paths.join(" "))),
        format!("bind         {}", bound(lease)),
        format!("issued       {}", safe(&second(&lease.issue_time))),
        format!(
            "expires      {} (in {})",
            safe(&second(&lease.expire_time)),
            duration(lease.ttl)
        ),
        format!("renewable    {}", lease.renewable),
    ];
    if let Some(time) = &lease.last_renewal {
        lines.push(format!("renewed      {}", safe(&second(time))));
    }
    if let Some(purpose) = &lease.purpose {
        lines.push(format!("purpose      {}", safe(purpose)));
    }
    if let Some(parent) = &lease.parent {
        lines.push(format!("parent       {}", safe(parent)));
    }
    let most = lease
        .max_opens()
        .map_or_else(String::new, |most| format!(" of {most}"));
    lines.push(format!("opens        {}{most}", lease.opens()));
    lines.push(format!("outstanding  {}", lease.outstanding()));
    lines
}

/// A time to the second; programs get it whole.
fn second(time: &str) -> String {
    match time.split_once('.') {
        Some((second, _)) => format!("{second}Z"),
        None => time.to_owned(),
    }
}

pub(crate) fn bound(lease: &LeaseInfo) -> String {
    match lease.pid {
        Some(pid) => format!("{} {pid}", escape(lease.bind.as_bytes())),
        None => escape(lease.bind.as_bytes()),
    }
}

/// A duration in whole seconds, at least one.
pub(super) fn seconds(text: &str) -> Result<u64, String> {
    let found = handfast_ledger::time::duration(text)?.as_secs();
    match found {
        0 => Err("a lease lasts at least a second".to_owned()),
        found => Ok(found),
    }
}

#[cfg(test)]
mod tests {
    use handfast_broker::Code;

    use super::{reason, second, seconds};

    #[test]
    fn nothing_is_said_twice() {
        let why = "cannot open `/a`: nothing is there";
        assert_eq!(reason(Code::Failed, why), "nothing is there");
        assert_eq!(reason(Code::Denied, why), why);
        assert_eq!(
            second("2026-11-16T10:26:28.978614058Z"),
            "2026-11-16T10:26:28Z"
        );
    }

    #[test]
    fn times_have_units() {
        for (text, expected) in [
            ("30s", 30),
            ("10m", 600),
            ("1h", 3600),
            ("2d", 172_800),
            ("7", 7),
        ] {
            assert_eq!(seconds(text), Ok(expected));
        }
        for bad in ["", "m", "-1s", "1mo", "0", "500ms", "99999999999999999999d"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
    }
}
