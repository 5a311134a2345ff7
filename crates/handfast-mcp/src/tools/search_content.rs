//! `search_content`: lines that fit a regular expression. Not in the reference.

use std::borrow::Cow;

use handfast::files::{FileHandle, LastLink};
use handfast::{ErrorKind, FileKind, OpenOptions};
use regex::{Regex, RegexBuilder};

use super::content;
use super::directory_tree::compile;
use super::position::Begin;
use super::walk::ToolWalk;
use crate::answer::{Cut, ToolResult};
use crate::call::{self, Call};
use crate::place::Location;
use crate::text::glob::Glob;
use crate::trouble::Trouble;

/// Matches without `maxResults`, and at most.
const USUAL: u64 = 200;
const MOST: u64 = 2_000;

/// Larger files are skipped; after so much in all the search stops.
const FILE_LIMIT: u64 = 8 << 20;
const ALL_LIMIT: u64 = 512 << 20;

/// How much of a line is shown, and how many lines around it at most.
const LINE: usize = 500;
const MOST_CONTEXT: u64 = 20;

pub(super) fn run(call: &Call<'_>) -> Result<ToolResult, Trouble> {
    let top = call.place("path")?;
    let mut search = Search::new(call)?;
    let status = call.looking().metadata(top.rel(), LastLink::Follow);
    if status.is_ok_and(|status| !status.is_dir()) {
        return of_file(call, &top, search);
    }
    let begin = search.begin.take();
    let first = match &begin {
        Some((_, relative)) => Begin::At(relative.clone()),
        None => Begin::First,
    };
    let mut walk = ToolWalk::new(call, &top, !call.flag("includeIgnored"), first)?;
    let mut next = None;
    while let Some(found) = walk.next() {
        if search
            .excluded
            .iter()
            .any(|glob| glob.matches(&found.relative))
        {
            continue;
        }
        if found.kind == FileKind::Dir {
            walk.enter(&found);
            continue;
        }
        let fits = search.include.as_ref();
        if found.kind != FileKind::File || fits.is_some_and(|glob| !glob.matches(&found.relative)) {
            continue;
        }
        let after = match &begin {
            Some((line, relative)) if walk.below_top(&found.place.path) == *relative => *line,
            _ => 0,
        };
        if let Some((why, line)) = search.look(call, &found.place, after)? {
            next = Some(cursor(line, walk.below_top(&found.place.path)));
            walk.stop(why);
            break;
        }
    }
    let last = walk.last().map(|relative| cursor(u64::MAX, relative));
    let answer = search.answer();
    Ok(walk.finish(answer, next.or(last)))
}

/// Looks into one file that was named.
fn of_file(call: &Call<'_>, place: &Location, mut search: Search) -> Result<ToolResult, Trouble> {
    // One that may not be read, or is too large, is an error here.
    let file = content::open(call, place)?;
    if file.opened_metadata().len > FILE_LIMIT {
        return Err(content::too_large(call, place));
    }
    let after = search.begin.take().map_or(0, |(line, _)| line);
    let bytes = content::read_some(&*file, 0, FILE_LIMIT)
        .map_err(|error| content::unreadable(call, &error, place))?;
    let stopped = search
        .text_of(&bytes)
        .and_then(|text| search.collect(place, &text, after));
    let cut = stopped.map(|(why, line)| Cut {
        note: format!("[This is not all: stopped {why}. Give `next` as cursor to go on.]"),
        next: Some(cursor(line, b"")),
    });
    Ok(search.answer().with_cut(cut))
}

/// Behind a line of a file.
fn cursor(line: u64, relative: &[u8]) -> String {
    call::cursor(&[format!("{line}/").as_bytes(), relative].concat())
}

struct Search {
    pattern: Regex,
    multiline: bool,
    context: u64,
    include: Option<Glob>,
    excluded: Vec<Glob>,
    /// Behind which line of which file to begin.
    begin: Option<(u64, Vec<u8>)>,
    most: u64,
    /// Bytes that the answer may still hold.
    room: usize,
    matches: u64,
    lines: Vec<String>,
    read: u64,
    skipped: usize,
}

impl Search {
    fn new(call: &Call<'_>) -> Result<Self, Trouble> {
        let invalid = |text: String| Trouble::new(ErrorKind::Invalid, text);
        let multiline = call.flag("multiline");
        let pattern = RegexBuilder::new(call.text("pattern"))
            // `^` and `$` are of lines in any case: the text is looked at as a whole first.
            .multi_line(true)
            .dot_matches_new_line(multiline)
            .size_limit(1 << 20)
            .dfa_size_limit(1 << 20)
            .build()
            .map_err(|error| invalid(format!("Invalid pattern: {error}")))?;
        let begin = call.cursor()?.map(|cursor| {
            let at = cursor.iter().position(|byte| *byte == b'/')?;
            let line = std::str::from_utf8(&cursor[..at]).ok()?;
            Some((line.parse().ok()?, cursor[at + 1..].to_owned()))
        });
        let begin = begin.map(|begin| begin.ok_or_else(|| call.bad_cursor()));
        let excluded = call.texts("excludePatterns").into_iter().map(compile);
        let limit = call.server.answer_limit();
        Ok(Self {
            pattern,
            multiline,
            context: call.count("contextLines").unwrap_or(0).min(MOST_CONTEXT),
            include: call.optional_text("include").map(compile).transpose()?,
            excluded: excluded.collect::<Result<_, _>>()?,
            begin: begin.transpose()?,
            most: call
                .count("maxResults")
                .map_or(USUAL, |most| most.clamp(1, MOST)),
            room: usize::try_from(limit).unwrap_or(usize::MAX),
            matches: 0,
            lines: Vec::new(),
            read: 0,
            skipped: 0,
        })
    }

    fn answer(&self) -> ToolResult {
        let text = match self.lines.is_empty() {
            true => "No matches found".to_owned(),
            false => self.lines.join("\n"),
        };
        let skipped = (self.skipped > 0).then(|| {
            format!(
                "[{} files are larger than {FILE_LIMIT} bytes and were skipped.]",
                self.skipped
            )
        });
        ToolResult::text(text).with_note(skipped)
    }

    /// Looks into one file, behind a line. Why to stop, and behind which line, if that is the end.
    fn look(
        &mut self,
        call: &Call<'_>,
        place: &Location,
        after: u64,
    ) -> Result<Option<(String, u64)>, Trouble> {
        let Ok(file) = call.looking().open(place.rel(), OpenOptions::new()) else {
            // Protected, gone, or not a file any more.
            return Ok(None);
        };
        if file.opened_metadata().len > FILE_LIMIT {
            self.skipped += 1;
            return Ok(None);
        }
        let Ok(mut bytes) = content::read_some(&*file, 0, FILE_LIMIT) else {
            return Ok(None);
        };
        self.read += bytes.len() as u64;
        if self.text_of(&bytes).is_some() {
            // What is given out is in the log, like any other read.
            let logged = call.files().open(place.rel(), OpenOptions::new());
            let logged = logged.map_err(|error| call.trouble(&error, "open", place))?;
            let object = |file: &dyn FileHandle| file.opened_metadata().identity;
            if !object(&*logged).same_object(&object(&*file)) {
                // Another file has the name now. The lines must be of the one that is in the log.
                bytes = content::read_some(&*logged, 0, FILE_LIMIT)
                    .map_err(|error| content::unreadable(call, &error, place))?;
            }
            let text = self.text_of(&bytes);
            let stopped = text.and_then(|text| self.collect(place, &text, after));
            if stopped.is_some() {
                return Ok(stopped);
            }
        }
        let spent = self.read > ALL_LIMIT;
        Ok(spent.then(|| (format!("after {ALL_LIMIT} bytes of files"), u64::MAX)))
    }

    /// The text of a file in which something fits.
    fn text_of<'a>(&self, bytes: &'a [u8]) -> Option<Cow<'a, str>> {
        let is_binary = bytes.iter().take(8192).any(|byte| *byte == 0);
        let text = String::from_utf8_lossy(bytes);
        (!is_binary && self.pattern.is_match(&text)).then_some(text)
    }

    /// Takes the lines of one file.
    fn collect(&mut self, place: &Location, text: &str, after: u64) -> Option<(String, u64)> {
        let lines: Vec<&str> = text.lines().collect();
        let hits = match self.multiline {
            true => spans(&self.pattern, text),
            false => (1_u64..)
                .zip(&lines)
                .filter(|(_, line)| self.pattern.is_match(line))
                .map(|(number, _)| (number, number))
                .collect(),
        };
        let mut shown = after;
        for (first, last) in hits.into_iter().filter(|(first, _)| *first > after) {
            if self.matches == self.most {
                return Some((format!("after {} matches", self.most), shown));
            }
            let from = first.saturating_sub(self.context).max(shown + 1);
            let to = (last + self.context).min(lines.len() as u64);
            if self.context > 0 && from > shown + 1 && !self.lines.is_empty() {
                self.lines.push("--".to_owned());
            }
            for number in from..=to {
                let is_hit = (first..=last).contains(&number);
                let index = usize::try_from(number - 1).unwrap_or(usize::MAX);
                let line = lines.get(index).copied().unwrap_or_default();
                let line: String = line.chars().take(LINE).collect();
                let mark = if is_hit { ':' } else { '-' };
                let line = format!("{}{mark}{number}{mark}{line}", place.shown);
                if self.room < line.len() {
                    let why = "at the size that one answer may have".to_owned();
                    return Some((why, number - 1));
                }
                self.room = self.room.saturating_sub(line.len() + 1);
                self.lines.push(line);
            }
            shown = shown.max(to);
            self.matches += 1;
        }
        None
    }
}

/// The lines that matches reach from and to, in order.
fn spans(pattern: &Regex, text: &str) -> Vec<(u64, u64)> {
    let mut found = Vec::new();
    let (mut line, mut at) = (1, 0);
    for hit in pattern.find_iter(text) {
        let breaks = |part: &str| part.bytes().filter(|byte| *byte == b'\n').count() as u64;
        line += breaks(&text[at..hit.start()]);
        at = hit.start();
        let inside = hit.as_str();
        let inside = inside.strip_suffix('\n').unwrap_or(inside);
        found.push((line, line + breaks(inside)));
    }
    found
}
