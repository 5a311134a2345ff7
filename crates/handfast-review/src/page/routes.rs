//! Which address shows what.

use std::cell::Cell;
use std::io;
use std::rc::Rc;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http_body_util::channel::Channel;
use http_body_util::{BodyExt, Either, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper::header::{
    CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE, HeaderName, HeaderValue, LOCATION,
    REFERRER_POLICY, SET_COOKIE, X_CONTENT_TYPE_OPTIONS,
};
use hyper::{Method, Request, Response, StatusCode};
use tokio::net::UnixStream;
use tokio::sync::oneshot;

use super::door::{Door, Refusal};
use super::form::Fields;
use super::link::Link;
use super::news::News;
use super::views::{self, PageFrame};
use crate::protocol::{self, Hello, KeeperReply, Pick, Topic, TurnedAway, Which, is_told};

/// A browser has this long to send a form.
const FORM_TIMEOUT: Duration = Duration::from_secs(15);
/// The longest form.
const MAX_FORM: usize = 1 << 20;

/// What is sent: whole, or line by line.
type AnswerBody = Either<Full<Bytes>, Channel<Bytes>>;
type HttpResponse = Response<AnswerBody>;

pub(super) struct Page {
    door: Door,
    link: Rc<Link>,
    news: Rc<News>,
    only: Option<String>,
    policy: HeaderValue,
    /// So many requests were turned away.
    turned_away: Cell<u64>,
}

impl Page {
    pub(super) fn new(hello: Hello, keeper: UnixStream) -> Self {
        let news = Rc::new(News::new(hello.limits));
        Self {
            door: Door::new(&hello),
            link: Rc::new(Link::new(keeper, Rc::clone(&news))),
            news,
            only: hello.only,
            policy: policy(),
            turned_away: Cell::new(0),
        }
    }

    /// Answers a request; what goes wrong is an answer too. An answer that goes on has something that ends
    /// with it.
    pub(super) async fn answer(
        &self,
        request: Request<Incoming>,
    ) -> (HttpResponse, Option<oneshot::Receiver<()>>) {
        let mut ended = None;
        let mut answer = match self.door.check(request.method(), request.headers()) {
            Ok(()) => self.inside(request, &mut ended).await,
            Err(Refusal::Host) => {
                self.tell_turned_away(TurnedAway::Host);
                text(
                    StatusCode::MISDIRECTED_REQUEST,
                    "This is not the address of the page.",
                )
            }
            Err(Refusal::Origin) => {
                self.tell_turned_away(TurnedAway::Origin);
                text(
                    StatusCode::FORBIDDEN,
                    "Another page asked. Nothing was done.",
                )
            }
        };
        let headers = answer.headers_mut();
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
        headers.insert(X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
        // Without a referrer browsers would call the origin of a form `null`.
        headers.insert(REFERRER_POLICY, HeaderValue::from_static("same-origin"));
        for name in ["cross-origin-opener-policy", "cross-origin-resource-policy"] {
            let value = HeaderValue::from_static("same-origin");
            headers.insert(HeaderName::from_static(name), value);
        }
        headers
            .entry(CONTENT_SECURITY_POLICY)
            .or_insert(self.policy.clone());
        (answer, ended)
    }

    async fn inside(
        &self,
        request: Request<Incoming>,
        ended: &mut Option<oneshot::Receiver<()>>,
    ) -> HttpResponse {
        let asked = request.uri().path().to_owned();
        let query = Fields::parse(request.uri().query().unwrap_or_default());
        let is_known = self.door.knows(request.headers());
        let path = self.door.below(&asked).filter(|_| is_known);
        match (request.method(), asked.as_str(), path) {
            (&Method::POST, "/enter", _) => self.enter(request).await,
            // Browsers ask for it by themselves.
            (&Method::GET, "/favicon.ico", _) => {
                raw(StatusCode::NO_CONTENT, "text/plain", Vec::new())
            }
            (&Method::GET | &Method::HEAD, "/", _) => html(StatusCode::OK, views::entry()),
            (_, _, None) => {
                self.tell_turned_away(TurnedAway::Cookie);
                text(
                    StatusCode::FORBIDDEN,
                    "Open the address that `handfast review` printed, with the part after `#`.",
                )
            }
            (&Method::GET, _, Some("/news")) => self.subscribe(&query, ended),
            (&Method::GET | &Method::HEAD, _, Some(path)) => self.show(path, &query).await,
            (&Method::POST, _, Some(path)) => match body(request).await {
                Some(form) => self.act(path, &Fields::parse(&form)).await,
                None => text(StatusCode::PAYLOAD_TOO_LARGE, "The form is too long."),
            },
            _ => text(StatusCode::METHOD_NOT_ALLOWED, "Nothing was done."),
        }
    }

    /// Tells the keeper, without waiting for it.
    fn tell_turned_away(&self, why: TurnedAway) {
        let count = self.turned_away.get() + 1;
        self.turned_away.set(count);
        if is_told(count) {
            let link = Rc::clone(&self.link);
            // A keeper that is gone ends this process.
            tokio::task::spawn_local(link.ask(protocol::Request::TurnedAway { why, count }));
        }
    }

    /// A page whose addresses lie below our path. In our own markup each begins with `="/`; in what
    /// comes from a session nothing does, since quotes are escaped there.
    fn page(&self, status: StatusCode, content: &str) -> HttpResponse {
        let here = format!("=\"{}/", self.door.path());
        html(status, content.replace("=\"/", &here))
    }

    async fn enter(&self, request: Request<Incoming>) -> HttpResponse {
        let token = body(request).await.unwrap_or_default();
        let Some(cookie) = self.door.enter(token.trim()) else {
            self.tell_turned_away(TurnedAway::Token);
            return text(
                StatusCode::FORBIDDEN,
                "This address was used already, or is not complete. Start `handfast review` again for a new one.",
            );
        };
        // Where the browser goes on from.
        let mut answer = text(StatusCode::OK, &format!("{}/", self.door.path()));
        if let Ok(value) = HeaderValue::from_str(&cookie) {
            answer.headers_mut().insert(SET_COOKIE, value);
        }
        answer
    }

    async fn show(&self, path: &str, query: &Fields) -> HttpResponse {
        let mut parts = path.trim_matches('/').split('/');
        let parts = (parts.next(), parts.next(), parts.next(), parts.next());
        let session = parts.1.unwrap_or_default().to_owned();
        let request = match parts {
            (Some(""), None, ..) => match &self.only {
                Some(only) => return elsewhere(&format!("{}/s/{only}", self.door.path())),
                None => protocol::Request::Sessions,
            },
            (Some("log"), None, ..) => protocol::Request::Timeline,
            (Some("inbox"), None, ..) => protocol::Request::Inbox,
            (Some("leases"), None, ..) => protocol::Request::Leases,
            (Some("s"), Some(_), None, _) => protocol::Request::Changes {
                session,
                skip: query.number("skip"),
            },
            (Some("s"), Some(_), Some("file"), None) => protocol::Request::Change {
                session,
                path: query.text("path"),
                full: query.get("full").is_some(),
                skip: query.number("skip"),
            },
            (Some("s"), Some(_), Some("image"), None) => protocol::Request::Image {
                session,
                path: query.text("path"),
                side: match query.get("side") {
                    Some("before") => Which::Before,
                    _ => Which::After,
                },
                digest: query.text("digest"),
            },
            _ => return text(StatusCode::NOT_FOUND, "There is nothing at this address."),
        };
        self.ask(request, query).await
    }

    /// An answer that goes on: a line whenever what the page is about has changed.
    fn subscribe(&self, query: &Fields, ended: &mut Option<oneshot::Receiver<()>>) -> HttpResponse {
        let session = query.text("session");
        let topic = match (query.get("about"), query.get("path")) {
            (Some("log"), _) => Topic::Timeline,
            (Some("inbox"), _) => Topic::Inbox,
            (Some("leases"), _) => Topic::Leases,
            (Some("changes"), _) => Topic::Changes {
                session,
                skip: query.number("skip"),
            },
            (Some("change"), Some(path)) => Topic::Change {
                session,
                path: path.to_owned(),
            },
            (Some("sessions"), _) => Topic::Sessions,
            _ => return text(StatusCode::NOT_FOUND, "There is nothing at this address."),
        };
        let subscription = self.news.subscribe(&self.link, &topic);
        *ended = Some(subscription.ended);
        let mut answer = Response::new(Either::Right(subscription.body));
        let kind = HeaderValue::from_static("text/event-stream");
        answer.headers_mut().insert(CONTENT_TYPE, kind);
        answer
    }

    async fn act(&self, path: &str, form: &Fields) -> HttpResponse {
        let session = form.text("session");
        let request = match path {
            "/plan" => {
                let pick = |value: &str| {
                    let (seal, path) = value.split_once(' ')?;
                    Some(Pick {
                        path: path.to_owned(),
                        seal: seal.to_owned(),
                    })
                };
                protocol::Request::Plan {
                    session,
                    paths: form.all("accept").filter_map(pick).collect(),
                    hunks: form.all("hunk").map(str::to_owned).collect(),
                    all: form.get("all").is_some(),
                }
            }
            "/commit" => protocol::Request::Commit {
                plan: form.text("plan"),
                message: form.lines("message"),
            },
            "/answer" => protocol::Request::Answer {
                session,
                id: form.text("id"),
                digest: form.text("digest"),
                // Whatever is not a yes is none.
                yes: form.get("yes") == Some("1"),
                scope: form.text("scope"),
            },
            "/take-back" => protocol::Request::TakeBack {
                session,
                id: form.text("id"),
            },
            "/revoke" => protocol::Request::Revoke {
                seal: form.text("seal"),
            },
            "/undo" => protocol::Request::Undo {
                session,
                seal: form.text("seal"),
            },
            "/snapshot" => protocol::Request::Snapshot {
                session,
                label: form.text("label"),
            },
            "/go-back" => protocol::Request::GoBack {
                session,
                label: form.text("label"),
                skip: form.number("skip"),
                seal: form.text("seal"),
            },
            "/reject" => protocol::Request::Reject {
                session,
                pick: Pick {
                    path: form.text("path"),
                    seal: form.text("seal"),
                },
                hunk: Some(form.text("hunk")).filter(|hunk| !hunk.is_empty()),
                text: form.lines("text"),
            },
            _ => return text(StatusCode::NOT_FOUND, "There is nothing at this address."),
        };
        self.ask(request, form).await
    }

    async fn ask(&self, request: protocol::Request, query: &Fields) -> HttpResponse {
        let mut session = session_of(&request, query);
        if session.is_empty() {
            session = self.only.clone().unwrap_or_default();
        }
        let frame = PageFrame {
            only: self.only.is_some(),
            is_split: query.get("view") == Some("split"),
            session: &session,
        };
        match Rc::clone(&self.link).ask(request).await {
            Ok(reply) => self.render(&frame, reply),
            Err(error) if error.kind() == io::ErrorKind::InvalidInput => {
                text(StatusCode::PAYLOAD_TOO_LARGE, "The form is too long.")
            }
            Err(error) => gone(&error),
        }
    }

    fn render(&self, frame: &PageFrame<'_>, reply: KeeperReply) -> HttpResponse {
        match reply {
            KeeperReply::Sessions(sessions, stamp) => {
                self.page(StatusCode::OK, &views::sessions(frame, &sessions, &stamp))
            }
            KeeperReply::Changes(listing) => {
                self.page(StatusCode::OK, &views::changes(frame, &listing))
            }
            KeeperReply::Change(file) => self.page(StatusCode::OK, &views::file(frame, &file)),
            KeeperReply::Plan(plan) => self.page(StatusCode::OK, &views::plan(frame, &plan)),
            KeeperReply::Timeline(timeline) => {
                self.page(StatusCode::OK, &views::timeline(frame, &timeline))
            }
            KeeperReply::Inbox(inbox) => self.page(StatusCode::OK, &views::inbox(frame, &inbox)),
            KeeperReply::Leases(leases) => {
                self.page(StatusCode::OK, &views::leases(frame, &leases))
            }
            KeeperReply::Done(done) => {
                let status = match done.conflicts.is_empty() {
                    true => StatusCode::OK,
                    false => StatusCode::CONFLICT,
                };
                self.page(status, &views::done(frame, &done))
            }
            KeeperReply::Watching | KeeperReply::Noted => text(StatusCode::OK, ""),
            KeeperReply::Image(kind, content) => {
                let Ok(content) = STANDARD.decode(content) else {
                    return text(StatusCode::INTERNAL_SERVER_ERROR, "No image.");
                };
                let mut answer = raw(StatusCode::OK, &kind, content);
                // Should it be opened by itself, nothing in it runs.
                let policy = HeaderValue::from_static("default-src 'none'; sandbox");
                answer.headers_mut().insert(CONTENT_SECURITY_POLICY, policy);
                answer
            }
            KeeperReply::Refused { kind, why } => {
                let status = match kind.as_str() {
                    "Stale" => StatusCode::CONFLICT,
                    "NotFound" => StatusCode::NOT_FOUND,
                    "Denied" => StatusCode::FORBIDDEN,
                    "Busy" => StatusCode::SERVICE_UNAVAILABLE,
                    _ => StatusCode::UNPROCESSABLE_ENTITY,
                };
                self.page(status, &views::refused(frame, &why))
            }
        }
    }
}

fn session_of(request: &protocol::Request, query: &Fields) -> String {
    match request {
        protocol::Request::Changes { session, .. }
        | protocol::Request::Change { session, .. }
        | protocol::Request::Plan { session, .. }
        | protocol::Request::Undo { session, .. }
        | protocol::Request::Snapshot { session, .. }
        | protocol::Request::GoBack { session, .. }
        | protocol::Request::Reject { session, .. } => session.clone(),
        _ => query.text("session"),
    }
}

/// The script and the style of ours, by their digests, and nothing else.
fn policy() -> HeaderValue {
    let script = views::digest_of(views::SCRIPT);
    let style = views::digest_of(views::STYLE);
    let policy = format!(
        "default-src 'none'; script-src '{script}'; style-src '{style}'; img-src 'self'; \
         connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    );
    // A digest in base64 is always good for a header; without one nothing runs at all.
    HeaderValue::from_str(&policy)
        .unwrap_or_else(|_| HeaderValue::from_static("default-src 'none'"))
}

async fn body(request: Request<Incoming>) -> Option<String> {
    let body = Limited::new(request.into_body(), MAX_FORM);
    // A form that never ends would keep a seat for ever.
    let read = tokio::time::timeout(FORM_TIMEOUT, body.collect()).await;
    let bytes = read.ok()?.ok()?.to_bytes();
    Some(String::from_utf8_lossy(&bytes).into_owned())
}

fn raw(status: StatusCode, kind: &str, content: Vec<u8>) -> HttpResponse {
    let mut answer = Response::new(Either::Left(Full::new(Bytes::from(content))));
    *answer.status_mut() = status;
    if let Ok(kind) = HeaderValue::from_str(kind) {
        answer.headers_mut().insert(CONTENT_TYPE, kind);
    }
    answer
}

fn html(status: StatusCode, content: String) -> HttpResponse {
    raw(status, "text/html; charset=utf-8", content.into_bytes())
}

fn text(status: StatusCode, content: &str) -> HttpResponse {
    raw(
        status,
        "text/plain; charset=utf-8",
        content.as_bytes().to_vec(),
    )
}

fn elsewhere(path: &str) -> HttpResponse {
    let mut answer = text(StatusCode::SEE_OTHER, "");
    if let Ok(path) = HeaderValue::from_str(path) {
        answer.headers_mut().insert(LOCATION, path);
    }
    answer
}

fn gone(error: &io::Error) -> HttpResponse {
    let words = format!("The process that looks at the session is gone: {error}");
    text(StatusCode::BAD_GATEWAY, &words)
}
