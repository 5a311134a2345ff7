//! Every verb of `fs`, on a root, in a read-write session and in an overlay: one answer.

use std::ffi::OsString;
use std::time::Duration;

use crate::lease::Served;
use crate::support::{Run, Scratch};

const TIMEOUT: Duration = Duration::from_secs(60);

#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Layer {
    Root,
    ReadWrite,
    Overlay,
}

pub const LAYERS: [Layer; 3] = [Layer::Root, Layer::ReadWrite, Layer::Overlay];

impl Layer {
    /// A directory of its own, with a session over it.
    pub fn scene(self) -> Scratch {
        let scratch = Scratch::new();
        let base = scratch.inside().display().to_string();
        let base = match self {
            Self::Root => return scratch,
            Self::ReadWrite => format!("{base}:read-write"),
            Self::Overlay => base,
        };
        scratch.session(&["new", "s", "--base", &base]).ok();
        scratch
    }

    /// The arguments of a verb; `@` begins a path.
    pub fn args(self, scratch: &Scratch, verb: &[&str]) -> Vec<OsString> {
        let mut args: Vec<OsString> = vec!["fs".into()];
        match self {
            Self::Root => args.extend([
                "--links".into(),
                "beneath".into(),
                "--root".into(),
                scratch.inside().into(),
            ]),
            _ => args.extend([
                "--session".into(),
                "s".into(),
                "--state".into(),
                scratch.path.join("state").into(),
            ]),
        }
        args.extend(verb.iter().map(|arg| self.typed(arg).into()));
        args
    }

    pub fn run(self, scratch: &Scratch, verb: &[&str], input: &[u8]) -> Run {
        Run::of(&self.args(scratch, verb), input, TIMEOUT)
    }

    fn typed(self, arg: &str) -> String {
        match (self, arg.strip_prefix('@')) {
            (_, None) => arg.to_owned(),
            (Self::Root, Some("")) => ".".to_owned(),
            (Self::Root, Some(path)) => path.to_owned(),
            (_, Some(path)) => format!("/{path}"),
        }
    }

    /// What was printed, with paths as a root types them and without what differs from file to file.
    fn common(self, verb: &[&str], stdout: &[u8]) -> String {
        let text = String::from_utf8(stdout.to_vec()).unwrap();
        let relative = |line: &str| match (self, line) {
            (Self::Root, line) => line.to_owned(),
            (_, "/") => "./".to_owned(),
            (_, line) => line.strip_prefix('/').unwrap_or(line).to_owned(),
        };
        match verb[0] {
            "version" => {
                assert!(text.starts_with("v1.") && text.ends_with('\n'), "{text}");
                "a version".to_owned()
            }
            "stat" => text
                .lines()
                .filter(|line| !line.starts_with("identity") && !line.starts_with("modified"))
                // Size and names of a directory are the filesystem's; an overlay has none.
                .filter(|line| !(text.contains("  dir,") && line.starts_with("size")))
                .map(|line| line.split_once("dir,").map_or(line, |(type_of, _)| type_of))
                .map(|line| match line.split_once("  ") {
                    Some(("version", _)) => "version".to_owned(),
                    Some((key, value)) => format!("{key} {}", relative(value.trim())),
                    None => line.trim().to_owned(),
                })
                .collect::<Vec<_>>()
                .join("\n"),
            "tree" if verb.contains(&"-0") => text
                .split('\0')
                .map(relative)
                .collect::<Vec<_>>()
                .join("\0"),
            "tree" => text.lines().map(relative).collect::<Vec<_>>().join("\n"),
            _ => text,
        }
    }
}

/// A verb, its standard input, the exit code, and the kind of the error if there is one.
type Step = (&'static [&'static str], &'static [u8], i32, &'static str);

/// What every layer answers alike, in this order on one tree.
const STEPS: &[Step] = &[
    (&["ls"], b"", 0, ""),
    (&["write", "@a"], b"one", 0, ""),
    (&["read", "@a"], b"", 0, ""),
    (&["append", "@a"], b" two", 0, ""),
    (&["append", "@log"], b"new", 0, ""),
    (&["read", "@a"], b"", 0, ""),
    (&["read", "@none"], b"", 1, "NotFound"),
    (&["read", "@a/b"], b"", 1, "NotADirectory"),
    (&["mkdir", "@d"], b"", 0, ""),
    (&["mkdir", "@d"], b"", 1, "Exists"),
    (&["mkdir", "@no/d"], b"", 1, "NotFound"),
    (&["mkdir", "-p", "@d/e"], b"", 0, ""),
    (&["mkdir", "-p", "@d/e"], b"", 0, ""),
    (&["write", "@d/e/f"], b"f", 0, ""),
    (&["write", "@d"], b"", 1, "IsADirectory"),
    (&["write", "@"], b"", 1, "Invalid"),
    (&["write", "@no/f"], b"", 1, "NotFound"),
    (&["write", "--new", "@a"], b"", 1, "Exists"),
    (&["write", "--new", "--mode", "600", "@m"], b"m", 0, ""),
    (&["stat", "@m"], b"", 0, ""),
    (&["write", "--mode", "755", "--sync", "@m"], b"mm", 0, ""),
    (&["stat", "@m"], b"", 0, ""),
    (&["write", "--durability", "none", "@m"], b"mm", 0, ""),
    (&["stat", "@m"], b"", 0, ""),
    (&["write", "--if-version", "x", "@m"], b"", 2, "Invalid"),
    (&["symlink", "a", "@l"], b"", 0, ""),
    (&["readlink", "@l"], b"", 0, ""),
    (&["readlink", "@a"], b"", 1, "Kind"),
    (&["read", "@l"], b"", 0, ""),
    (&["stat", "--no-follow", "@l"], b"", 0, ""),
    (&["stat", "@l"], b"", 0, ""),
    (&["stat", "@d/"], b"", 0, ""),
    (&["stat", "@a/"], b"", 1, "NotADirectory"),
    (&["version", "@a"], b"", 0, ""),
    (&["version", "@d"], b"", 1, "IsADirectory"),
    (&["ls"], b"", 0, ""),
    (&["ls", "-0", "@d"], b"", 0, ""),
    (&["ls", "@a"], b"", 1, "NotADirectory"),
    (&["tree"], b"", 0, ""),
    (&["tree", "-0"], b"", 0, ""),
    (&["tree", "@d"], b"", 0, ""),
    (&["tree", "@none"], b"", 1, "NotFound"),
    (&["mv", "@a", "@b"], b"", 0, ""),
    (&["mv", "@a", "@b"], b"", 1, "NotFound"),
    (&["mv", "--no-replace", "@b", "@m"], b"", 1, "Exists"),
    (&["mv", "--exchange", "@b", "@m"], b"", 0, ""),
    (&["mv", "@b", "@d"], b"", 1, "IsADirectory"),
    (&["cp", "@b", "@c"], b"", 0, ""),
    (&["cp", "@d", "@d2"], b"", 1, "IsADirectory"),
    (&["cp", "-r", "@d", "@d2"], b"", 0, ""),
    (&["cp", "-r", "@d", "@d2"], b"", 1, "IsADirectory"),
    (&["tree", "@d2"], b"", 0, ""),
    (&["chmod", "640", "@c"], b"", 0, ""),
    (&["stat", "@c"], b"", 0, ""),
    (&["chmod", "640", "@none"], b"", 1, "NotFound"),
    (&["rm", "@d"], b"", 1, "IsADirectory"),
    (&["rm", "--if-version", "x", "@c"], b"", 2, "Invalid"),
    (&["rm", "@c"], b"", 0, ""),
    (&["rm", "@c"], b"", 1, "NotFound"),
    (&["rm", "-r", "@d"], b"", 0, ""),
    (&["tree"], b"", 0, ""),
];

#[test]
fn every_verb_answers_alike_in_every_layer() {
    let scenes = LAYERS.map(|layer| (layer, layer.scene()));
    for (verb, input, code, kind) in STEPS {
        let mut said: Option<String> = None;
        for (layer, scratch) in &scenes {
            let run = match *kind {
                "" => layer.run(scratch, verb, input),
                _ => layer.run(scratch, &[&["--json"], *verb].concat(), input),
            };
            assert_eq!(run.code, *code, "{layer:?} {verb:?} {run:?}");
            if !kind.is_empty() {
                assert_eq!(run.json()["error"]["kind"], *kind, "{layer:?} {verb:?}");
                continue;
            }
            let common = layer.common(verb, &run.stdout);
            let first = said.get_or_insert_with(|| common.clone());
            assert_eq!(*first, common, "{layer:?} {verb:?}");
        }
    }
}

/// Objects for programs have the same keys; only a root tells the identity of a directory it made.
#[test]
fn objects_have_the_same_keys_in_every_layer() {
    let scenes = LAYERS.map(|layer| {
        let scratch = layer.scene();
        scratch.file("a", "one");
        scratch.dir("d");
        scratch.link("a", "l");
        (layer, scratch)
    });
    for verb in [
        &["read", "@a"][..],
        &["write", "@b"],
        &["append", "@b"],
        &["ls"],
        &["tree"],
        &["stat", "@a"],
        &["mkdir", "@e"],
        &["mv", "@b", "@c"],
        &["cp", "@a", "@f"],
        &["symlink", "a", "@k"],
        &["readlink", "@l"],
        &["chmod", "600", "@c"],
        &["version", "@a"],
        &["rm", "@c"],
    ] {
        let mut said: Option<Vec<String>> = None;
        for (layer, scratch) in &scenes {
            let object = layer.run(scratch, &[&["--json"], verb].concat(), b"x").ok();
            let keys = object.as_object().unwrap().keys();
            let keys: Vec<_> = keys
                .filter(|key| verb[0] != "mkdir" || *key != "identity")
                .cloned()
                .collect();
            let first = said.get_or_insert_with(|| keys.clone());
            assert_eq!(*first, keys, "{layer:?} {verb:?}");
            if let Some(version) = object.get("file_version") {
                assert!(version.is_string(), "{layer:?} {verb:?} {object}");
            }
        }
    }
}

/// What a layer cannot do is refused in its own words.
#[test]
fn what_a_layer_cannot_do_is_refused() {
    for (layer, outward, recover) in [
        (Layer::Root, 1, 0),
        (Layer::ReadWrite, 1, 2),
        // Any target is data to an overlay; a commit refuses one that leads outside.
        (Layer::Overlay, 0, 2),
    ] {
        let scratch = layer.scene();
        scratch.file("a", "one");
        let run = layer.run(&scratch, &["link", "@a", "@b"], b"");
        assert_eq!(run.code, 0, "{layer:?} {run:?}");
        let run = layer.run(&scratch, &["symlink", "../x", "@out"], b"");
        assert_eq!(run.code, outward, "{layer:?} {run:?}");
        let run = layer.run(&scratch, &["recover"], b"");
        assert_eq!(run.code, recover, "{layer:?} {run:?}");
        let said = run.stderr.contains("only a root is recovered");
        assert_eq!(said, recover == 2, "{run:?}");
    }
}

/// What a broker does not do for anybody.
const NOT_UNDER_A_LEASE: [&[&str]; 3] = [&["symlink"], &["chmod"], &["cp", "-r"]];

/// A verb of `fs` under a lease; `@` begins a path.
fn under_lease(served: &Served, id: &str, verb: &[&str], input: &[u8]) -> Run {
    let mut args = vec!["fs".to_owned(), "--lease".to_owned(), id.to_owned()];
    args.extend(verb.iter().map(|arg| Layer::ReadWrite.typed(arg)));
    let socket = served.scratch.path.join("s/b.sock");
    Run::with_env(
        &args,
        &[("HANDFAST_SOCKET", socket.as_os_str())],
        input,
        TIMEOUT,
    )
}

/// Every step that a root takes, a lease takes too, or refuses as what it does not do.
#[test]
fn every_verb_answers_alike_under_a_lease() {
    let served = Served::empty();
    let id = served.acquire(&["--paths", "**", "--verbs", "read,write"]);
    let root = Layer::Root.scene();
    let mut refused = 0;
    for (verb, input, code, kind) in STEPS {
        let asked = match *kind {
            "" => verb.to_vec(),
            _ => [&["--json"], *verb].concat(),
        };
        let first = Layer::Root.run(&root, verb, input);
        let run = under_lease(&served, &id, &asked, input);
        if NOT_UNDER_A_LEASE
            .iter()
            .any(|words| verb.starts_with(words))
            && run.code == 3
        {
            refused += 1;
            // Done beside the broker, so that both trees stay alike.
            drop(Layer::Root.run(&served.scratch, verb, input));
            continue;
        }
        assert_eq!(run.code, *code, "{verb:?} {run:?}");
        match *kind {
            "" => {
                let common = Layer::ReadWrite.common(verb, &run.stdout);
                let wanted = Layer::Root.common(verb, &first.stdout);
                assert_eq!(common, wanted, "{verb:?}");
            }
            kind => assert_eq!(run.json()["error"]["kind"], kind, "{verb:?}"),
        }
    }
    assert_eq!(refused, 3, "what is refused under a lease is known");
}

#[test]
fn a_lease_is_named_by_its_id_or_by_a_socket() {
    let served = Served::with(&[]);
    let id = served.acquire(&["--paths", "src/**", "--verbs", "read"]);
    let run = under_lease(&served, &id, &["read", "@src/a.txt"], b"");
    assert_eq!((run.code, run.text()), (0, "alpha"), "{run:?}");
    let run = under_lease(&served, &id, &["--json", "read", "@top.txt"], b"");
    assert_eq!(run.code, 1, "{run:?}");
    assert_eq!(run.json()["error"]["kind"], "Denied");
    // The path of a socket, with the lease in the environment; flags after the verb.
    let socket = served.scratch.path.join("s/b.sock");
    let socket = socket.to_str().unwrap();
    let args = ["fs", "read", "/src/a.txt", "--lease", socket];
    let env = [("HANDFAST_LEASE", id.as_ref())];
    let run = Run::with_env(&args, &env, b"", TIMEOUT);
    assert_eq!((run.code, run.text()), (0, "alpha"), "{run:?}");
    for (more, why) in [
        (&["--root", "."][..], "do not go with `--lease`"),
        (&["--session", "s"], "do not go with `--lease`"),
        (&["--links", "beneath"], "the broker has rules of its own"),
        (&["--agent", "me"], "the broker keeps the log"),
    ] {
        let run = under_lease(&served, &id, &[&["read", "@src/a.txt"], more].concat(), b"");
        assert_eq!(run.code, 2, "{more:?} {run:?}");
        assert!(run.stderr.contains(why), "{more:?} {run:?}");
    }
    let run = Run::with_env(&["fs", "--lease", socket, "ls"], &[], b"", TIMEOUT);
    assert_eq!(run.code, 2, "{run:?}");
    assert!(run.stderr.contains("HANDFAST_LEASE"), "{run:?}");
    assert_eq!(served.lease(&["revoke", &id], b"").code, 0);
    let run = under_lease(&served, &id, &["read", "@src/a.txt"], b"");
    assert_eq!(run.code, 1, "{run:?}");
    assert!(run.stderr.contains("the lease was given back"), "{run:?}");
}
