//! What a commit will do, to the last path, and the button that does it.

use super::{PageFrame, counted, diff, end, head, marks};
use crate::page::highlight::MAX_COLOURS;
use crate::page::html::Html;
use crate::protocol::{Item, PlanView};

pub(in crate::page) fn plan(frame: &PageFrame<'_>, plan: &PlanView) -> String {
    let mut html = Html::default();
    head(&mut html, frame, "Commit?", "plan");
    html.raw("<h1>This is what a commit does</h1>");
    list(&mut html, "Marked", &plan.items);
    list(&mut html, "These go with it", &plan.needed);
    waits(&mut html, &plan.waits);
    let mut colours = MAX_COLOURS;
    for (number, (path, _, hunk)) in plan.hunks.iter().enumerate() {
        html.raw("<section class=hunk aria-labelledby=h")
            .text(number);
        html.raw("><h2 id=h").text(number).raw(">").text(path);
        html.raw(" <span class=facts>").text(&hunk.header);
        html.raw("</span></h2>");
        diff::hunk(&mut html, path, hunk, frame.is_split, &mut colours);
        html.raw("</section>");
    }
    html.raw("<form method=post action=\"/commit\" class=bar>");
    super::session_field(&mut html, &plan.session);
    html.raw("<input type=hidden name=plan value=\"")
        .text(&plan.plan);
    html.raw("\"><label for=message>Why, for the log</label><input id=message name=message maxlength=1000 autocomplete=off> ");
    let mut parts = Vec::new();
    let paths = plan.items.len() + plan.needed.len();
    if paths > 0 {
        parts.push(counted(paths, "path", "paths"));
    }
    if !plan.hunks.is_empty() {
        parts.push(counted(plan.hunks.len(), "hunk", "hunks"));
    }
    html.raw("<button type=submit id=yes autofocus>Commit ");
    html.text(parts.join(" and ")).raw("</button> ");
    html.raw("<a data-back href=\"/s/").url(&plan.session);
    html.raw("\">Back <kbd>b</kbd></a></form>");
    end(&mut html);
    html.done()
}

fn waits(html: &mut Html, waiting: &[(String, String)]) {
    if waiting.is_empty() {
        return;
    }
    html.raw("<section><h2>These stay in the session until they are marked themselves</h2><ul class=plain>");
    for (path, why) in waiting {
        html.raw("<li><strong>").text(path).raw("</strong> ");
        html.text(why).raw("</li>");
    }
    html.raw("</ul></section>");
}

fn list(html: &mut Html, words: &'static str, items: &[Item]) {
    if items.is_empty() {
        return;
    }
    html.raw("<section><h2>")
        .raw(words)
        .raw("</h2><ul class=list>");
    for item in items {
        html.raw("<li class=item><span class=\"kind ")
            .text(&item.kind);
        html.raw("\">").text(&item.kind).raw("</span> ");
        html.text(&item.path).raw(" ");
        marks(html, item);
        html.raw("</li>");
    }
    html.raw("</ul></section>");
}
