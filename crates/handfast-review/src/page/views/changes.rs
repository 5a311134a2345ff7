//! What waits in a session: its changes by directory, and the commits that can be taken back.

use super::{PageFrame, comments, counted, end, head, marks, news, session_field, time};
use crate::page::html::Html;
use crate::protocol::{Item, Listing, PAGE, PastLine};

pub(in crate::page) fn changes(frame: &PageFrame<'_>, listing: &Listing) -> String {
    let mut html = Html::default();
    let title = format!("{} \u{b7} review", listing.session);
    head(&mut html, frame, &title, "changes");
    html.raw("<h1>").text(&listing.session).raw("</h1>");
    news(&mut html, &listing.stamp, |html| {
        html.raw("changes&amp;session=").url(&listing.session);
        html.raw("&amp;skip=").text(listing.skip);
    });
    html.raw("<p id=count>");
    html.text(counted(listing.total, "change waits", "changes wait"));
    html.raw(".</p>");
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
    snapshots(&mut html, listing);
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
    html.raw("<section id=past><h2>Commits</h2><ol class=list>");
    for commit in &listing.past {
        html.raw("<li class=item>").text(time(&commit.made));
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

/// Snapshots: each with the way back to it, and a field for a new one.
fn snapshots(html: &mut Html, listing: &Listing) {
    html.raw("<section id=snapshots><h2>Snapshots</h2>");
    if !listing.snapshots.is_empty() {
        html.raw("<ul class=list>");
    }
    for snapshot in &listing.snapshots {
        html.raw("<li class=item>").text(&snapshot.label);
        html.raw("<details><summary>Go back to it\u{2026}</summary><form method=post action=\"/go-back\">");
        session_field(html, &listing.session);
        html.raw("<input type=hidden name=label value=\"")
            .text(&snapshot.label);
        html.raw("\"><input type=hidden name=skip value=\"")
            .text(listing.skip);
        html.raw("\"><input type=hidden name=seal value=\"")
            .text(&snapshot.seal);
        html.raw("\"><p>The session gets back the changes that it had then. The ")
            .text(counted(listing.total, "change", "changes"))
            .raw(" that it has now are kept as another snapshot. The base directory stays as it is.</p>")
            .raw("<button type=submit>Go back to ")
            .text(&snapshot.label)
            .raw("</button></form></details></li>");
    }
    if !listing.snapshots.is_empty() {
        html.raw("</ul>");
    }
    html.raw("<form method=post action=\"/snapshot\" class=line>");
    session_field(html, &listing.session);
    html.raw("<label for=label>Label</label><input id=label name=label required maxlength=60 autocomplete=off> ")
        .raw("<button type=submit>Take a snapshot</button></form></section>");
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
