//! Who may ask at all.

use std::io;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use super::Reply;
use super::head::Head;

/// Knows the token of this run.
pub(super) struct Guard {
    token: String,
}

impl Guard {
    /// Makes a token.
    pub(super) fn new() -> io::Result<Self> {
        Ok(Self { token: token()? })
    }

    pub(super) fn token(&self) -> &str {
        &self.token
    }

    /// Why a request is refused, if it is.
    pub(super) fn check(&self, head: &Head) -> Option<Reply> {
        let host = head.host.as_deref().unwrap_or_default();
        let own_origin = head.origin.as_deref().is_none_or(|origin| {
            let rest = origin
                .strip_prefix("http://")
                .or_else(|| origin.strip_prefix("https://"));
            rest.is_some_and(is_loopback)
        });
        if !is_loopback(host) || !own_origin {
            return Some(Reply::plain(403, "Forbidden"));
        }
        let given = head
            .authorization
            .as_deref()
            .and_then(|value| value.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map(|(_, token)| token.trim());
        if given.is_some_and(|given| same(given.as_bytes(), self.token.as_bytes())) {
            return None;
        }
        let mut reply = Reply::plain(401, "Unauthorized");
        reply
            .headers
            .push(("WWW-Authenticate", "Bearer".to_owned()));
        Some(reply)
    }
}

/// 32 random bytes as text.
pub(super) fn token() -> io::Result<String> {
    let mut bytes = [0; 32];
    let mut filled = 0;
    while filled < bytes.len() {
        let flags = rustix::rand::GetRandomFlags::empty();
        filled += rustix::rand::getrandom(&mut bytes[filled..], flags)?;
    }
    Ok(URL_SAFE_NO_PAD.encode(bytes))
}

/// `localhost`, `127.0.0.1` or `[::1]`, with or without a port.
fn is_loopback(host: &str) -> bool {
    let name = match host.strip_prefix('[') {
        Some(rest) => match rest.split_once(']') {
            Some((name, port)) if port.is_empty() || is_port(port) => name,
            _ => return false,
        },
        None => match host.find(':') {
            Some(at) if is_port(&host[at..]) => &host[..at],
            Some(_) => return false,
            None => host,
        },
    };
    name.eq_ignore_ascii_case("localhost") || name == "127.0.0.1" || name == "::1"
}

fn is_port(text: &str) -> bool {
    let digits = text.strip_prefix(':').unwrap_or_default();
    !digits.is_empty() && digits.len() <= 5 && digits.bytes().all(|byte| byte.is_ascii_digit())
}

/// Compares in a time that does not tell how much is right.
fn same(one: &[u8], other: &[u8]) -> bool {
    let differing = one
        .iter()
        .zip(other)
        .fold(0, |sum, (a, b)| std::hint::black_box(sum | (a ^ b)));
    one.len() == other.len() && differing == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(host: &str, origin: Option<&str>, authorization: Option<&str>) -> Option<u16> {
        let guard = Guard {
            token: "secret".to_owned(),
        };
        let head = Head {
            host: Some(host.to_owned()),
            origin: origin.map(str::to_owned),
            authorization: authorization.map(str::to_owned),
            ..Head::default()
        };
        guard.check(&head).map(|reply| reply.status)
    }

    #[test]
    fn only_loopback_names_and_the_token_pass() {
        let good = Some("Bearer secret");
        for host in ["localhost", "127.0.0.1:80", "[::1]:9", "LOCALHOST:1"] {
            assert_eq!(status(host, None, good), None, "{host}");
        }
        for host in [
            "",
            "evil.example",
            "127.0.0.1.evil.example",
            "localhost:",
            "localhost:a",
            "[::1]x",
        ] {
            assert_eq!(status(host, None, good), Some(403), "{host}");
        }
        assert_eq!(
            status("localhost", Some("http://localhost:3000"), good),
            None
        );
        for origin in [
            "null",
            "http://evil.example",
            "http://localhost.evil.example",
            "file://",
        ] {
            assert_eq!(
                status("localhost", Some(origin), good),
                Some(403),
                "{origin}"
            );
        }
        for bad in [
            None,
            Some("secret"),
            Some("Basic secret"),
            Some("Bearer secre"),
            Some("Bearer secrets"),
        ] {
            assert_eq!(status("localhost", None, bad), Some(401), "{bad:?}");
        }
    }

    #[test]
    fn tokens_differ() {
        assert_ne!(token().unwrap(), token().unwrap());
    }
}
