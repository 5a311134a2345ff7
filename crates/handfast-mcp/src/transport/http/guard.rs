//! Who may ask at all.

use super::head::Head;
use super::{HttpReply, Tokens};

/// Knows the tokens.
pub(super) struct Guard {
    pub(super) tokens: Tokens,
}

impl Guard {
    /// Who asks; or why the request is refused.
    pub(super) fn check(&self, head: &Head) -> Result<&str, HttpReply> {
        let host = head.host.as_deref().unwrap_or_default();
        let own_origin = head.origin.as_deref().is_none_or(|origin| {
            let rest = origin
                .strip_prefix("http://")
                .or_else(|| origin.strip_prefix("https://"));
            rest.is_some_and(is_loopback)
        });
        if !is_loopback(host) || !own_origin {
            return Err(HttpReply::plain(403, "Forbidden"));
        }
        let given = head
            .authorization
            .as_deref()
            .and_then(|value| value.split_once(' '))
            .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
            .map(|(_, token)| token.trim());
        given
            .and_then(|given| self.tokens.caller(given))
            .ok_or_else(|| unauthorized(given.is_some()))
    }
}

/// A refusal that says what is missing, for programs and for people.
fn unauthorized(has_token: bool) -> HttpReply {
    let (challenge, why) = match has_token {
        true => (
            "Bearer realm=\"handfast\", error=\"invalid_token\"",
            "the token is not one of this server's",
        ),
        false => ("Bearer realm=\"handfast\"", "a token is needed"),
    };
    let body = serde_json::json!({"error": "unauthorized", "error_description":
        format!("{why}; send Authorization: Bearer TOKEN, as the server said at its start or as its token file says")});
    let mut reply = HttpReply::json(401, "Unauthorized", body.to_string().into_bytes());
    reply
        .headers
        .push(("WWW-Authenticate", challenge.to_owned()));
    reply
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

#[cfg(test)]
mod tests {
    use super::*;

    const SECRET: &str = "0123456789abcdef0123456789abcdef";

    fn status(host: &str, origin: Option<&str>, authorization: Option<&str>) -> Option<u16> {
        let tokens = Tokens::parse(&format!("ana {SECRET}")).unwrap();
        let guard = Guard { tokens };
        let head = Head {
            host: Some(host.to_owned()),
            origin: origin.map(str::to_owned),
            authorization: authorization.map(str::to_owned),
            ..Head::default()
        };
        guard.check(&head).err().map(|reply| reply.status)
    }

    #[test]
    fn only_loopback_names_and_the_token_pass() {
        let good = format!("Bearer {SECRET}");
        let good = Some(good.as_str());
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
            Some(SECRET),
            Some(&format!("Basic {SECRET}")),
            Some(&format!("Bearer {}", &SECRET[1..])),
            Some(&format!("Bearer {SECRET}s")),
        ] {
            assert_eq!(status("localhost", None, bad), Some(401), "{bad:?}");
        }
    }
}
