//! The sessions that wait.

use super::{PageFrame, counted, end, head, news};
use crate::page::html::Html;
use crate::protocol::SessionLine;

pub(in crate::page) fn sessions(
    frame: &PageFrame<'_>,
    sessions: &[SessionLine],
    stamp: &str,
) -> String {
    let mut html = Html::default();
    head(&mut html, frame, "Sessions", "sessions");
    news(&mut html, stamp, |html| {
        html.raw("sessions");
    });
    html.raw("<h1>Sessions</h1>");
    if sessions.is_empty() {
        html.raw("<p>There is no session. <code>handfast run</code> and <code>handfast session new</code> make one.</p>");
    }
    html.raw("<ul class=list>");
    let waits = |line: &&SessionLine| !matches!(line.changes, Ok(0));
    let rests = |line: &&SessionLine| matches!(line.changes, Ok(0));
    let ordered = sessions.iter().filter(waits);
    for line in ordered.chain(sessions.iter().filter(rests)) {
        html.raw("<li class=item data-item><a data-open href=\"/s/")
            .url(&line.name);
        html.raw("\">").text(&line.name).raw("</a> ");
        match &line.changes {
            Ok(0) => html.raw("<span class=tag>nothing waits</span>"),
            Ok(count) => html
                .raw("<strong class=flag>")
                .text(counted(*count, "change waits", "changes wait"))
                .raw("</strong>"),
            Err(why) => html
                .raw("<strong class=conflict>cannot be opened: ")
                .text(why)
                .raw("</strong>"),
        };
        match &line.questions {
            Ok(0) => {}
            Ok(count) => {
                html.raw(" <a href=\"/inbox\"><strong class=flag>")
                    .text(counted(*count, "question waits", "questions wait"))
                    .raw("</strong></a>");
            }
            Err(why) => {
                html.raw(" <strong class=conflict>questions cannot be read: ")
                    .text(why)
                    .raw("</strong>");
            }
        }
        if line.comments > 0 {
            html.raw(" <span class=tag>")
                .text(counted(line.comments, "open comment", "open comments"))
                .raw("</span>");
        }
        for base in &line.bases {
            html.raw(" <span class=facts>").text(base).raw("</span>");
        }
        html.raw("</li>");
    }
    html.raw("</ul>");
    end(&mut html);
    html.done()
}
