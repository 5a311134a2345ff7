//! One change: what it was and is, its lines, and what to do about it.

use super::{PageFrame, comments, diff, end, head, marks, news, session_field};
use crate::page::highlight::MAX_COLOURS;
use crate::page::html::Html;
use crate::protocol::{FileView, HunkView, LINES, SideLines};

pub(in crate::page) fn file(frame: &PageFrame<'_>, file: &FileView) -> String {
    let mut html = Html::default();
    let item = &file.item;
    head(&mut html, frame, &item.path, "file");
    news(&mut html, &file.stamp, |html| {
        html.raw("change&amp;session=").url(&file.session);
        html.raw("&amp;path=").url(&item.key);
    });
    html.raw("<h1 class=path><span class=\"kind ")
        .text(&item.kind);
    html.raw("\">").text(&item.kind).raw("</span> ");
    html.text(&item.path).raw("</h1><p>");
    marks(&mut html, item);
    html.raw("</p>");
    places(&mut html, frame, file);
    comments(&mut html, &item.comments);
    sides(&mut html, file);
    images(&mut html, file);
    if let Some(words) = &file.not_shown {
        html.raw("<p class=missing>Not shown: ").text(words);
        html.raw(".</p>");
    }
    if file.more_with_full {
        html.raw("<p class=missing>A part is not shown. <a href=\"");
        address(&mut html, file, &file.item.key, frame.is_split);
        html.raw("&amp;full=1\">Show all of it</a></p>");
    }
    let mut colours = MAX_COLOURS;
    for (number, hunk) in file.hunks.iter().enumerate() {
        one_hunk(&mut html, frame, file, (hunk, number + 1), &mut colours);
    }
    parts(&mut html, frame, file);
    decide(&mut html, file);
    end(&mut html);
    html.done()
}

fn address(html: &mut Html, file: &FileView, key: &str, is_split: bool) {
    html.raw("/s/")
        .url(&file.session)
        .raw("/file?path=")
        .url(key);
    if is_split {
        html.raw("&amp;view=split");
    }
}

/// The files before and after, and the other view.
fn places(html: &mut Html, frame: &PageFrame<'_>, file: &FileView) {
    html.raw("<nav class=pages aria-label=\"Other files\">");
    let (before, after) = &file.neighbours;
    for (key, rel, words) in [
        (before, "data-prev", "Previous file <kbd>p</kbd>"),
        (after, "data-next", "Next file <kbd>n</kbd>"),
    ] {
        if let Some(key) = key {
            html.raw("<a ").raw(rel).raw(" href=\"");
            address(html, file, key, frame.is_split);
            html.raw("\">").raw(words).raw("</a> ");
        }
    }
    if !file.hunks.is_empty() {
        html.raw("<a data-view-other href=\"");
        address(html, file, &file.item.key, !frame.is_split);
        if file.full {
            html.raw("&amp;full=1");
        }
        html.raw(match frame.is_split {
            true => "\">Unified <kbd>v</kbd></a>",
            false => "\">Side by side <kbd>v</kbd></a>",
        });
    }
    html.raw("</nav>");
}

fn sides(html: &mut Html, file: &FileView) {
    html.raw("<details class=sides><summary>Kind, mode, size, digest</summary><div class=two>");
    for (words, side) in [
        ("In the base", &file.before),
        ("After a commit", &file.after),
    ] {
        html.raw("<section><h2>").raw(words).raw("</h2>");
        match side {
            None => html.raw("<p>nothing</p>"),
            Some(side) => facts(html, side),
        };
        html.raw("</section>");
    }
    html.raw("</div></details>");
}

fn facts<'a>(html: &'a mut Html, side: &SideLines) -> &'a mut Html {
    html.raw("<dl>");
    for (name, value) in &side.facts {
        html.raw("<dt>").text(name).raw("</dt><dd>");
        html.text(value).raw("</dd>");
    }
    html.raw("</dl>")
}

fn images(html: &mut Html, file: &FileView) {
    let image = |side: &Option<SideLines>| side.as_ref().and_then(|side| side.image.clone());
    let (before, after) = (image(&file.before), image(&file.after));
    if before.is_none() && after.is_none() {
        return;
    }
    html.raw("<div class=two>");
    for (words, which, digest) in [
        ("In the base", "before", before),
        ("After a commit", "after", after),
    ] {
        html.raw("<figure><figcaption>")
            .raw(words)
            .raw("</figcaption>");
        match digest {
            None => html.raw("<p>no image</p>"),
            Some(digest) => html
                .raw("<img alt=\"")
                .raw(words)
                .raw("\" src=\"/s/")
                .url(&file.session)
                .raw("/image?path=")
                .url(&file.item.key)
                .raw("&amp;side=")
                .raw(which)
                .raw("&amp;digest=")
                .url(&digest)
                .raw("\">"),
        };
        html.raw("</figure>");
    }
    html.raw("</div>");
}

fn one_hunk(
    html: &mut Html,
    frame: &PageFrame<'_>,
    file: &FileView,
    (hunk, number): (&HunkView, usize),
    colours: &mut usize,
) {
    html.raw("<section class=hunk data-item tabindex=-1 aria-labelledby=h")
        .text(number);
    html.raw("><h2 id=h").text(number).raw(">");
    if file.by_hunk && file.item.seal.is_some() && hunk.before == 0 {
        html.raw("<input type=checkbox form=accept name=hunk id=m")
            .text(number);
        html.raw(" value=\"")
            .text(&hunk.id)
            .raw("\"><label for=m")
            .text(number);
        html.raw(">Hunk ").text(number).raw("</label>");
    } else {
        html.raw("Hunk ").text(number);
    }
    html.raw(" <span class=facts>").text(&hunk.header);
    html.raw("</span></h2>");
    diff::hunk(html, &file.item.path, hunk, frame.is_split, colours);
    if file.by_hunk && hunk.before == 0 {
        reject(html, file, Some(&hunk.id), number);
    }
    html.raw("</section>");
}

/// The other parts of a long file.
fn parts(html: &mut Html, frame: &PageFrame<'_>, file: &FileView) {
    let shown: usize = file.hunks.iter().map(|hunk| hunk.lines.len()).sum();
    if shown == file.lines {
        return;
    }
    html.raw("<nav class=pages aria-label=\"Parts of the file\">");
    let mut link = |skip: usize, words: &'static str| {
        html.raw("<a href=\"");
        address(html, file, &file.item.key, frame.is_split);
        if file.full {
            html.raw("&amp;full=1");
        }
        html.raw("&amp;skip=").text(skip).raw("\">").raw(words);
        html.raw("</a> ");
    };
    if file.skip > 0 {
        link(file.skip.saturating_sub(LINES), "Previous lines");
    }
    if file.skip + shown < file.lines {
        link(file.skip + shown, "Next lines");
    }
    html.raw("<span>").text(shown).raw(" of ").text(file.lines);
    html.raw(" lines; the others are not shown here</span></nav>");
}

/// What to do about it.
fn decide(html: &mut Html, file: &FileView) {
    html.raw("<div class=bar>");
    let Some(seal) = &file.item.seal else {
        html.raw("<p>It may not be shown, so it cannot be accepted here.</p></div>");
        return;
    };
    html.raw("<form method=post action=\"/plan\" id=accept>");
    session_field(html, &file.session);
    if file.by_hunk {
        html.raw(
            "<button type=submit id=commit>Commit marked hunks\u{2026} <kbd>c</kbd></button> ",
        );
    }
    html.raw("<button type=submit name=accept ");
    html.raw(if file.by_hunk { "" } else { "id=commit " });
    html.raw("value=\"")
        .text(seal)
        .raw(" ")
        .text(&file.item.key);
    html.raw("\">Commit the whole change\u{2026}</button></form>");
    reject(html, file, None, 0);
    html.raw("</div>");
}

fn reject(html: &mut Html, file: &FileView, hunk: Option<&str>, number: usize) {
    let Some(seal) = &file.item.seal else {
        return;
    };
    html.raw("<details class=reject><summary>Reject ");
    match hunk {
        Some(_) => html.raw("hunk ").text(number),
        None => html.raw("the whole change"),
    };
    html.raw("\u{2026}</summary><form method=post action=\"/reject\">");
    session_field(html, &file.session);
    html.raw("<input type=hidden name=path value=\"")
        .text(&file.item.key);
    html.raw("\"><input type=hidden name=seal value=\"")
        .text(seal);
    html.raw("\"><input type=hidden name=hunk value=\"")
        .text(hunk.unwrap_or_default());
    html.raw("\"><label for=t").text(number);
    html.raw(">Comment for the agent; the change stays in the session</label><textarea name=text required maxlength=4000 rows=3 id=t");
    html.text(number);
    html.raw("></textarea><button type=submit>Reject with this comment</button></form></details>");
}
