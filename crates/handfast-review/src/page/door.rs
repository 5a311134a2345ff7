//! Who may come in: the right address, our own origin, the token once, then the cookie.

use std::cell::RefCell;

use hyper::HeaderMap;
use hyper::Method;
use hyper::header::{COOKIE, HOST, HeaderName, ORIGIN};

use crate::protocol::Hello;

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

pub(super) struct Door {
    host: String,
    origin: String,
    cookie: String,
    /// What every path begins with, but for the entrance.
    path: String,
    /// Gone once it was used.
    token: RefCell<Option<String>>,
}

/// Why a request is turned away before anything is looked at.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Refusal {
    /// The name of another host: a page elsewhere made the browser believe that it leads here.
    Host,
    /// Another page asks.
    Origin,
}

impl Door {
    pub(super) fn new(hello: &Hello) -> Self {
        Self {
            origin: format!("http://{}", hello.host),
            host: hello.host.clone(),
            cookie: hello.cookie.clone(),
            path: format!("/{}", hello.path),
            token: RefCell::new(Some(hello.token.clone())),
        }
    }

    /// Where a request comes from, by what a browser says of it.
    pub(super) fn check(&self, method: &Method, headers: &HeaderMap) -> Result<(), Refusal> {
        let mut hosts = headers.get_all(HOST).iter();
        let host = hosts.next().filter(|_| hosts.next().is_none());
        if host.is_none_or(|host| host.as_bytes() != self.host.as_bytes()) {
            return Err(Refusal::Host);
        }
        let origin = headers.get(ORIGIN).map(|origin| origin.as_bytes());
        let is_ours = match origin {
            Some(origin) => origin == self.origin.as_bytes(),
            // Browsers name the origin of everything that changes something.
            None => *method != Method::POST,
        };
        // Another port of this machine is the same site, and still another page.
        let site = headers.get(FETCH_SITE).map(|site| site.as_bytes());
        let is_near = matches!(site, None | Some(b"same-origin" | b"none"));
        match is_ours && is_near {
            true => Ok(()),
            false => Err(Refusal::Origin),
        }
    }

    /// Whether the browser has the cookie.
    pub(super) fn knows(&self, headers: &HeaderMap) -> bool {
        let sent = headers
            .get_all(COOKIE)
            .iter()
            .filter_map(|header| header.to_str().ok());
        let mut pairs = sent.flat_map(|header| header.split(';'));
        pairs.any(|pair| {
            let value = pair.trim().strip_prefix("handfast-review=");
            value.is_some_and(|value| is_same(value, &self.cookie))
        })
    }

    /// What every path begins with, but for the entrance.
    pub(super) fn path(&self) -> &str {
        &self.path
    }

    /// The path below ours; nothing for a path that is not.
    pub(super) fn below<'p>(&self, path: &'p str) -> Option<&'p str> {
        let (first, rest) = path.split_at_checked(self.path.len())?;
        (is_same(first, &self.path) && rest.starts_with('/')).then_some(rest)
    }

    /// Takes the token, once, and gives the cookie for it.
    pub(super) fn enter(&self, token: &str) -> Option<String> {
        let mut known = self.token.borrow_mut();
        if !known.as_ref().is_some_and(|known| is_same(known, token)) {
            return None;
        }
        *known = None;
        Some(format!(
            "handfast-review={}; HttpOnly; SameSite=Strict; Path={}/",
            self.cookie, self.path
        ))
    }
}

/// Compares without saying by its time how much was right.
fn is_same(one: &str, other: &str) -> bool {
    let (one, other) = (one.as_bytes(), other.as_bytes());
    let differing = one.iter().zip(other).fold(0, |all, (a, b)| all | (a ^ b));
    one.len() == other.len() && std::hint::black_box(differing) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn door() -> Door {
        Door::new(&Hello {
            token: "once".to_owned(),
            cookie: "secret".to_owned(),
            path: "p4th".to_owned(),
            host: "127.1.2.3:4".to_owned(),
            only: None,
            limits: crate::protocol::Limits::default(),
        })
    }

    type Pairs = &'static [(&'static str, &'static str)];

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            headers.append(*name, value.parse().unwrap());
        }
        headers
    }

    #[test]
    fn only_our_own_page_comes_in() {
        const OURS: (&str, &str) = ("host", "127.1.2.3:4");
        let door = door();
        let cases: &[(Method, Pairs, Result<(), Refusal>)] = &[
            (Method::GET, &[OURS], Ok(())),
            (Method::GET, &[], Err(Refusal::Host)),
            (Method::GET, &[("host", "evil:4")], Err(Refusal::Host)),
            (Method::GET, &[("host", "127.0.0.1:4")], Err(Refusal::Host)),
            (Method::GET, &[OURS, ("host", "evil")], Err(Refusal::Host)),
            (Method::POST, &[OURS], Err(Refusal::Origin)),
            (
                Method::POST,
                &[OURS, ("origin", "null")],
                Err(Refusal::Origin),
            ),
            (
                Method::POST,
                &[OURS, ("origin", "http://127.1.2.3:5")],
                Err(Refusal::Origin),
            ),
            (
                Method::POST,
                &[OURS, ("origin", "http://127.1.2.3:4")],
                Ok(()),
            ),
            (
                Method::POST,
                &[
                    OURS,
                    ("origin", "http://127.1.2.3:4"),
                    ("sec-fetch-site", "same-site"),
                ],
                Err(Refusal::Origin),
            ),
            (
                Method::GET,
                &[OURS, ("sec-fetch-site", "cross-site")],
                Err(Refusal::Origin),
            ),
            (Method::GET, &[OURS, ("sec-fetch-site", "none")], Ok(())),
        ];
        for (method, sent, wanted) in cases {
            assert_eq!(door.check(method, &headers(sent)), *wanted, "{sent:?}");
        }
    }

    #[test]
    fn the_token_is_good_once_and_the_cookie_for_as_long() {
        let door = door();
        assert!(door.enter("").is_none() && door.enter("onc").is_none());
        let set = door.enter("once").unwrap();
        assert!(
            set.contains("HttpOnly; SameSite=Strict; Path=/p4th/"),
            "{set}"
        );
        assert_eq!(door.below("/p4th/s/x"), Some("/s/x"));
        for other in ["/p4th", "/p4thx/", "/P4th/", "/s/x", "/", ""] {
            assert_eq!(door.below(other), None, "{other}");
        }
        assert!(door.enter("once").is_none());
        assert!(door.knows(&headers(&[("cookie", "a=b; handfast-review=secret")])));
        for wrong in ["handfast-review=secre", "handfast-review=", "x=secret", ""] {
            assert!(!door.knows(&headers(&[("cookie", wrong)])), "{wrong}");
        }
    }
}
