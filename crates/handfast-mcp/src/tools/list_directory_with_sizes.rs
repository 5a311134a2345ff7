//! `list_directory_with_sizes`: names as people sort them, or the largest first.

use handfast::files::LastLink;

use super::{list_directory, pages};
use crate::answer::ToolResult;
use crate::call::Call;
use crate::text::{collate, names, size};
use crate::trouble::Trouble;

struct Sized {
    name: String,
    is_dir: bool,
    len: u64,
}

pub(super) fn run(call: &Call<'_>) -> Result<ToolResult, Trouble> {
    let place = call.place("path")?;
    let page = pages::page(call, &place)?;
    let mut found: Vec<Sized> = page
        .shown
        .iter()
        .map(|entry| {
            let path = place.path.join(&entry.name);
            // A link that does not lead to something inside has no size to tell.
            let status = call.looking().metadata(path.as_rel(), LastLink::Follow);
            Sized {
                name: names::shown(entry.name.as_bytes()).into_owned(),
                is_dir: list_directory::is_dir(call, &place, entry),
                len: status.map_or(0, |status| status.len),
            }
        })
        .collect();
    match call.optional_text("sortBy") {
        Some("size") => found.sort_by_key(|entry| std::cmp::Reverse(entry.len)),
        _ => found.sort_by(|one, other| collate::compare(&one.name, &other.name)),
    }
    let mut lines: Vec<String> = found.iter().map(line).collect();
    let files = found.iter().filter(|entry| !entry.is_dir);
    let count = files.clone().count();
    let sum = files.fold(0, |sum: u64, entry| sum.saturating_add(entry.len));
    lines.push(String::new());
    lines.push(format!(
        "Total: {count} files, {} directories",
        found.len() - count
    ));
    lines.push(format!("Combined size: {}", size::human(sum)));
    let note = page
        .cut
        .is_some()
        .then(|| "[Order and totals are of these entries only.]".to_owned());
    Ok(ToolResult::text(lines.join("\n"))
        .with_cut(page.cut)
        .with_note(note)
        .with_note(page.note))
}

fn line(entry: &Sized) -> String {
    let kind = if entry.is_dir { "[DIR]" } else { "[FILE]" };
    // Widths count as JavaScript counts: in UTF-16.
    let width = entry.name.encode_utf16().count();
    let blanks = " ".repeat(30_usize.saturating_sub(width));
    let len = match entry.is_dir {
        true => String::new(),
        false => format!("{:>10}", size::human(entry.len)),
    };
    format!("{kind} {}{blanks} {len}", entry.name)
}
