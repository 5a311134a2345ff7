//! Requests that wait for a person: what exactly a yes allows, and the answers.

use super::{PageFrame, counted, end, head, news, session_field, time};
use crate::page::html::Html;
use crate::protocol::{InboxView, QuestionLine};

pub(in crate::page) fn inbox(frame: &PageFrame<'_>, view: &InboxView) -> String {
    let mut html = Html::default();
    head(&mut html, frame, "Questions", "inbox");
    news(&mut html, &view.stamp, |html| {
        html.raw("inbox");
    });
    html.raw("<h1>Questions</h1><p id=count>");
    html.text(counted(
        view.waiting.len(),
        "request waits",
        "requests wait",
    ));
    html.raw(" for an answer.</p>");
    for problem in &view.problems {
        html.raw("<p class=missing>Not shown: ")
            .text(problem)
            .raw("</p>");
    }
    for (number, question) in view.waiting.iter().enumerate() {
        one(&mut html, question, number + 1);
    }
    ended(&mut html, view);
    grants(&mut html, view);
    end(&mut html);
    html.done()
}

fn one(html: &mut Html, question: &QuestionLine, number: usize) {
    html.raw("<section class=hunk data-item tabindex=-1 aria-labelledby=q")
        .text(number);
    html.raw("><h2 id=q")
        .text(number)
        .raw(">")
        .text(&question.sentence);
    html.raw("</h2><dl><dt>session</dt><dd>")
        .text(&question.session);
    html.raw("</dd><dt>question</dt><dd>").text(&question.id);
    html.raw("</dd><dt>asked by</dt><dd>")
        .text(&question.caller);
    html.raw("</dd><dt>because of</dt><dd>")
        .text(&question.rule);
    for (name, value) in &question.facts {
        html.raw("</dd><dt>")
            .text(name)
            .raw("</dt><dd>")
            .text(value);
    }
    html.raw("</dd><dt>asked</dt><dd>")
        .text(time(&question.asked));
    html.raw("</dd><dt>denied by itself</dt><dd>")
        .text(time(&question.ends));
    html.raw("</dd></dl><form class=answer method=post action=\"/answer\">");
    session_field(html, &question.session);
    html.raw("<input type=hidden name=id value=\"")
        .text(&question.id);
    html.raw("\"><input type=hidden name=digest value=\"")
        .text(&question.digest);
    html.raw("\"><fieldset><legend>The answer is for</legend>");
    for (scope, words) in [
        ("once", "this request"),
        ("file", "this file, from now on"),
        ("session", "everything that this rule asks about"),
    ] {
        html.raw("<label><input type=radio name=scope value=")
            .raw(scope);
        html.raw(if scope == "once" { " checked> " } else { "> " });
        html.raw(words).raw("</label> ");
    }
    html.raw("</fieldset><button type=submit name=yes value=1>Allow</button> ");
    html.raw("<button type=submit name=yes value=0>Deny</button></form></section>");
}

fn ended(html: &mut Html, view: &InboxView) {
    if view.ended.is_empty() {
        return;
    }
    html.raw("<section><h2>These wait no more</h2><ul class=list>");
    for (question, words) in &view.ended {
        html.raw("<li class=item><strong>")
            .text(words)
            .raw("</strong> ");
        html.text(&question.sentence).raw(" <span class=facts>");
        html.text(&question.session)
            .raw(", ")
            .text(time(&question.asked));
        html.raw("</span></li>");
    }
    html.raw("</ul></section>");
}

fn grants(html: &mut Html, view: &InboxView) {
    if view.grants.is_empty() {
        return;
    }
    html.raw("<section><h2>Answers that hold</h2><ul class=list>");
    for grant in &view.grants {
        html.raw("<li class=item>").text(&grant.words);
        html.raw(" <span class=facts>").text(&grant.session);
        html.raw("</span><form method=post action=\"/take-back\">");
        session_field(html, &grant.session);
        html.raw("<input type=hidden name=id value=\"")
            .text(&grant.id);
        html.raw("\"><button type=submit>Take this answer back</button></form></li>");
    }
    html.raw("</ul></section>");
}
