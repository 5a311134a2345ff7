//! What a person sees, one file a view.

mod changes;
mod diff;
mod file;
mod inbox;
mod leases;
mod outcome;
mod plan;
mod sessions;
mod timeline;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest, Sha256};

pub(super) use changes::changes;
pub(super) use file::file;
pub(super) use inbox::inbox;
pub(super) use leases::leases;
pub(super) use outcome::{done, refused};
pub(super) use plan::plan;
pub(super) use sessions::sessions;
pub(super) use timeline::timeline;

use super::html::Html;
use crate::protocol::{CommentLine, Item};

/// The one script.
pub(super) const SCRIPT: &str = include_str!("script.js");
/// The one style.
pub(super) const STYLE: &str = include_str!("style.css");

/// What every view knows.
pub(super) struct PageFrame<'a> {
    /// Whether one session is shown and no other.
    pub(super) only: bool,
    /// Whether both sides of a file are shown side by side.
    pub(super) is_split: bool,
    /// The session, if the view is about one.
    pub(super) session: &'a str,
}

/// A script or a style as the content security policy names it.
pub(super) fn digest_of(text: &str) -> String {
    format!("sha256-{}", STANDARD.encode(Sha256::digest(text)))
}

/// What a browser sees that has only the token.
pub(super) fn entry() -> String {
    let mut html = Html::default();
    begin(&mut html, "Handfast review", "entry");
    html.raw("<main id=main><h1>Handfast review</h1><p id=said role=status>Open the address that ")
        .raw("<code>handfast review</code> printed, with the part after <code>#</code>.</p>")
        .raw("<noscript><p>The way in needs JavaScript, once.</p></noscript></main>");
    end(&mut html);
    html.done()
}

/// A page from its first byte to the beginning of its content.
fn head(html: &mut Html, frame: &PageFrame<'_>, title: &str, view: &str) {
    begin(html, title, view);
    html.raw("<header><nav aria-label=Places>");
    if !frame.only {
        html.raw("<a href=\"/\">Sessions</a>");
    }
    if !frame.session.is_empty() {
        html.raw("<a href=\"/s/").url(frame.session).raw("\">");
        html.text(frame.session).raw("</a>");
    }
    for (address, words, its_view) in [
        ("inbox", "Questions", "inbox"),
        ("log", "Timeline", "timeline"),
        ("leases", "Leases", "leases"),
    ] {
        html.raw("<a href=\"/").raw(address).raw("?session=");
        html.url(frame.session);
        html.raw(match its_view == view {
            true => "\" aria-current=page>",
            false => "\">",
        });
        html.raw(words).raw("</a>");
    }
    html.raw("</nav>")
        .raw("<button type=button id=keys aria-expanded=false aria-controls=help>Keys <kbd>?</kbd></button></header>")
        .raw("<div id=news role=status hidden>The session changed. <button type=button id=reload>Show it <kbd>.</kbd></button></div>")
        .raw("<p id=gone role=status hidden>This page does not hear from <code>handfast review</code>: it shows what was, and tries again.</p>")
        .raw("<section id=help hidden aria-label=\"Keys\"><dl>")
        .raw("<dt><kbd>j</kbd> <kbd>k</kbd></dt><dd>next, previous change or hunk</dd>")
        .raw("<dt><kbd>x</kbd></dt><dd>mark it for the commit</dd><dt><kbd>r</kbd></dt><dd>reject it with a comment</dd>")
        .raw("<dt><kbd>o</kbd></dt><dd>open it</dd><dt><kbd>n</kbd> <kbd>p</kbd></dt><dd>next, previous file or page</dd>")
        .raw("<dt><kbd>c</kbd></dt><dd>what a commit would do</dd><dt><kbd>v</kbd></dt><dd>unified, side by side</dd>")
        .raw("<dt><kbd>b</kbd></dt><dd>back to the changes</dd><dt><kbd>.</kbd></dt><dd>look again</dd></dl></section>");
    html.raw("<main id=main tabindex=-1>");
}

fn begin(html: &mut Html, title: &str, view: &str) {
    html.raw("<!doctype html><html lang=en><head><meta charset=utf-8>")
        .raw("<meta name=viewport content=\"width=device-width,initial-scale=1\">")
        .raw("<meta name=color-scheme content=\"light dark\"><title>")
        .text(title)
        .raw("</title><style>")
        .raw(STYLE)
        .raw("</style></head><body data-view=\"")
        .text(view)
        .raw("\"><a class=skip href=\"#main\">To the content</a>");
}

fn end(html: &mut Html) {
    html.raw("</main><script>")
        .raw(SCRIPT)
        .raw("</script></body></html>");
}

/// What the script compares news with. The address of the news is added by the caller.
fn news(html: &mut Html, stamp: &str, about: impl FnOnce(&mut Html)) {
    html.raw("<span hidden id=stamp data-stamp=\"").text(stamp);
    html.raw("\" data-url=\"/news?about=");
    about(html);
    html.raw("\"></span>");
}

/// What is known of a change besides its name: flags and conflicts stand out by words.
fn marks(html: &mut Html, item: &Item) {
    if let Some((added, removed)) = item.lines {
        html.raw("<span class=stat><span class=plus>+").text(added);
        html.raw("</span> <span class=minus>\u{2212}").text(removed);
        html.raw("</span></span> ");
    }
    html.raw("<span class=facts>");
    if let Some(from) = &item.from {
        html.text("was ").text(from).text(" ");
    }
    html.text(&item.facts).raw("</span>");
    for flag in &item.flags {
        html.raw(" <strong class=flag>").text(flag).raw("</strong>");
    }
    if item.ignored {
        html.raw(" <span class=tag>ignored by git</span>");
    }
    if let Some(why) = &item.meanwhile {
        html.raw(" <strong class=conflict>changed by others: ")
            .text(why)
            .raw("</strong>");
    }
}

fn comments(html: &mut Html, comments: &[CommentLine]) {
    if comments.is_empty() {
        return;
    }
    html.raw("<ul class=comments aria-label=Comments>");
    for comment in comments {
        html.raw("<li><strong>Rejected");
        if comment.hunk.is_some() {
            html.raw(" (a hunk)");
        }
        html.raw("</strong>");
        if comment.outdated {
            html.raw(" <span class=tag>the file was changed since</span>");
        }
        html.raw(" <span class=said>").text(&comment.text);
        html.raw("</span> <small>").text(&comment.by).raw(", ");
        html.text(time(&comment.made)).raw("</small></li>");
    }
    html.raw("</ul>");
}

/// A time to the second; the log and the session have it to the nanosecond.
fn time(text: &str) -> String {
    match text.split_once('.') {
        Some((seconds, _)) if text.ends_with('Z') => format!("{seconds}Z"),
        _ => text.to_owned(),
    }
}

/// A number of things.
fn counted(count: usize, one: &str, many: &str) -> String {
    match count {
        1 => format!("1 {one}"),
        _ => format!("{count} {many}"),
    }
}

/// The field that says which session a form is about.
fn session_field(html: &mut Html, session: &str) {
    html.raw("<input type=hidden name=session value=\"")
        .text(session)
        .raw("\">");
}
