//! Changed lines, one below the other or side by side.

use crate::page::highlight::{self, Token};
use crate::page::html::Html;
use crate::protocol::{HunkView, LineView};

/// A line and its pieces.
type Row<'a> = (&'a LineView, Vec<Token<'a>>);

/// The lines of a hunk of a file as a table.
pub(super) fn hunk(
    html: &mut Html,
    path: &str,
    hunk: &HunkView,
    is_split: bool,
    colours: &mut usize,
) {
    if hunk.before > 0 {
        html.raw("<p class=tag>").text(hunk.before);
        html.raw(" lines of this hunk come before these</p>");
    }
    html.raw("<div class=scroll tabindex=0 role=region aria-label=\"Lines ");
    html.text(&hunk.header).raw("\"><table class=\"diff");
    html.raw(if is_split { " split" } else { "" });
    html.raw("\"><tbody>");
    let tokens = highlight::hunk(highlight::language(path), hunk, colours);
    let rows: Vec<Row<'_>> = hunk.lines.iter().zip(tokens).collect();
    match is_split {
        true => split(html, hunk.starts, &rows),
        false => unified(html, hunk.starts, &rows),
    }
    html.raw("</tbody></table></div>");
    if hunk.after > 0 {
        html.raw("<p class=tag>not shown here: ").text(hunk.after);
        html.raw(" more lines of this hunk</p>");
    }
}

fn unified(html: &mut Html, starts: (usize, usize), rows: &[Row<'_>]) {
    let (mut old, mut new) = starts;
    for row in rows {
        let line = row.0;
        row_start(html, line.sign);
        let is_old = line.sign != '+';
        let is_new = line.sign != '-';
        number(html, is_old.then_some(old));
        number(html, is_new.then_some(new));
        cell(html, Some(row));
        html.raw("</tr>");
        old += usize::from(is_old);
        new += usize::from(is_new);
    }
}

/// Removed lines stand beside the added ones that follow them.
fn split(html: &mut Html, starts: (usize, usize), rows: &[Row<'_>]) {
    let (mut old, mut new) = starts;
    let mut at = 0;
    while let Some(line) = rows.get(at) {
        if line.0.sign == ' ' {
            html.raw("<tr>");
            number(html, Some(old));
            cell(html, Some(line));
            number(html, Some(new));
            cell(html, Some(line));
            html.raw("</tr>");
            (at, old, new) = (at + 1, old + 1, new + 1);
            continue;
        }
        let run = |from: usize, sign: char| {
            let rest = rows[from..].iter();
            rest.take_while(|(line, _)| line.sign == sign).count()
        };
        let removed = run(at, '-');
        let added = run(at + removed, '+');
        for row in 0..removed.max(added) {
            let one = (row < removed).then(|| &rows[at + row]);
            let two = (row < added).then(|| &rows[at + removed + row]);
            html.raw("<tr>");
            number(html, one.map(|_| old + row));
            cell(html, one);
            number(html, two.map(|_| new + row));
            cell(html, two);
            html.raw("</tr>");
        }
        (at, old, new) = (at + removed + added, old + removed, new + added);
    }
}

fn row_start(html: &mut Html, sign: char) {
    html.raw(match sign {
        '+' => "<tr class=add>",
        '-' => "<tr class=del>",
        _ => "<tr>",
    });
}

fn number(html: &mut Html, number: Option<usize>) {
    html.raw("<td class=no>");
    if let Some(number) = number {
        html.text(number);
    }
    html.raw("</td>");
}

fn cell(html: &mut Html, row: Option<&Row<'_>>) {
    let Some((line, tokens)) = row else {
        html.raw("<td class=none></td>");
        return;
    };
    html.raw(match line.sign {
        '+' => "<td class=add><span class=sign>+<span class=away>added </span></span>",
        '-' => "<td class=del><span class=sign>\u{2212}<span class=away>removed </span></span>",
        _ => "<td><span class=sign> </span>",
    });
    html.raw("<code>").tokens(tokens).raw("</code>");
    if line.cut > 0 {
        html.raw(" <span class=tag>not shown: ").text(line.cut);
        html.raw(" more bytes of this line</span>");
    }
    if !line.ended {
        html.raw(" <span class=tag>no newline at the end</span>");
    }
    html.raw("</td>");
}
