//! A session, its page, and a browser of a few lines.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::AsFd;
use std::path::PathBuf;
use std::process::{Command, ExitCode};
use std::sync::atomic::{AtomicU32, Ordering};
use std::thread::JoinHandle;

use handfast_review::keeper::Keeper;
use handfast_review::protocol::Limits;
use handfast_session::{
    Caller, Catalogue, Mode, MountSpec, Protect, Session, SessionOptions, SessionSpec, VirtualPath,
};

/// The other process.
pub(crate) fn be_the_page() -> ExitCode {
    let keeper = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
    let listener = std::io::stdout().as_fd().try_clone_to_owned().unwrap();
    match handfast_review::page::run(keeper, listener) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

pub(crate) struct Place {
    pub(crate) dir: PathBuf,
}

impl Place {
    /// A base with two files, and a session `s` over it.
    pub(crate) fn new() -> Self {
        Self::protected(Protect::new())
    }

    /// As [`Place::new`], under rules.
    pub(crate) fn protected(protect: Protect) -> Self {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let name = format!("handfast-review-{}-{number}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        std::fs::create_dir(&dir).unwrap();
        std::fs::create_dir(dir.join("base")).unwrap();
        let lines: String = (1..=60).map(|line| format!("line {line}\n")).collect();
        std::fs::write(dir.join("base/long.txt"), lines).unwrap();
        std::fs::write(dir.join("base/short.txt"), "old\n").unwrap();
        let place = Self { dir };
        let mount = MountSpec::new(place.dir.join("base"), VirtualPath::root());
        let spec = SessionSpec::new().mount(mount.mode(Mode::Overlay).protect(protect));
        place.catalogue().create("s", &spec).unwrap();
        place
    }

    pub(crate) fn catalogue(&self) -> Catalogue {
        Catalogue::open_ambient(self.dir.join("state")).unwrap()
    }

    pub(crate) fn session(&self) -> Session {
        self.catalogue().open("s", Caller::new("robot")).unwrap()
    }

    pub(crate) fn keeper(&self) -> Keeper {
        let caller = Caller::new("person");
        Keeper::new(self.catalogue(), SessionOptions::new(), caller)
    }

    pub(crate) fn base(&self, name: &str) -> Option<String> {
        std::fs::read_to_string(self.dir.join("base").join(name)).ok()
    }

    pub(crate) fn page(&self) -> Browser {
        Browser::of(self.keeper())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.dir));
    }
}

/// This program in another role.
pub(crate) fn own(role: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg(role);
    command
}

/// What came back.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: String,
}

/// A browser that did or did not come in.
pub(crate) struct Browser {
    pub(crate) host: String,
    pub(crate) token: String,
    pub(crate) cookie: String,
    /// What every path begins with.
    pub(crate) path: String,
    keeper: Option<JoinHandle<()>>,
    pub(crate) page: u32,
}

impl Browser {
    pub(crate) fn of(keeper: Keeper) -> Self {
        Self::with(keeper, Limits::default())
    }

    pub(crate) fn with(mut keeper: Keeper, limits: Limits) -> Self {
        let started = handfast_review::start_with(own("page-process"), 0, None, limits).unwrap();
        let url = started.url.strip_prefix("http://").unwrap();
        let (host, token) = url.split_once("/#").unwrap();
        let (host, token) = (host.to_owned(), token.to_owned());
        let page = started.id();
        // It ends with an error once the page was ended.
        let keeper = std::thread::spawn(move || drop(started.serve(&mut keeper)));
        Self {
            host,
            token,
            cookie: String::new(),
            path: String::new(),
            keeper: Some(keeper),
            page,
        }
    }

    /// Comes in with the token.
    pub(crate) fn entered(mut self) -> Self {
        let token = self.token.clone();
        let answer = self.post_text("/enter", &token);
        assert_eq!(answer.status, 200, "{answer:?}");
        let set = answer
            .head
            .lines()
            .find_map(|line| line.strip_prefix("set-cookie: "));
        let cookie = set.unwrap().split(';').next().unwrap();
        self.cookie = cookie.to_owned();
        self.path = answer.body.trim_end_matches('/').to_owned();
        self
    }

    pub(crate) fn get(&self, path: &str) -> Answer {
        let cookie = format!("Cookie: {}\r\n", self.cookie);
        self.raw(
            &format!(
                "GET {}{path} HTTP/1.1\r\nHost: {}\r\n{cookie}",
                self.path, self.host
            ),
            "",
        )
    }

    pub(crate) fn post_text(&self, path: &str, body: &str) -> Answer {
        let below = match path {
            "/enter" => "",
            _ => &self.path,
        };
        let head = format!(
            "POST {below}{path} HTTP/1.1\r\nHost: {0}\r\nOrigin: http://{0}\r\nCookie: {1}\r\n",
            self.host, self.cookie
        );
        self.raw(&head, body)
    }

    pub(crate) fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        let encoded = |text: &str| -> String {
            let byte = |byte: u8| match byte {
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' => char::from(byte).to_string(),
                _ => format!("%{byte:02X}"),
            };
            text.bytes().map(byte).collect()
        };
        let pairs = fields
            .iter()
            .map(|(name, value)| format!("{name}={}", encoded(value)));
        self.post_text(path, &pairs.collect::<Vec<_>>().join("&"))
    }

    /// A request byte by byte, but for its length and its end.
    pub(crate) fn raw(&self, head: &str, body: &str) -> Answer {
        let mut stream = TcpStream::connect(&self.host).unwrap();
        let length = body.len();
        let rest = format!("Content-Length: {length}\r\nConnection: close\r\n\r\n{body}");
        stream
            .write_all(format!("{head}{rest}").as_bytes())
            .unwrap();
        let mut bytes = Vec::new();
        stream.read_to_end(&mut bytes).unwrap();
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or((&text, ""));
        let status = head.split(' ').nth(1).and_then(|word| word.parse().ok());
        Answer {
            status: status.unwrap_or(0),
            head: head.to_owned(),
            body: body.to_owned(),
        }
    }

    /// The value of the box that marks a path in the list.
    pub(crate) fn mark(&self, path: &str) -> String {
        let key = hex(path);
        let listing = self.get("/s/s").body;
        let end = format!(" {key}\"");
        let at = listing
            .find(&end)
            .unwrap_or_else(|| panic!("{path}: {listing}"));
        let start = listing[..at].rfind('"').unwrap() + 1;
        listing[start..at + end.len() - 1].to_owned()
    }

    /// The plan for some marks.
    pub(crate) fn plan(&self, fields: &[(&str, &str)]) -> Answer {
        let mut all = vec![("session", "s")];
        all.extend_from_slice(fields);
        self.post("/plan", &all)
    }

    pub(crate) fn commit(&self, plan: &Answer) -> Answer {
        let plan = hidden(&plan.body, "plan");
        self.post(
            "/commit",
            &[("session", "s"), ("plan", &plan), ("message", "why")],
        )
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // Its own child, by its number.
        let ended = Command::new("kill").arg(self.page.to_string()).status();
        drop(ended);
        if let Some(keeper) = self.keeper.take() {
            drop(keeper.join());
        }
    }
}

/// A path as forms name it.
pub(crate) fn hex(path: &str) -> String {
    let below = path.trim_start_matches('/').bytes();
    below.map(|byte| format!("{byte:02x}")).collect()
}

/// The value of a hidden field.
pub(crate) fn hidden(body: &str, name: &str) -> String {
    let start = format!("name={name} value=\"");
    let at = body
        .find(&start)
        .unwrap_or_else(|| panic!("{name}: {body}"))
        + start.len();
    let rest = &body[at..];
    rest[..rest.find('"').unwrap()].to_owned()
}
