//! Which files of a directory are worth parsing: those with the name of a path operation in their
//! bytes, those that name such a file, and what all of these name.
//!
//! Nothing is parsed for this. A file names another one if it has the other's name as a word, so
//! more files are kept than are connected.

use std::collections::{HashMap, HashSet};

use crate::kb::Knowledge;
use crate::lang::Lang;
use crate::quick::Quick;

/// Below this all files are parsed.
const FEW: usize = 8;

/// How far a file may be from one with a path operation.
const MAX_STEPS: usize = 2;

/// Names of operations that are words of any program; they count where something is called.
const COMMON: [&str; 31] = [
    "access", "call", "connect", "copy", "create", "exists", "extract", "file", "get", "glob",
    "import", "link", "list", "load", "move", "open", "put", "read", "remove", "rename", "replace",
    "require", "resolve", "run", "save", "send", "spawn", "stat", "truncate", "walk", "write",
];

/// Names of operations that are words of any program as well, and are one only beside the module or the
/// type that has it.
const LOOSE: [&str; 27] = [
    "File",
    "Dir",
    "Link",
    "Remove",
    "Open",
    "Create",
    "Stat",
    "Walk",
    "Mount",
    "Attachment",
    "Command",
    "append",
    "cp",
    "del",
    "delete",
    "download",
    "find",
    "fork",
    "getline",
    "input",
    "lines",
    "metadata",
    "mv",
    "parse",
    "sync",
    "touch",
    "watch",
];

/// Words after which other files are named.
const IMPORTS: [&str; 8] = [
    "import", "from", "require", "use", "mod", "include", "export", "crate",
];

/// What a word may be: an operation of some families, the name of files.
#[derive(Default)]
struct Meaning {
    families: Vec<&'static str>,
    is_common: bool,
    /// Words of which one has to stand in the same text; none for an operation by itself.
    needs: Vec<usize>,
    /// The number by which others need this word.
    needed: Option<usize>,
    files: Vec<usize>,
}

/// Which of the files are kept; `is_wanted` says which are kept in any case.
pub(crate) fn kept(
    texts: &[(&str, &str)],
    knowledge: &Knowledge,
    is_wanted: impl Fn(usize) -> bool,
) -> Vec<bool> {
    if texts.len() <= FEW {
        return vec![true; texts.len()];
    }
    let langs: Vec<Option<Lang>> = texts
        .iter()
        .map(|(path, text)| Lang::detect(path, text.as_bytes()))
        .collect();
    let mut words: HashMap<String, Meaning, Quick> = HashMap::default();
    let mut seen: HashSet<&'static str, Quick> = HashSet::default();
    let mut needed = 0;
    for lang in langs
        .iter()
        .flatten()
        .filter(|lang| seen.insert(lang.family()))
    {
        for (word, beside) in knowledge.family(*lang).operation_words() {
            let is_loose = COMMON.contains(&word.as_str()) || LOOSE.contains(&word.as_str());
            let mut needs = Vec::new();
            for near in beside.iter().filter(|_| is_loose) {
                let meaning = words.entry(near.clone()).or_default();
                needs.push(*meaning.needed.get_or_insert(needed));
                needed = needed.max(needs[needs.len() - 1] + 1);
            }
            let both = [word.clone(), format!("{word}Sync")];
            let many = if lang.family() == "javascript" { 2 } else { 1 };
            for name in &both[..many] {
                let meaning = words.entry(name.clone()).or_default();
                let is_alone = meaning.needs.is_empty() && !meaning.families.is_empty();
                meaning.families.push(lang.family());
                meaning.is_common = COMMON.contains(&name.as_str());
                if is_alone || needs.is_empty() {
                    meaning.needs.clear();
                } else {
                    meaning.needs.extend(&needs);
                }
            }
        }
    }
    for (index, (path, _)) in texts.iter().enumerate() {
        for name in names_of(path) {
            words.entry(name.to_owned()).or_default().files.push(index);
        }
    }
    let mut near: Vec<bool> = Vec::with_capacity(texts.len());
    let mut names: Vec<Vec<usize>> = Vec::with_capacity(texts.len());
    for (index, (_, text)) in texts.iter().enumerate() {
        let family = langs[index].map_or("", |lang| lang.family());
        let (has_operation, others) = read(text, family, &words);
        near.push(has_operation || is_wanted(index));
        names.push(others);
    }
    // Go: the files of a directory are one package.
    let mut packages: HashMap<&str, usize, Quick> = HashMap::default();
    for (index, (path, _)) in texts.iter().enumerate() {
        if path.ends_with(".go") {
            let dir = path.rsplit_once('/').map_or("", |(dir, _)| dir);
            let first = *packages.entry(dir).or_insert(index);
            names[index].push(first);
            names[first].push(index);
        }
    }
    // First those that name a file with an operation: text comes in there. Then what those name:
    // helpers and constants. What merely names the same helper has nothing to do with it.
    for _ in 0..MAX_STEPS {
        let before = near.clone();
        for (index, others) in names.iter().enumerate() {
            near[index] |= others.iter().any(|other| before[*other]);
        }
    }
    for _ in 0..MAX_STEPS {
        let before = near.clone();
        for (_, others) in names.iter().enumerate().filter(|(index, _)| before[*index]) {
            others.iter().for_each(|other| near[*other] = true);
        }
    }
    near
}

/// By which words other files name a file: its own name, and that of its directory.
fn names_of(path: &str) -> impl Iterator<Item = &str> {
    let mut parts = path.rsplit('/');
    let file = parts.next().unwrap_or(path);
    let stem = file.split('.').next().unwrap_or(file);
    let is_whole = matches!(stem, "index" | "__init__" | "mod" | "lib" | "main");
    // Go names directories, and so does what imports a package.
    let dir = parts.next().filter(|_| is_whole || file.ends_with(".go"));
    [Some(stem).filter(|_| !is_whole), dir]
        .into_iter()
        .flatten()
        .filter(|name| name.len() > 1)
}

/// Whether a text has a path operation, and which files it names.
fn read(text: &str, family: &str, words: &HashMap<String, Meaning, Quick>) -> (bool, Vec<usize>) {
    let bytes = text.as_bytes();
    let is_word = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-';
    let mut has_operation = false;
    let mut wanted: Vec<usize> = Vec::new();
    let mut there: HashSet<usize, Quick> = HashSet::default();
    let mut others = Vec::new();
    let mut asked: HashSet<&str, Quick> = HashSet::default();
    // Java needs no import for its own package.
    let is_open = family == "java";
    let mut imports = is_open;
    let mut at = 0;
    while at < bytes.len() {
        if !is_word(bytes[at]) {
            // A list of imports goes on over lines, until something is closed.
            imports &= is_open
                || bytes[at] != b';' && (bytes[at] != b'\n' || bytes.get(at + 1) == Some(&b' '));
            at += 1;
            continue;
        }
        let start = at;
        while at < bytes.len() && is_word(bytes[at]) {
            at += 1;
        }
        let Some(word) = text.get(start..at) else {
            continue;
        };
        imports |= IMPORTS.contains(&word);
        let Some(meaning) = words.get(word) else {
            continue;
        };
        there.extend(meaning.needed);
        if !has_operation
            && meaning.families.contains(&family)
            && (!meaning.is_common || is_called(word, &bytes[at..]))
        {
            has_operation = meaning.needs.is_empty();
            wanted.extend(&meaning.needs);
        }
        if imports && !meaning.files.is_empty() && asked.insert(word) {
            others.extend(meaning.files.iter().copied());
        }
    }
    has_operation |= wanted.iter().any(|need| there.contains(need));
    (has_operation, others)
}

/// What follows a name: it is called with something, or handed on. What is loaded by a name that is
/// written down is no path from outside.
fn is_called(word: &str, rest: &[u8]) -> bool {
    let mut rest = rest.iter().copied().filter(|byte| *byte != b' ');
    let loads = matches!(word, "require" | "import");
    match rest.next() {
        Some(b'(') => match rest.next() {
            Some(b'\'' | b'"') => !loads,
            next => next != Some(b')'),
        },
        Some(b',' | b')') => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all() -> Vec<(String, String)> {
        let mut all: Vec<(String, String)> = (0..20)
            .map(|n| {
                (
                    format!("pkg/page{n}.py"),
                    format!("def draw{n}(x):\n    return x\n"),
                )
            })
            .collect();
        let mut add = |name: &str, text: &str| all.push((name.to_owned(), text.to_owned()));
        add(
            "pkg/store.py",
            "from pkg.rules import ok\ndef load(n):\n    return open(n)\n",
        );
        add("pkg/rules.py", "def ok(n):\n    return n\n");
        add(
            "pkg/view.py",
            "from pkg import store\ndef get(r):\n    return store.load(r)\n",
        );
        all
    }

    #[test]
    fn files_around_an_operation_are_kept_and_others_are_not() {
        let knowledge = Knowledge::new(&[]).expect("the built-in rows parse");
        let all = all();
        let texts: Vec<(&str, &str)> = all
            .iter()
            .map(|(path, text)| (path.as_str(), text.as_str()))
            .collect();
        let kept = kept(&texts, &knowledge, |_| false);
        for (index, (path, _)) in texts.iter().enumerate() {
            assert_eq!(kept[index], !path.contains("page"), "{path}");
        }
    }

    #[test]
    fn a_word_counts_where_it_is_called() {
        assert!(is_called("open", b"(name)"));
        assert!(is_called("open", b", name)"));
        assert!(is_called("open", b"(\"/srv/\" + name)"));
        assert!(is_called("require", b"(`./${name}`)"));
        assert!(!is_called("require", b"('fs')"));
        assert!(!is_called("save", b"()"));
        assert!(!is_called("open", b" = 3"));
    }
}
