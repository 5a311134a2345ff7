//! `search_content`: lines that fit a regular expression. Not in the reference.

use handfast::{ErrorKind, FileKind, NameRef, OpenOptions};
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use regex::{Regex, RegexBuilder};

use super::content;
use super::directory_tree::compile;
use super::walk::Walk;
use crate::answer::Answer;
use crate::call::Call;
use crate::place::Place;
use crate::trouble::Trouble;

/// Lines without `maxResults`, and at most.
const USUAL: usize = 200;
const MOST: usize = 2_000;

/// Larger files are skipped; after so much in all the search stops.
const FILE_LIMIT: u64 = 8 << 20;
const ALL_LIMIT: u64 = 512 << 20;

/// How much of a line is shown.
const LINE: usize = 500;

const IGNORE_FILES: [&str; 2] = [".gitignore", ".ignore"];

pub(super) fn run(call: &Call<'_>) -> Result<Answer, Trouble> {
    let invalid = |text: String| Trouble::new(ErrorKind::Invalid, text);
    let pattern = RegexBuilder::new(call.text("pattern"))
        .size_limit(1 << 20)
        .dfa_size_limit(1 << 20)
        .build()
        .map_err(|error| invalid(format!("Invalid pattern: {error}")))?;
    let include = call.optional_text("include").map(compile).transpose()?;
    let excluded = call.texts("excludePatterns");
    let excluded = excluded
        .into_iter()
        .map(compile)
        .collect::<Result<Vec<_>, _>>()?;
    #[allow(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a saturating cast of what a client sent, between 1 and the most"
    )]
    let most = call
        .number("maxResults")
        .map_or(USUAL, |count| (count.max(1.0) as usize).min(MOST));
    let top = call.place("path")?;
    let mut walk = Walk::new(call, &top)?;
    let mut ignored = Ignored::default();
    ignored.enter(call, &top, "", 0);
    let mut search = Search {
        pattern,
        most,
        lines: Vec::new(),
        read: 0,
        skipped: 0,
    };
    while let Some(found) = walk.next() {
        let is_dir = found.kind == FileKind::Dir;
        let left_out = ignored.holds(&found.relative, is_dir, found.depth)
            || excluded.iter().any(|glob| glob.matches(&found.relative))
            || (is_dir && found.name() == ".git");
        if left_out {
            continue;
        }
        if is_dir {
            ignored.enter(call, &walk.place(&found), &found.relative, found.depth + 1);
            walk.enter(&found);
        } else if found.kind == FileKind::File
            && include
                .as_ref()
                .is_none_or(|glob| glob.matches(&found.relative))
            && let Some(why) = search.look(call, &walk.place(&found))?
        {
            walk.stop(why);
            break;
        }
    }
    let text = match search.lines.is_empty() {
        true => "No matches found".to_owned(),
        false => search.lines.join("\n"),
    };
    let skipped = (search.skipped > 0).then(|| {
        format!(
            "[{} files are larger than {FILE_LIMIT} bytes and were skipped.]",
            search.skipped
        )
    });
    Ok(Answer::text(text).with_note(walk.note()).with_note(skipped))
}

struct Search {
    pattern: Regex,
    most: usize,
    lines: Vec<String>,
    read: u64,
    skipped: usize,
}

impl Search {
    /// Looks into one file; why to stop, if that is the end.
    fn look(&mut self, call: &Call<'_>, place: &Place) -> Result<Option<String>, Trouble> {
        let Ok(file) = call.looking().open(place.rel(), OpenOptions::new()) else {
            // Protected, gone, or not a file any more.
            return Ok(None);
        };
        if file.opened_metadata().len > FILE_LIMIT {
            self.skipped += 1;
            return Ok(None);
        }
        let Ok(bytes) = content::read_some(&*file, 0, FILE_LIMIT) else {
            return Ok(None);
        };
        self.read += bytes.len() as u64;
        let is_binary = bytes.iter().take(8192).any(|byte| *byte == 0);
        let text = String::from_utf8_lossy(&bytes);
        if !is_binary && self.pattern.is_match(&text) {
            // What is given out is in the log, like any other read.
            let logged = call.files().open(place.rel(), OpenOptions::new());
            logged.map_err(|error| call.trouble(&error, "open", place))?;
            for (number, line) in (1..).zip(text.lines()) {
                if !self.pattern.is_match(line) {
                    continue;
                }
                if self.lines.len() == self.most {
                    return Ok(Some(format!("after {} lines", self.most)));
                }
                let shown: String = line.chars().take(LINE).collect();
                self.lines.push(format!("{}:{number}:{shown}", place.shown));
            }
        }
        let spent = self.read > ALL_LIMIT;
        Ok(spent.then(|| format!("after {ALL_LIMIT} bytes of files")))
    }
}

/// What ignore files name, in the directories from the top to where we are.
#[derive(Default)]
struct Ignored(Vec<Rules>);

struct Rules {
    /// The directory below the top.
    dir: String,
    /// How deep its entries are.
    depth: usize,
    rules: Gitignore,
}

impl Ignored {
    /// Reads the ignore files of a directory that is entered.
    fn enter(&mut self, call: &Call<'_>, dir: &Place, relative: &str, depth: usize) {
        self.0.retain(|rules| rules.depth < depth);
        let mut builder = GitignoreBuilder::new("");
        let mut any = false;
        for name in IGNORE_FILES {
            let Ok(name) = NameRef::parse(name.as_bytes()) else {
                continue;
            };
            let path = dir.path.join(name);
            let Ok(bytes) = call.looking().read(path.as_rel(), 1 << 20) else {
                continue;
            };
            for line in String::from_utf8_lossy(&bytes).lines() {
                // A line that is no pattern names nothing.
                any |= builder.add_line(None, line).is_ok();
            }
        }
        if any && let Ok(rules) = builder.build() {
            self.0.push(Rules {
                dir: relative.to_owned(),
                depth,
                rules,
            });
        }
    }

    /// Whether an entry is ignored: the innermost directory that says something decides.
    fn holds(&self, relative: &str, is_dir: bool, depth: usize) -> bool {
        for rules in self.0.iter().rev().filter(|rules| rules.depth <= depth) {
            let below = match rules.dir.as_str() {
                "" => relative,
                dir => match relative
                    .strip_prefix(dir)
                    .and_then(|rest| rest.strip_prefix('/'))
                {
                    Some(rest) => rest,
                    None => continue,
                },
            };
            let said = rules.rules.matched(below, is_dir);
            if !said.is_none() {
                return said.is_ignore();
            }
        }
        false
    }
}
