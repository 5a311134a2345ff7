//! What a person can do about a refusal.
//!
//! A hint says something that can be typed or changed, or is not given. What it looks up only
//! chooses words; nothing is decided by it.

use handfast::files::LastLink;
use handfast::{Error, ErrorKind, Links, Mounts, RelPath, escape};

use super::asked::Asked;

/// The hints for a refusal of `kind`, one sentence each.
pub(super) fn hints(asked: &Asked<'_>, kind: ErrorKind, error: Option<&Error>) -> Vec<String> {
    if let Some(hint) = error.and_then(crate::session::reason_hint) {
        return vec![hint.to_owned()];
    }
    let hint = match kind {
        ErrorKind::Invalid if is_relative_in_session(asked) => {
            return vec![format!("begin it with a slash: `/{}`", asked.shown_path())];
        }
        ErrorKind::Invalid => spelling(asked),
        ErrorKind::NotFound => return missing_parent(asked).into_iter().collect(),
        ErrorKind::Mount => mount(asked),
        ErrorKind::Link => link(asked),
        ErrorKind::HardLink => hard_link(asked),
        ErrorKind::Exists => taken(asked.verb),
        ErrorKind::IsADirectory => return directory(asked).into_iter().collect(),
        ErrorKind::NotADirectory => not_a_directory(asked),
        ErrorKind::Stale => "the file changed since you read it; read it again, then decide",
        // A session refuses what an overlay does not keep, whatever the system.
        ErrorKind::Unsupported if asked.target.root().is_none() => "",
        ErrorKind::Unsupported => "`handfast doctor` says what this system can enforce",
        ErrorKind::Busy | ErrorKind::Raced => "try again; nothing has to be cleaned up first",
        // The lease or the policy said no, and said so.
        ErrorKind::Denied if asked.target.is_lease() => "",
        ErrorKind::Denied => "`stat` shows the owner and the mode",
        ErrorKind::Limit if asked.verb == "read" => "without `--json` it is printed as a stream",
        ErrorKind::Kind if asked.verb == "readlink" => "`stat` says what it is",
        ErrorKind::NotEmpty if asked.verb == "mv" => {
            "remove it first with `rm -r`, or let the two change places with `mv --exchange`"
        }
        ErrorKind::Escape if asked.verb == "symlink" => {
            "a target counts from the directory of the link, and stays beneath the root"
        }
        _ => "",
    };
    Some(hint)
        .filter(|hint| !hint.is_empty())
        .map(str::to_owned)
        .into_iter()
        .collect()
}

fn is_relative_in_session(asked: &Asked<'_>) -> bool {
    asked.target.root().is_none() && !asked.path_bytes().starts_with(b"/")
}

/// What the parser refuses: said for the first path that it does refuse.
fn spelling(asked: &Asked<'_>) -> &'static str {
    let paths = [Some(asked.path_bytes()), asked.destination_bytes()];
    for path in paths.into_iter().flatten() {
        let in_root = asked.target.root().is_some();
        if in_root && path.first() == Some(&b'/') {
            return "paths count from the root; leave out the `/` at the beginning";
        }
        if in_root && path.split(|byte| *byte == b'/').any(|name| name == b"..") {
            return "paths go down from the root, without `..`";
        }
        if in_root
            && asked.verb != "archive"
            && RelPath::clean(path).is_ok_and(|path| path.is_root())
        {
            return "`ls`, `tree`, `stat` and `recover` take `.`; other verbs take a name in it";
        }
    }
    ""
}

fn link(asked: &Asked<'_>) -> &'static str {
    match (asked.verb, asked.files().links()) {
        ("link", _) => "name the file itself: only regular files get another name",
        (_, Links::Refuse) => "`--links beneath` follows links that stay beneath the root",
        (_, Links::Beneath | Links::InRoot) => "`readlink` prints what a link says",
    }
}

fn mount(asked: &Asked<'_>) -> &'static str {
    let root = asked.target.root();
    let policy = root.map_or(Mounts::Allow, |root| root.enforcement().mounts);
    match (asked.verb, policy) {
        ("mv", Mounts::Allow) => "copy it with `cp`, then remove it with `rm`",
        ("link", Mounts::Allow) => "copy it with `cp`: a file cannot have names on two mounts",
        (_, Mounts::Refuse) => "`--mounts allow` makes what is mounted below a part of the tree",
        (_, Mounts::Allow) => "",
    }
}

fn hard_link(asked: &Asked<'_>) -> &'static str {
    match (asked.verb, asked.target.root()) {
        ("append", None) => "`write` gives this name a file of its own",
        (_, None) => "",
        ("append", _) => {
            "`write` gives this name a file of its own; `--hard-links allow` changes all names"
        }
        _ => "`--hard-links allow` treats files with several names like any other",
    }
}

fn taken(verb: &str) -> &'static str {
    match verb {
        "mkdir" => "`mkdir -p` accepts a directory that is there already",
        "write" => "without `--new` it is replaced",
        "mv" => "without `--no-replace` a file is replaced",
        "cp" | "link" | "symlink" => "remove it first with `rm`, or choose another name",
        _ => "",
    }
}

fn directory(asked: &Asked<'_>) -> Option<String> {
    let hint = match asked.verb {
        "rm" => "`rm -r` removes a directory with everything in it",
        "read" => "`ls` lists a directory",
        "write" | "append" => "name a file in the directory",
        "cp" if !is_dir(asked, asked.destination_bytes()) => "`cp -r` copies a directory",
        "cp" | "mv" => return name_inside(asked),
        _ => return None,
    };
    Some(hint.to_owned())
}

/// `mv a dir` means `mv a dir/a` to most people.
fn name_inside(asked: &Asked<'_>) -> Option<String> {
    let source = asked.target.parse(asked.path_bytes()).ok()?;
    let inside = asked.target.parse(asked.destination_bytes()?).ok()?;
    let inside = asked.target.typed(inside.join(source.name()?).as_bytes());
    Some(format!(
        "to put it in there, name it: `{}`",
        escape(&inside)
    ))
}

fn not_a_directory(asked: &Asked<'_>) -> &'static str {
    let ends_in_slash = [Some(asked.path_bytes()), asked.destination_bytes()]
        .into_iter()
        .flatten()
        .any(|path| {
            asked
                .target
                .parse(path)
                .is_ok_and(|path| path.must_be_dir())
        });
    match asked.verb {
        _ if ends_in_slash => "leave out the `/` at the end if it is not a directory",
        "ls" | "tree" => "`stat` says what it is",
        _ => "",
    }
}

/// Verbs that create answer `NotFound` where the directory is missing.
fn missing_parent(asked: &Asked<'_>) -> Option<String> {
    let creates = match asked.verb {
        "write" | "append" | "symlink" | "mkdir" => asked.path_bytes(),
        "mv" if asked.exchanges() => return Some("both must exist".to_owned()),
        // Only if it is not the source that is missing.
        "mv" | "cp" | "link" if exists(asked, asked.path_bytes()) => asked.destination_bytes()?,
        _ => return None,
    };
    let path = asked.target.parse(creates).ok()?;
    let parent = path.parent().filter(|parent| !parent.is_root())?;
    let parent = asked.target.typed(parent.as_bytes());
    let first = match asked.verb {
        "mkdir" => "`mkdir -p` makes the missing parents too".to_owned(),
        _ => format!("make the directory first: `mkdir -p {}`", escape(&parent)),
    };
    Some(first)
}

fn exists(asked: &Asked<'_>, path: &[u8]) -> bool {
    let found = asked.target.parse(path);
    found.is_ok_and(|path| asked.files().metadata(&path, LastLink::Itself).is_ok())
}

fn is_dir(asked: &Asked<'_>, path: Option<&[u8]>) -> bool {
    path.and_then(|path| asked.target.parse(path).ok())
        .and_then(|path| asked.files().metadata(&path, LastLink::Follow).ok())
        .is_some_and(|found| found.is_dir())
}
