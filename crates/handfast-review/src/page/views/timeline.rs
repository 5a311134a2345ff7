//! What was done, from the log, with what its verification came to.

use super::{PageFrame, end, head, news, time};
use crate::page::html::Html;
use crate::protocol::TimelineView;

pub(in crate::page) fn timeline(frame: &PageFrame<'_>, view: &TimelineView) -> String {
    let mut html = Html::default();
    head(&mut html, frame, "Timeline", "timeline");
    news(&mut html, &view.stamp, |html| {
        html.raw("log");
    });
    html.raw("<h1>Timeline</h1><p id=verdict class=\"verdict ");
    html.text(&view.state).raw("\">").text(&view.verdict);
    html.raw("</p>");
    if !view.problems.is_empty() {
        html.raw("<ul class=plain>");
        for problem in &view.problems {
            html.raw("<li class=conflict>").text(problem).raw("</li>");
        }
        html.raw("</ul>");
    }
    let shown = view.events.len() as u64;
    if shown < view.total {
        html.raw("<p class=missing>Not shown: ")
            .text(view.total - shown);
        html.raw(" older events; <code>handfast log show</code> lists all.</p>");
    }
    html.raw("<ol class=list reversed>");
    for event in &view.events {
        html.raw("<li class=item data-item tabindex=-1><span class=facts>");
        html.text(event.index)
            .raw(" \u{b7} ")
            .text(time(&event.time));
        html.raw("</span> ").text(&event.who).raw(" ");
        if event.refused {
            html.raw("<strong class=conflict>refused</strong> ");
        }
        html.raw("<span class=kind>")
            .text(&event.kind)
            .raw("</span> ");
        html.text(&event.text).raw("</li>");
    }
    html.raw("</ol>");
    end(&mut html);
    html.done()
}
