//! A directory of its own for every test, and a broker in a process of its own.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use handfast_broker::{Acquire, Acquired, Client, ClientError, Code};

/// Long enough for a loaded machine; nothing is expected to take it.
pub(crate) const PATIENCE: Duration = Duration::from_secs(60);

pub(crate) struct Stage {
    pub(crate) dir: PathBuf,
    pub(crate) broker: Option<Child>,
    env: Vec<(&'static str, OsString)>,
}

impl Stage {
    /// A tree that is served, and a broker that serves it.
    pub(crate) fn new() -> Self {
        Self::with(&[])
    }

    pub(crate) fn with(env: &[(&'static str, &str)]) -> Self {
        let mut stage = Self::prepare(env);
        stage.start();
        stage
    }

    /// The tree alone.
    pub(crate) fn prepare(env: &[(&'static str, &str)]) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let name = format!("hf-broker-{}-{number}", std::process::id());
        let dir = std::env::temp_dir().join(name);
        std::fs::create_dir(&dir).unwrap();
        std::fs::create_dir(dir.join("root")).unwrap();
        std::fs::create_dir(dir.join("root/src")).unwrap();
        std::fs::write(dir.join("root/src/a.txt"), "alpha").unwrap();
        std::fs::write(dir.join("root/src/b.txt"), "beta").unwrap();
        std::fs::write(dir.join("root/top.txt"), "top").unwrap();
        std::fs::write(dir.join("root/.env"), "SECRET=1").unwrap();
        std::fs::write(dir.join("outside.txt"), "outside").unwrap();
        Self {
            dir,
            broker: None,
            env: env
                .iter()
                .map(|(key, value)| (*key, (*value).into()))
                .collect(),
        }
    }

    /// Gives the broker a policy; `ROOT` in it is the tree.
    pub(crate) fn policy(&mut self, text: &str) {
        let path = self.dir.join("policy.toml");
        let root = self.root("").to_str().unwrap().to_owned();
        std::fs::write(&path, text.replace("ROOT", root.trim_end_matches('/'))).unwrap();
        self.env.push(("HF_POLICY", path.into()));
    }

    pub(crate) fn start(&mut self) {
        self.start_under(&[]);
    }

    /// Starts the broker by another program, which runs what follows its own arguments.
    pub(crate) fn start_under(&mut self, program: &[&str]) {
        assert!(self.broker.is_none());
        let serve = self.role("serve");
        let mut command = match program {
            [] => serve,
            [program, args @ ..] => {
                let mut command = Command::new(program);
                command.args(args).arg(serve.get_program());
                command.args(serve.get_args()).stdin(Stdio::null());
                for (key, value) in serve.get_envs() {
                    command.env(key, value.unwrap());
                }
                command
            }
        };
        command.stdout(Stdio::null());
        self.broker = Some(command.spawn().unwrap());
        let begun = Instant::now();
        while let Err(error) = Client::connect(self.socket()).map(drop) {
            assert!(
                begun.elapsed() < PATIENCE,
                "the broker does not listen: {error}"
            );
            let broker = self.broker.as_mut().unwrap();
            if let Some(status) = broker.try_wait().unwrap() {
                panic!("the broker ended: {status}");
            }
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// As the machine does it to a process that uses too much.
    pub(crate) fn kill_broker(&mut self) {
        let mut broker = self.broker.take().unwrap();
        broker.kill().unwrap();
        broker.wait().unwrap();
    }

    /// This program again, in another role.
    pub(crate) fn role(&self, role: &str) -> Command {
        let mut command = Command::new(std::env::current_exe().unwrap());
        command
            .args([
                "roles::another_process",
                "--exact",
                "--nocapture",
                "--quiet",
            ])
            .env("HF_ROLE", role)
            .env("HF_DIR", &self.dir)
            .stdin(Stdio::null());
        for (key, value) in &self.env {
            command.env(key, value);
        }
        command
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.dir.join("sock/broker.sock")
    }

    pub(crate) fn root(&self, path: &str) -> PathBuf {
        self.dir.join("root").join(path)
    }

    pub(crate) fn log_dir(&self) -> PathBuf {
        self.dir.join("state/log")
    }

    pub(crate) fn client(&self) -> Client {
        Client::connect(self.socket()).unwrap()
    }

    /// A lease on everything, bound to the user.
    pub(crate) fn lease(&self, client: &mut Client) -> Acquired {
        let wanted = Acquire::new(["**"], ["read", "write"])
            .bind("user")
            .ttl(600);
        client.acquire(&wanted).unwrap()
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        if let Some(mut broker) = self.broker.take() {
            drop(broker.kill());
            drop(broker.wait());
        }
        if std::thread::panicking() {
            eprintln!("left for who looks: {}", self.dir.display());
            return;
        }
        drop(std::fs::remove_dir_all(&self.dir));
    }
}

/// Waits until something holds.
pub(crate) fn until(what: &str, mut holds: impl FnMut() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < PATIENCE, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// The code of a refusal.
pub(crate) fn code<T: std::fmt::Debug>(result: Result<T, ClientError>) -> Code {
    match result {
        Err(ClientError::Fault(fault)) => fault.code(),
        other => panic!("a refusal was expected: {other:?}"),
    }
}

pub(crate) fn text(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap()
}
