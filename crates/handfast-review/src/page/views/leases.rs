//! The broker's leases, each with its end.

use super::{PageFrame, counted, end, head, news, time};
use crate::page::html::Html;
use crate::protocol::{LeaseLine, LeasesView};

pub(in crate::page) fn leases(frame: &PageFrame<'_>, view: &LeasesView) -> String {
    let mut html = Html::default();
    head(&mut html, frame, "Leases", "leases");
    news(&mut html, &view.stamp, |html| {
        html.raw("leases");
    });
    html.raw("<h1>Leases</h1>");
    match &view.leases {
        Err(why) => {
            html.raw("<p class=missing>No broker answers: ").text(why);
            html.raw(". <code>handfast serve DIR</code> starts one.</p>");
        }
        Ok(leases) if leases.is_empty() => {
            html.raw("<p>No lease is held.</p>");
        }
        Ok(leases) => {
            html.raw("<p>")
                .text(counted(leases.len(), "lease", "leases"));
            html.raw(".</p><ul class=list>");
            for lease in leases {
                one(&mut html, frame, lease);
            }
            html.raw("</ul>");
        }
    }
    if view.more > 0 {
        html.raw("<p class=missing>Not shown: ").text(view.more);
        html.raw(" more leases; <code>handfast lease list</code> lists all.</p>");
    }
    end(&mut html);
    html.done()
}

fn one(html: &mut Html, frame: &PageFrame<'_>, lease: &LeaseLine) {
    html.raw("<li class=item data-item tabindex=-1><strong>")
        .text(&lease.handle);
    html.raw("</strong> <span class=facts>").text(&lease.holder);
    html.raw("</span><dl><dt>paths</dt><dd>")
        .text(lease.paths.join(", "));
    html.raw("</dd><dt>verbs</dt><dd>")
        .text(lease.verbs.join(", "));
    if let Some(purpose) = &lease.purpose {
        html.raw("</dd><dt>purpose</dt><dd>").text(purpose);
    }
    html.raw("</dd><dt>ends</dt><dd>")
        .text(time(&lease.expires));
    html.raw("</dd><dt>opens</dt><dd>").text(lease.opens.0);
    if let Some(most) = lease.opens.1 {
        html.raw(" of ").text(most);
    }
    html.raw("</dd></dl>");
    if lease.outstanding > 0 {
        html.raw("<p class=tag>").text(counted(
            usize::try_from(lease.outstanding).unwrap_or(usize::MAX),
            "descriptor was",
            "descriptors were",
        ));
        html.raw(" handed out and cannot be taken back</p>");
    }
    html.raw("<details class=reject><summary>Revoke\u{2026}</summary><form method=post action=\"/revoke\">");
    super::session_field(html, frame.session);
    html.raw("<input type=hidden name=seal value=\"")
        .text(&lease.seal);
    html.raw("\"><p>The lease, and every lease below it, ends now.</p><button type=submit>Revoke ");
    html.text(&lease.handle)
        .raw("</button></form></details></li>");
}
