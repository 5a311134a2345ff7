//! Leases on the page, with a broker of a few lines.

use std::sync::{Arc, Mutex};

use handfast_review::keeper::{EndedLeases, HeldLease, LeaseDesk};

use super::support::{Browser, Place, hidden};

struct Desk(Mutex<Vec<HeldLease>>);

impl LeaseDesk for Desk {
    fn list(&self) -> Result<Vec<HeldLease>, String> {
        Ok(self.0.lock().unwrap().clone())
    }

    fn revoke(&self, handle: &str) -> Result<EndedLeases, String> {
        let mut leases = self.0.lock().unwrap();
        let before = leases.len();
        leases.retain(|lease| lease.handle != handle);
        match before - leases.len() {
            0 => Err("no such lease".to_owned()),
            count => Ok(EndedLeases {
                count: count as u64,
                notes: vec!["`<i>` may still be open".to_owned()],
            }),
        }
    }
}

fn lease(handle: &str, paths: &str) -> HeldLease {
    HeldLease {
        handle: handle.to_owned(),
        holder: "user 1000".to_owned(),
        paths: vec![paths.to_owned()],
        verbs: vec!["read".to_owned()],
        purpose: Some("<b>to look</b>\u{202e}".to_owned()),
        issued: "then".to_owned(),
        expires: "soon".to_owned(),
        opens: (1, Some(3)),
        outstanding: 1,
    }
}

/// A page that is told of nothing but a few nanoseconds would load itself again and again.
pub(crate) fn a_renewal_is_news_and_nanoseconds_are_none() {
    let place = Place::new();
    let desk = Arc::new(Desk(Mutex::new(vec![lease("one", "src/**")])));
    let given = Arc::clone(&desk);
    let browser = Browser::of(place.keeper().leases_of(given)).entered();
    let stamp_at = |expires: &str| {
        desk.0.lock().unwrap()[0].expires = expires.to_owned();
        let page = browser.get("/leases").body;
        let (_, rest) = page.split_once("data-stamp=\"").unwrap();
        rest.split('"').next().unwrap().to_owned()
    };
    let first = stamp_at("2026-11-17T17:10:13.335067647Z");
    assert_eq!(stamp_at("2026-11-17T17:10:13.335067637Z"), first);
    assert_ne!(stamp_at("2026-11-17T17:20:13.335067637Z"), first);
}

pub(crate) fn a_lease_is_revoked_once() {
    let place = Place::new();
    let desk = Arc::new(Desk(Mutex::new(vec![
        lease("one", "src/**"),
        lease("two", "**"),
    ])));
    let given = Arc::clone(&desk);
    let browser = Browser::of(place.keeper().leases_of(given)).entered();
    let page = browser.get("/leases").body;
    assert!(
        page.contains("2 leases") && page.contains("src/**"),
        "{page}"
    );
    assert!(
        page.contains("&lt;b&gt;to look&lt;/b&gt;&lt;U+202E&gt;"),
        "{page}"
    );
    let seal = hidden(&page, "seal");
    let revoke = |seal: &str| browser.post("/revoke", &[("seal", seal)]);
    assert_eq!(revoke("").status, 403);
    // Another lease under the same name is not the one that was shown.
    desk.0.lock().unwrap()[0] = lease("one", "other/**");
    assert_eq!(revoke(&seal).status, 409);
    assert_eq!(desk.0.lock().unwrap().len(), 2);
    desk.0.lock().unwrap()[0] = lease("one", "src/**");
    let done = revoke(&seal);
    assert_eq!(done.status, 200, "{}", done.body);
    assert!(
        done.body.contains("1 lease ended") && done.body.contains("&lt;i&gt;"),
        "{}",
        done.body
    );
    let left = desk.list().unwrap();
    assert_eq!((left.len(), left[0].handle.as_str()), (1, "two"));
    assert_eq!(revoke(&seal).status, 409);
    // A page without a broker says so.
    let without = place.page().entered();
    assert!(without.get("/leases").body.contains("No broker answers"));
}
