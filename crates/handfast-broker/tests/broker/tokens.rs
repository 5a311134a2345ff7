//! Leases as tokens: narrowed by who has them, presented by others.

use std::os::unix::fs::FileExt;

use handfast_broker::{Acquire, Client, Code, Narrowing, narrow_token};

use crate::roles::told;
use crate::stage::{Stage, code, text};

fn narrowed(token: &str, change: impl FnOnce(&mut Narrowing)) -> String {
    let mut by = Narrowing::default();
    change(&mut by);
    narrow_token(token, &by).unwrap()
}

fn used_by_another(stage: &Stage, token: &str) -> String {
    let out = stage.role("use").env("HF_LEASE", token).output().unwrap();
    told(&*out.stdout)
}

#[test]
fn a_token_is_used_by_another_process_until_its_lease_ends() {
    let stage = Stage::new();
    let mut client = stage.client();
    // Bound to this process: another could not use it by its id.
    let lease = Acquire::new(["src/**"], ["read", "write"]);
    let lease = client.acquire(&lease).unwrap();
    let exported = client.export(&lease.lease_id, Some(60)).unwrap();
    assert_eq!(exported.lease.parent.as_deref(), Some(&*lease.lease.handle));
    assert!(exported.lease.ttl <= 60);
    assert_eq!(
        used_by_another(&stage, &lease.lease_id),
        "Some(NoSuchLease)"
    );
    assert_eq!(used_by_another(&stage, &exported.token), "opened");
    // No wider than the lease, and of no use for anything about leases.
    let token = &exported.token;
    assert_eq!(code(client.open(token, "top.txt")), Code::Denied);
    assert_eq!(code(client.renew(token, Some(600))), Code::Denied);
    assert_eq!(code(client.export(token, None)), Code::Denied);
    let below = Acquire::new(["src/**"], ["read"]).parent(token);
    assert_eq!(code(client.acquire(&below)), Code::Denied);
    assert_eq!(code(client.revoke(token)), Code::NoSuchLease);
    client.write(token, "src/new.txt", b"new", None).unwrap();
    assert_eq!(text(&stage.root("src/new.txt")), "new");
    // One token ends without the others, and all with the lease that they come from.
    let second = client.export(&lease.lease_id, None).unwrap();
    client.revoke(&exported.lease.handle).unwrap();
    assert_eq!(used_by_another(&stage, token), "Some(LeaseRevoked)");
    assert_eq!(used_by_another(&stage, &second.token), "opened");
    client.revoke(&lease.lease_id).unwrap();
    assert_eq!(used_by_another(&stage, &second.token), "Some(LeaseRevoked)");
}

#[test]
fn its_holder_narrows_it_without_asking_and_nobody_widens_it() {
    let stage = Stage::new();
    let mut client = stage.client();
    let id = stage.lease(&mut client).lease_id;
    let wide = client.export(&id, None).unwrap().token;
    let below = narrowed(&wide, |by| by.paths = vec!["src/".to_owned()]);
    client.open(&below, "src/a.txt").unwrap();
    assert_eq!(code(client.open(&below, "top.txt")), Code::Denied);
    assert_eq!(code(client.open(&below, "src/../top.txt")), Code::Denied);
    let names = |entries: Vec<handfast_broker::Entry>| -> Vec<Vec<u8>> {
        entries.iter().map(handfast_broker::Entry::name).collect()
    };
    assert_eq!(names(client.list_dir(&below, "src").unwrap()).len(), 2);
    assert!(client.list_dir(&below, "").is_err());
    // Listings leave out what the caveats do not allow.
    let one = narrowed(&wide, |by| {
        by.check =
            Some("check if path($path), $path == \"src\" || $path == \"src/a.txt\"".to_owned());
    });
    assert_eq!(names(client.walk(&one, "src").unwrap()), [b"a.txt"]);
    assert_eq!(names(client.list_dir(&one, "src").unwrap()), [b"a.txt"]);
    let reader = narrowed(&below, |by| by.read_only = true);
    client.open(&reader, "src/a.txt").unwrap();
    let refused = client.write(&reader, "src/a.txt", b"x", None);
    assert_eq!(code(refused), Code::Denied);
    assert_eq!(
        code(client.rename(&below, "src/a.txt", "moved.txt", "no-replace")),
        Code::Denied
    );
    assert!(!stage.root("moved.txt").exists());
    // Begun with more, committed with less: what is presented at the commit counts.
    let draft = client.begin(&wide, "top.txt", 4, None).unwrap();
    draft.file.write_all_at(b"evil", 0).unwrap();
    let asked = serde_json::json!({
        "lease": below, "draft": draft.name(), "size": "4",
    });
    let committed = client.call::<_, serde_json::Value>("Commit", &asked);
    assert_eq!(code(committed), Code::Denied);
    assert_eq!(text(&stage.root("top.txt")), "top");
    // By the wall clock, and by user.
    let over = narrowed(&wide, |by| {
        by.check = Some("check if time($time), $time < 2020-01-01T00:00:00Z".to_owned());
    });
    assert_eq!(code(client.open(&over, "top.txt")), Code::Denied);
    let later = narrowed(&wide, |by| by.seconds = Some(600));
    client.open(&later, "top.txt").unwrap();
    let other = narrowed(&wide, |by| by.uid = Some(4_000_000));
    assert_eq!(code(client.open(&other, "top.txt")), Code::Denied);
    // Facts that a holder adds satisfy nothing that was asked before.
    let more = narrowed(&reader, |by| by.check = Some("check if true".to_owned()));
    assert_eq!(code(client.open(&more, "top.txt")), Code::Denied);
    assert!(narrow_token(&wide, &Narrowing::default()).is_err());
    assert!(narrow_token("biscuit:xx", &Narrowing::default()).is_err());
    let mut quote = Narrowing::default();
    quote.paths = vec!["a\") or path($x".to_owned()];
    assert!(narrow_token(&wide, &quote).is_err());
}

#[test]
fn forged_and_damaged_tokens_are_none() {
    use biscuit_auth::builder::Algorithm;
    use biscuit_auth::{Biscuit, BlockBuilder, KeyPair, UnverifiedBiscuit};
    let stage = Stage::new();
    let mut client = stage.client();
    let mine = Acquire::new(["src/**"], ["read"]).bind("user");
    let mine = client.acquire(&mine).unwrap();
    let token = client.export(&mine.lease_id, None).unwrap().token;
    let other = stage.lease(&mut client).lease.handle;
    // Signed by somebody else.
    let key = KeyPair::new_with_algorithm(Algorithm::Ed25519);
    let fact = format!("lease(\"{other}\")");
    let forged = Biscuit::builder().fact(fact.as_str()).unwrap();
    let forged = forged.build(&key).unwrap().to_base64().unwrap();
    let forged = format!("biscuit:{forged}");
    assert_eq!(code(client.open(&forged, "top.txt")), Code::NoSuchLease);
    // Another lease named in a block that its holder added, with rules and facts that lie.
    let text = token.strip_prefix("biscuit:").unwrap();
    let block = BlockBuilder::new()
        .code(format!(
            "lease(\"{other}\"); path(\"top.txt\"); access(\"read\"); uid(0); lease($x) <- path($x);"
        ))
        .unwrap();
    let longer = UnverifiedBiscuit::from_base64(text).unwrap();
    let longer = longer.append(block).unwrap().to_base64().unwrap();
    let longer = format!("biscuit:{longer}");
    client.open(&longer, "src/a.txt").unwrap();
    assert_eq!(code(client.open(&longer, "top.txt")), Code::Denied);
    // Damaged at every place, cut anywhere, too long: none, and the broker lives.
    let mut refused = 0;
    for at in (0..text.len()).step_by(3) {
        let mut bytes = text.as_bytes().to_vec();
        bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
        let damaged = format!("biscuit:{}", String::from_utf8(bytes).unwrap());
        let cut = format!("biscuit:{}", &text[..at]);
        for bad in [damaged, cut] {
            match client.open(&bad, "src/a.txt") {
                Err(error) => {
                    assert_eq!(error.code(), Some(Code::NoSuchLease), "{error}");
                    refused += 1;
                }
                // Padding has bits that mean nothing.
                Ok(_) => assert!(at + 8 > text.len(), "changed at {at}"),
            }
        }
    }
    assert!(refused > text.len() / 2);
    let long = format!("biscuit:{}", "A".repeat(100_000));
    assert_eq!(code(client.open(&long, "src/a.txt")), Code::NoSuchLease);
    // What costs too much to judge is refused, and does not take for ever.
    let heavy = BlockBuilder::new()
        .code(
            "n(0); n(1); n(2); n(3); n(4); n(5); n(6); n(7); n(8); n(9);
             m($a, $b, $c, $d) <- n($a), n($b), n($c), n($d); check if m(1, 2, 3, 4);",
        )
        .unwrap();
    let heavy = UnverifiedBiscuit::from_base64(text).unwrap().append(heavy);
    let heavy = format!("biscuit:{}", heavy.unwrap().to_base64().unwrap());
    assert!(client.open(&heavy, "src/a.txt").is_err());
    client.open(&token, "src/a.txt").unwrap();
}

#[test]
fn tokens_survive_a_restart_and_the_log_names_them() {
    let mut stage = Stage::new();
    let mut client = stage.client();
    let id = stage.lease(&mut client).lease_id;
    let exported = client.export(&id, None).unwrap();
    stage.kill_broker();
    stage.start();
    let mut client = Client::connect(stage.socket()).unwrap();
    client.open(&exported.token, "src/a.txt").unwrap();
    client.revoke(&exported.lease.handle).unwrap();
    drop(client);
    stage.kill_broker();
    let story = crate::log::story(&stage, &exported.lease.handle);
    assert_eq!(
        story,
        [
            "lease.acquire single ",
            "open single src/a.txt",
            "lease.revoke single ",
            "fd.outstanding single "
        ]
    );
    let reader = handfast_ledger::LogReader::open(stage.log_dir()).unwrap();
    let mut text = String::new();
    reader
        .for_each(0, |_, leaf| {
            text.push_str(str::from_utf8(leaf).unwrap());
            Ok(std::ops::ControlFlow::Continue(()))
        })
        .unwrap();
    assert!(text.contains("\"purpose\":\"token "), "{text}");
    assert!(!text.contains(&exported.token["biscuit:".len()..]));
}
