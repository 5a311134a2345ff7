//! `handfast serve [DIR]`: the broker, in this process.

mod spiffe;
mod witness;

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use clap::Args;
use handfast::ErrorKind;
use handfast_broker::{
    MetricsListener, Rulebook, ServeOptions, Signalled, Signals, StartError, TrustBundle,
    bind_socket, listener_from_environment, notify_alive, notify_ready, watchdog_interval,
};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::json::{Json, JsonObject};
use crate::lease::socket_path;
use crate::output::Output;

/// Serve directories to programs that hold a lease
///
/// Without a policy, one directory is served to processes of the same user. The broker can reach
/// its roots, its own state and the device for mounts, and nothing else. Leases and the log survive
/// it, so it may be ended at any time.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::help!(
    "  handfast serve project
  handfast serve --policy policy.toml --metrics 127.0.0.1:9464"
))]
pub(crate) struct ServeArgs {
    /// The directory, or with `--check` a policy [default: the current one, without a policy]
    dir: Option<OsString>,

    /// Serve the roots of this policy to the users that it names
    #[arg(long, value_name = "FILE", conflicts_with = "dir")]
    policy: Option<OsString>,

    /// Read the policy, say what it grants to whom, and serve nothing
    #[arg(long)]
    check: bool,

    /// Ask a broker that runs whether it is ready: exit code 0 or 1
    #[arg(
        long,
        conflicts_with_all = ["dir", "policy", "state", "log", "metrics", "check_sender", "any_sender"]
    )]
    health_check: bool,

    /// Listen here, or ask here [default: $HANDFAST_SOCKET, or below the user's runtime directory]
    #[arg(long, value_name = "PATH")]
    socket: Option<OsString>,

    /// Keep leases, and the log, in this directory [default: $XDG_STATE_HOME/handfast/broker]
    #[arg(long, value_name = "DIR")]
    state: Option<OsString>,

    /// Keep the log in this directory
    #[arg(long, value_name = "DIR")]
    log: Option<OsString>,

    /// Serve Prometheus metrics, /healthz and /readyz here: a loopback address, `127.0.0.1:9464`, or a
    /// path of a socket
    #[arg(long, value_name = "ADDRESS|PATH")]
    metrics: Option<OsString>,

    #[command(flatten)]
    spiffe: spiffe::SpiffeArgs,

    /// Refuse to start where the kernel does not say which process sends a message
    ///
    /// Only messages are taken that the process that connected sent itself. Without this, that
    /// is so where the kernel tells it (Linux 6.5).
    #[arg(long)]
    check_sender: bool,

    /// Take messages from every process that holds the connection
    #[arg(long, conflicts_with = "check_sender")]
    any_sender: bool,

    /// Answer a broker's questions about programs on standard input
    #[arg(long, hide = true)]
    witness: bool,
}

impl ServeArgs {
    pub(crate) fn run(&self, out: &mut Output) -> Exit {
        if self.witness {
            return match self.spiffe.source() {
                Some(source) => spiffe::run(&source),
                None => witness::run(self.policy.as_deref().map(Path::new)),
            };
        }
        let done = match (self.check, self.health_check) {
            (_, true) => self.health_check(out),
            (true, _) => self.check(out).map(|()| Exit::Yes),
            _ => self.serve(out).map(|()| Exit::Yes),
        };
        match done {
            Ok(exit) => exit,
            Err(failure) => {
                out.failure(&failure);
                failure.exit
            }
        }
    }

    fn serve(&self, out: &mut Output) -> Result<(), Box<Failure>> {
        // Before anything else: it must not be restricted, and it must not inherit what follows.
        let policy = self.policy.as_deref().map(|path| absolute(Path::new(path)));
        let (exe, _child) = witness::start(policy.as_deref()).map_err(|error| {
            cannot(Exit::CannotTell, ErrorKind::Io, "start the witness", &error)
        })?;
        let bundle = self.spiffe.start()?;
        // Before the first thread, and after the witness, which is not to miss them.
        let signals = Signals::take()
            .map_err(|error| cannot(Exit::CannotTell, ErrorKind::Io, "wait for signals", &error))?;
        let rulebook = self.rulebook(self.policy.as_deref(), bundle.as_ref().map(|(b, _)| b))?;
        let others = rulebook.is_for_others();
        let (listener, socket) = match listener_from_environment() {
            Ok(Some(listener)) => (listener, None),
            Ok(None) => {
                let path = socket_path("serve", self.socket.as_deref())?;
                let bound = bind_socket(&path, others);
                let listener = bound.map_err(|error| not_bound(&path, &error))?;
                (listener, Some(path))
            }
            Err(error) => {
                return Err(cannot(
                    Exit::Usage,
                    ErrorKind::Invalid,
                    "use the passed socket",
                    &error,
                ));
            }
        };
        let state = self.state_dir()?;
        let mut options = ServeOptions::new(rulebook, &state).exe(exe);
        if self.check_sender || self.any_sender {
            options = options.check_sender(self.check_sender);
        }
        if let Some(log) = &self.log {
            options = options.log(absolute(Path::new(log)));
        }
        if let Some((bundle, reader)) = bundle {
            options = options.trust_bundle(bundle).bundle_reader(reader);
        }
        if let Some(place) = &self.metrics {
            options = options.metrics(metrics_at(place)?);
        }
        let running = options.start(listener).map_err(|error| refused(&error))?;
        self.tell(out, socket.as_deref(), &running);
        notify_ready().map_err(|error| {
            cannot(
                Exit::CannotTell,
                ErrorKind::Io,
                "tell the service manager",
                &error,
            )
        })?;
        let watchdog = watchdog_interval();
        let tick = Duration::from_secs(1).min(watchdog.unwrap_or(Duration::MAX));
        let mut told = Instant::now();
        loop {
            if watchdog.is_some_and(|interval| told.elapsed() >= interval) && running.is_alive() {
                told = Instant::now();
                // A service manager that does not listen ends the broker by itself.
                drop(notify_alive(&running.troubles()));
            }
            match signals.wait(tick) {
                Some(Signalled::Reload) => reload(out, &running, policy.as_deref()),
                Some(_) => {
                    return match running.stop() {
                        0 => Ok(()),
                        // How many they are is on standard error by now.
                        _ => Err(cannot(
                            Exit::No,
                            ErrorKind::Io,
                            "write answered reads to the log",
                            &"they are lost; the next start records the gap",
                        )),
                    };
                }
                None if running.has_ended() => {
                    running.wait();
                    return Ok(());
                }
                None => {}
            }
        }
    }

    /// Whether the broker on the socket is ready, for a probe that runs a command.
    fn health_check(&self, out: &mut Output) -> Result<Exit, Box<Failure>> {
        let no = |mut failure: Box<Failure>| {
            // The question was whether it is ready, and that is answered.
            failure.exit = Exit::No;
            failure
        };
        let mut client = crate::lease::connect("serve", self.socket.as_deref()).map_err(no)?;
        let info = client
            .info()
            .map_err(|error| no(cannot(Exit::No, ErrorKind::Io, "ask the broker", &error)))?;
        let troubles: Vec<String> = info["troubles"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|trouble| Some(trouble.as_str()?.to_owned()))
            .collect();
        let is_ready = troubles.is_empty();
        if out.is_json() {
            out.object(
                is_ready,
                JsonObject::new().with("troubles", Json::from_iter(troubles)),
            );
        } else if is_ready {
            out.note("ready");
        } else {
            troubles
                .iter()
                .for_each(|trouble| out.alarm(&format!("{trouble}\n")));
        }
        Ok(if is_ready { Exit::Yes } else { Exit::No })
    }

    /// What the policy grants, without serving anything.
    fn check(&self, out: &mut Output) -> Result<(), Box<Failure>> {
        let policy = self.policy.as_deref().or(self.dir.as_deref());
        if policy.is_none() {
            let why = "`--check` goes with a policy: `--check FILE`";
            return Err(cannot(Exit::Usage, ErrorKind::Invalid, "check", &why));
        }
        let bundle = self.spiffe.start()?;
        let rulebook = self.rulebook(policy, bundle.as_ref().map(|(bundle, _)| bundle))?;
        let lines = rulebook.describe();
        if out.is_json() {
            out.object(
                true,
                JsonObject::new().with("grants", Json::from_iter(lines)),
            );
            return Ok(());
        }
        for line in lines {
            out.data(line.as_bytes());
            out.data(b"\n");
        }
        Ok(())
    }

    /// What is served to whom, as far as this process can keep it.
    fn rulebook(
        &self,
        policy: Option<&OsStr>,
        bundle: Option<&TrustBundle>,
    ) -> Result<Rulebook, Box<Failure>> {
        let Some(path) = policy else {
            let dir = self.dir.clone().unwrap_or_else(|| ".".into());
            return Rulebook::of_directory(absolute(Path::new(&dir)))
                .map_err(|error| refused(&error));
        };
        let wrong = |error: &dyn std::fmt::Display| {
            let deed = format!(
                "use the policy `{}`",
                handfast::escape(path.as_encoded_bytes())
            );
            cannot(Exit::Usage, ErrorKind::Invalid, &deed, error)
        };
        // Read once: the digest in the log is that of the text that counts.
        let path = absolute(Path::new(path));
        let text = read_text(&path).map_err(|error| wrong(&error.detail()))?;
        let dir = path.parent().unwrap_or(Path::new("/"));
        let rulebook = Rulebook::parse(&text, dir, true).map_err(|error| wrong(&error))?;
        let checked = rulebook.check_start(bundle);
        checked.map_err(|error| wrong(&error)).map(|()| rulebook)
    }

    fn state_dir(&self) -> Result<PathBuf, Box<Failure>> {
        if let Some(dir) = &self.state {
            return Ok(absolute(Path::new(dir)));
        }
        let from = |name: &str| {
            std::env::var_os(name)
                .map(PathBuf::from)
                .filter(|path| path.is_absolute())
        };
        let state = from("XDG_STATE_HOME");
        let state = state.or_else(|| from("HOME").map(|home| home.join(".local/state")));
        state
            .map(|state| state.join("handfast/broker"))
            .ok_or_else(|| {
                let why = "neither XDG_STATE_HOME nor HOME is set; give `--state DIR`";
                cannot(
                    Exit::Usage,
                    ErrorKind::Invalid,
                    "find a place for the state",
                    &why,
                )
            })
    }

    fn tell(&self, out: &mut Output, socket: Option<&Path>, running: &handfast_broker::Running) {
        let shown = |path: &Path| handfast::escape(path.as_os_str().as_encoded_bytes());
        let place = socket.map_or_else(|| "passed by the service manager".to_owned(), shown);
        if out.is_json() {
            let fields = JsonObject::new()
                .with("socket", place)
                .with("log", shown(running.log()))
                .with("level", running.log_level())
                .with("leases", running.leases() as u64)
                .with("boundary", Json::from_iter(running.lines()));
            out.object(true, fields);
            out.flush();
            return;
        }
        out.note(&format!("socket    {place}"));
        out.note(&format!("log       {}", shown(running.log())));
        out.note(&format!("level     {}", running.log_level()));
        for line in running.lines() {
            out.note(&format!("boundary  {line}"));
        }
        if running.leases() > 0 {
            out.note(&format!("leases    {} from before", running.leases()));
        }
        out.note(&format!("try       {}", self.first_call(running)));
    }
}

impl ServeArgs {
    /// A call that works, by a user who may make it.
    fn first_call(&self, running: &handfast_broker::Running) -> String {
        let example = running.example();
        let who = example.who.map_or_else(String::new, |who| {
            let who = handfast::escape(who.as_bytes());
            format!("as {who}: ")
        });
        let socket = self.socket.as_deref().map_or_else(String::new, |socket| {
            let socket = handfast::escape(socket.as_encoded_bytes());
            format!(" --socket '{socket}'")
        });
        let verbs = example.verbs;
        format!("{who}handfast lease acquire{socket} --paths '**' --verbs {verbs}")
    }
}

/// Reads the policy again, and says what came of it.
fn reload(out: &mut Output, running: &handfast_broker::Running, policy: Option<&Path>) {
    match running.read_bundle() {
        Ok(true) => out.note("reload    another trust bundle counts now"),
        Ok(false) => {}
        Err(why) => out.alarm(&format!(
            "reload    the trust bundle from before goes on to count: {why}\n"
        )),
    }
    let Some(policy) = policy else {
        out.note("reload    there is no policy file to read again");
        return;
    };
    let dir = policy.parent().unwrap_or(Path::new("/"));
    match running.reload(dir) {
        Ok(ended) => {
            let digest = running.policy_sha256();
            out.note(&format!(
                "reload    policy {digest} counts now; leases that ended: {ended}"
            ));
        }
        Err(error) => out.alarm(&format!(
            "reload    `{}` is refused, and the policy from before goes on to count: {error}\n",
            handfast::escape(policy.as_os_str().as_encoded_bytes())
        )),
    }
}

/// Why nobody can connect to the socket that was asked for.
fn not_bound(path: &Path, error: &std::io::Error) -> Box<Failure> {
    use std::io::ErrorKind as Io;
    let shown = handfast::escape(path.as_os_str().as_encoded_bytes());
    let deed = format!("listen on the socket `{shown}`");
    let kind = match error.kind() {
        Io::AddrInUse => {
            let why = "a broker listens there already; end it, or give another `--socket`";
            return cannot(Exit::Usage, ErrorKind::Busy, &deed, &why);
        }
        Io::InvalidInput | Io::NotFound | Io::NotADirectory | Io::AlreadyExists => {
            ErrorKind::Invalid
        }
        Io::PermissionDenied => ErrorKind::Denied,
        _ => ErrorKind::Io,
    };
    let mut failure = cannot(Exit::Usage, kind, &deed, error);
    if kind == ErrorKind::Denied {
        let hint = "make its directory first, and give it to the broker's user; or give another `--socket`";
        failure.hints.push(hint.to_owned());
    }
    failure
}

/// Where metrics are served.
fn metrics_at(place: &OsStr) -> Result<MetricsListener, Box<Failure>> {
    let address = place.to_str().and_then(|text| text.parse().ok());
    let listening = match address {
        Some(address) => MetricsListener::on_loopback(address),
        None => bind_socket(&absolute(Path::new(place)), false).map(MetricsListener::Unix),
    };
    listening.map_err(|error| {
        cannot(
            Exit::Usage,
            ErrorKind::Invalid,
            "serve metrics there",
            &error,
        )
    })
}

fn absolute(path: &Path) -> PathBuf {
    std::path::absolute(path).unwrap_or_else(|_| path.to_owned())
}

/// A file of configuration: a policy's own bytes, for its digest in the log, or an SVID.
pub(crate) fn read_text(path: &Path) -> Result<Vec<u8>, handfast::Error> {
    use std::os::unix::ffi::OsStrExt;
    let path = absolute(path);
    let name = path.file_name().unwrap_or_default();
    let dir = path.parent().unwrap_or(Path::new("/"));
    let name = handfast::RelPath::parse(name.as_bytes())?;
    handfast::Root::open_ambient(dir)?.read_to_limit(&name, 1 << 20)
}

fn refused(error: &StartError) -> Box<Failure> {
    let (exit, kind) = match error {
        StartError::Config(_) => (Exit::Usage, ErrorKind::Invalid),
        StartError::Store(handfast_broker::StoreError::Locked) => (Exit::Usage, ErrorKind::Busy),
        _ => (Exit::CannotTell, ErrorKind::Io),
    };
    let mut failure = cannot(exit, kind, "serve", error);
    if matches!(error, StartError::Config(why) if why.contains("nothing is there")) {
        let hint = "make the directory first, or name one that exists";
        failure.hints.push(hint.to_owned());
    }
    if let StartError::Store(error) = error {
        failure.hints.push(match error {
            handfast_broker::StoreError::Locked => "end the other broker, or give another `--state`".to_owned(),
            _ => "move `leases.db` out of the state directory: all leases end then, and the log stays".to_owned(),
        });
    }
    failure
}

fn cannot(exit: Exit, kind: ErrorKind, deed: &str, why: &dyn std::fmt::Display) -> Box<Failure> {
    Box::new(Failure {
        kind,
        verb: "serve",
        sentence: format!("cannot {deed}"),
        path: String::new(),
        destination: None,
        detail: why.to_string(),
        effect: handfast::Effect::None,
        exit,
        hints: Vec::new(),
    })
}
