//! What was done, or why nothing was.

use super::{PageFrame, end, head};
use crate::page::html::Html;
use crate::protocol::DoneView;

pub(in crate::page) fn done(frame: &PageFrame<'_>, done: &DoneView) -> String {
    let frame = PageFrame {
        session: &done.session,
        ..*frame
    };
    let mut html = Html::default();
    head(&mut html, &frame, &done.sentence, "done");
    html.raw("<h1 role=status>")
        .text(&done.sentence)
        .raw("</h1>");
    if !done.conflicts.is_empty() {
        html.raw("<h2>In conflict: these stay in the session</h2><ul class=plain>");
        for (path, why) in &done.conflicts {
            html.raw("<li><strong class=conflict>").text(path);
            html.raw("</strong> ").text(why).raw("</li>");
        }
        html.raw("</ul>");
    }
    html.raw("<ul class=plain>");
    for path in &done.paths {
        html.raw("<li>").text(path).raw("</li>");
    }
    html.raw("</ul>");
    for note in &done.notes {
        html.raw("<p class=missing>").text(note).raw("</p>");
    }
    back(&mut html, &frame);
    end(&mut html);
    html.done()
}

pub(in crate::page) fn refused(frame: &PageFrame<'_>, why: &str) -> String {
    let mut html = Html::default();
    head(&mut html, frame, "Nothing was done", "refused");
    html.raw("<h1 role=alert>Nothing was done</h1><p class=missing>");
    html.text(why).raw(".</p>");
    back(&mut html, frame);
    end(&mut html);
    html.done()
}

fn back(html: &mut Html, frame: &PageFrame<'_>) {
    html.raw("<p class=bar><a data-back autofocus href=\"/");
    if !frame.session.is_empty() {
        html.raw("s/").url(frame.session);
    }
    html.raw("\">Back to the changes <kbd>b</kbd></a></p>");
}
