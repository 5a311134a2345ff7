//! A stage for runs: a project with a secret, and a namespace with a device of its own.

use std::path::PathBuf;
use std::process::{Command, Output, Stdio};

use crate::support::{Scratch, skip};

/// What the namespace of a test is made by: its device, the command under a path that everybody
/// reaches, and the user.
const ENTER: &str = r#"set -e
top=$1 user=$2 binary=$3; shift 3
if [ "$(id -u)" = 0 ]; then
    mount --make-rprivate /
    mount -t tmpfs tmpfs "$top/node"
    mknod -m 666 "$top/node/fuse" c 10 229
    mount --bind "$top/node/fuse" /dev/fuse
fi
mkdir -p "$top/bin"; test -e "$top/bin/handfast" || touch "$top/bin/handfast"
test "$(id -u)" != 0 || mount --bind "$binary" "$top/bin/handfast"
cd "$top/inside"
export HOME="$top/home" XDG_STATE_HOME="$top/state" SECRET_TOKEN=hidden
export GIT_CONFIG_GLOBAL=/dev/null GIT_CONFIG_NOSYSTEM=1
if [ "$user" != "$(id -u)" ]; then
    exec setpriv --reuid="$user" --regid="$user" --clear-groups "$@"
fi
exec "$@""#;

/// A project with a secret, a home with another, and a neighbour.
pub(super) struct Stage {
    pub(super) scratch: Scratch,
    pub(super) user: String,
}

impl Stage {
    pub(super) fn new(user: &str) -> Self {
        let scratch = Scratch::new();
        scratch.file("a.txt", "from the base\n");
        scratch.file(".env", "SECRET=1\n");
        scratch.file("src/main.rs", "fn main() {}\n");
        for dir in ["home/.ssh", "state", "node", "granted"] {
            std::fs::create_dir_all(scratch.path.join(dir)).unwrap();
        }
        std::fs::write(scratch.path.join("home/.ssh/id"), "SECRET=home\n").unwrap();
        std::fs::write(scratch.outside().join("secret"), "SECRET=outside\n").unwrap();
        scratch.link("../outside/secret", "link");
        let git = Command::new("git")
            .args(["init", "-q", "."])
            .current_dir(scratch.inside())
            .output();
        assert!(git.unwrap().status.success());
        let stage = Self {
            scratch,
            user: user.to_owned(),
        };
        stage.hand_over();
        stage
    }

    /// Everything belongs to the user of the stage.
    pub(super) fn hand_over(&self) {
        let top = &self.scratch.path;
        let ended = Command::new("chown")
            .arg("-R")
            .arg(format!("{0}:{0}", self.user))
            .arg(top)
            .status();
        assert!(ended.unwrap().success());
        let open = Command::new("chmod").arg("755").arg(top).status();
        assert!(open.unwrap().success());
    }

    /// A command line of `handfast` on this stage.
    pub(super) fn command(&self, prelude: &str, args: &[&str]) -> Command {
        let binary = std::env::var_os("HANDFAST_BIN")
            .unwrap_or_else(|| env!("CARGO_BIN_EXE_handfast").into());
        let run = match is_root() {
            true => self.scratch.path.join("bin/handfast"),
            false => PathBuf::from(&binary),
        };
        let mut command = match is_root() {
            true => {
                let mut command = Command::new("unshare");
                command.args(["--mount", "sh"]);
                command
            }
            false => Command::new("sh"),
        };
        command
            .args(["-c", ENTER, "sh"])
            .arg(&self.scratch.path)
            .arg(&self.user)
            .arg(&binary)
            .args(["sh", "-c", &format!("{prelude} exec \"$@\""), "sh"])
            .arg(run)
            .args(args)
            .stdin(Stdio::null());
        command
    }

    pub(super) fn handfast(&self, args: &[&str]) -> Told {
        Told::from(self.command("", args).output().unwrap())
    }

    /// Runs a script in the project's session.
    pub(super) fn run(&self, options: &[&str], script: &str) -> Told {
        let args = [&["run"], options, &["--", "sh", "-c", script]].concat();
        self.handfast(&args)
    }

    pub(super) fn base(&self, name: &str) -> PathBuf {
        self.scratch.at(name)
    }
}

/// What a run said.
#[derive(Debug)]
pub(super) struct Told {
    pub(super) code: Option<i32>,
    pub(super) out: String,
    pub(super) words: String,
}

impl From<Output> for Told {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).into_owned();
        Self {
            code: output.status.code(),
            out: text(output.stdout),
            words: text(output.stderr),
        }
    }
}

pub(super) fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// Does the same as root and as an ordinary user, as far as this process may.
pub(super) fn as_each_user(act: impl Fn(&Stage)) {
    let me = rustix::process::geteuid().as_raw().to_string();
    let device = std::fs::File::options()
        .read(true)
        .write(true)
        .open("/dev/fuse");
    let users = match (is_root(), device) {
        (true, _) => vec!["0".to_owned(), "1000".to_owned()],
        (false, Ok(_)) => vec![me],
        (false, Err(error)) => {
            skip("programs in a session", &format!("/dev/fuse: {error}"));
            return;
        }
    };
    for user in users {
        act(&Stage::new(&user));
    }
}
