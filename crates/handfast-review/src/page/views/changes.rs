//! What waits in a session: its changes by directory, and the commits that can be taken back.

use super::{PageFrame, comments, counted, end, head, marks, session_field};
use crate::page::html::Html;
use crate::protocol::{Item, Listing, PAGE, PastLine};

pub(in crate::page) fn changes(frame: &PageFrame<'_>, listing: &Listing) -> String {
    let mut html = Html::default();
    let title = format!("{} \u{b7} review", listing.session);
    head(&mut html, frame, &title, "changes");
    html.raw("<h1>").text(&listing.session).raw("</h1>");
    html.raw("<p id=stamp data-stamp=\"").text(&listing.stamp);
    html.raw("\" data-url=\"/s/").url(&listing.session);
    html.raw("/stamp?skip=").text(listing.skip).raw("\">");
    html.text(counted(listing.total, "change waits", "changes wait"));
    html.raw(".");
    if !listing.snapshots.is_empty() {
        html.raw(" Snapshots: ").text(listing.snapshots.join(", "));
        html.raw(".");
    }
    html.raw("</p>");
    pages(&mut html, listing);
    if !listing.items.is_empty() {
        html.raw("<form method=post action=\"/plan\" id=plan>");
        session_field(&mut html, &listing.session);
        tree(&mut html, listing);
        html.raw("<p class=bar><button type=submit id=commit>Commit what is marked\u{2026} <kbd>c</kbd></button> ");
        html.raw(
            "<button type=submit name=all value=1>Commit everything\u{2026}</button></p></form>",
        );
    }
    pages(&mut html, listing);
    past(&mut html, listing);
    end(&mut html);
    html.done()
}

/// One heading a directory, with what was changed in it.
fn tree(html: &mut Html, listing: &Listing) {
    let mut parent: Option<&str> = None;
    for (number, item) in listing.items.iter().enumerate() {
        if parent != Some(&item.parent) {
            if parent.is_some() {
                html.raw("</ul>");
            }
            html.raw("<h2 class=dir>").text(&item.parent);
            html.raw("</h2><ul class=list>");
            parent = Some(&item.parent);
        }
        row(html, &listing.session, item, listing.skip + number);
    }
    html.raw("</ul>");
}

fn row(html: &mut Html, session: &str, item: &Item, number: usize) {
    html.raw("<li class=item data-item><span class=mark>");
    if let Some(seal) = &item.seal {
        html.raw("<input type=checkbox name=accept id=a")
            .text(number);
        html.raw(" value=\"").text(seal).raw(" ").text(&item.key);
        html.raw("\"><label for=a").text(number);
        html.raw("><span class=away>accept ").text(&item.path);
        html.raw("</span></label>");
    }
    html.raw("</span><span class=\"kind ")
        .text(&item.kind)
        .raw("\">");
    html.text(&item.kind).raw("</span> <a data-open href=\"/s/");
    html.url(session)
        .raw("/file?path=")
        .url(&item.key)
        .raw("\">");
    let name = item.path.rsplit('/').next().unwrap_or(&item.path);
    html.text(name);
    if item.is_dir {
        html.raw("/");
    }
    html.raw("<span class=away> in ").text(&item.parent);
    html.raw("</span></a> ");
    marks(html, item);
    if item.seal.is_none() {
        html.raw(" <span class=tag>may not be shown, so it cannot be accepted here</span>");
    }
    comments(html, &item.comments);
    html.raw("</li>");
}

/// Where the other pages are. What is not on this one is said.
fn pages(html: &mut Html, listing: &Listing) {
    let shown = listing.items.len();
    if shown == listing.total {
        return;
    }
    html.raw("<nav class=pages aria-label=Pages>");
    let link = |html: &mut Html, skip: usize, rel: &'static str, words: &'static str| {
        html.raw("<a ")
            .raw(rel)
            .raw(" href=\"/s/")
            .url(&listing.session);
        html.raw("?skip=")
            .text(skip)
            .raw("\">")
            .raw(words)
            .raw("</a> ");
    };
    if listing.skip > 0 {
        let skip = listing.skip.saturating_sub(PAGE);
        link(html, skip, "data-prev", "Previous <kbd>p</kbd>");
    }
    html.raw("<span>").text(listing.skip + 1).raw(" to ");
    html.text(listing.skip + shown).raw(" of ");
    html.text(listing.total).raw("; ");
    html.text(listing.total - shown)
        .raw(" not shown here</span> ");
    if listing.skip + shown < listing.total {
        link(html, listing.skip + shown, "data-next", "Next <kbd>n</kbd>");
    }
    html.raw("</nav>");
}

fn past(html: &mut Html, listing: &Listing) {
    if listing.past.is_empty() {
        return;
    }
    html.raw("<section><h2>Commits</h2><ol class=list>");
    for commit in &listing.past {
        html.raw("<li class=item>").text(&commit.made);
        if let Some(message) = &commit.message {
            html.raw(" \u{b7} ").text(message);
        }
        if let Some(why) = &commit.why_not {
            html.raw(" <span class=tag>cannot be taken back: ")
                .text(why);
            html.raw("</span>");
        }
        undo(html, &listing.session, commit);
        html.raw("</li>");
    }
    html.raw("</ol></section>");
}

/// Taking a commit back: what it does to the base, then the button.
fn undo(html: &mut Html, session: &str, commit: &PastLine) {
    html.raw("<details><summary>");
    let count = commit.changes.len() + commit.more;
    match commit.seal.is_some() {
        true => html.raw("Take it back\u{2026} "),
        false => html,
    };
    html.text(counted(count, "path", "paths"));
    html.raw("</summary><ul class=plain>");
    for (kind, path) in &commit.changes {
        html.raw("<li><span class=kind>").text(kind).raw("</span> ");
        html.text(path).raw("</li>");
    }
    if commit.more > 0 {
        html.raw("<li>not shown: ")
            .text(counted(commit.more, "path", "paths"));
        html.raw("</li>");
    }
    html.raw("</ul>");
    if let Some(seal) = &commit.seal {
        html.raw("<form method=post action=\"/undo\">");
        session_field(html, session);
        html.raw("<input type=hidden name=seal value=\"").text(seal);
        html.raw("\"><p>The base directory gets back what it had; the changes are the session's again.</p>");
        html.raw("<button type=submit>Take this commit back</button></form>");
    }
    html.raw("</details>");
}
