//! An event as the recorder writes it for one open.

use handfast_ledger::event::{
    Assurance, DecisionField, EventKind, Moment, Object, Parent, PhaseField, Record, Request,
    RootField, U64, Workload, rfc3339,
};

use crate::Failure;

pub(super) fn event(number: u64) -> Result<Vec<u8>, Failure> {
    let now = Moment::now();
    let mut record = Record::new(
        EventKind::Verb(handfast::Verb::Open),
        PhaseField::Single,
        now,
    );
    let op_id = format!("a1b2c3d4.{number}");
    let path = format!("src/verbs/file-{number}.rs");
    let name = format!("file-{number}.rs");
    record.op_id = Some(op_id.as_str().into());
    record.req = Some(Request::of(path.as_bytes()));
    record.root = Some(RootField {
        dev: U64(65_024),
        ino: U64(10_633_696),
        mnt: Some(U64(2_147_483_677)),
        id: None,
    });
    record.parent = Some(Parent {
        dev: U64(65_024),
        ino: U64(10_633_700),
        btime: None,
        name: Some(name.as_str().into()),
        name_b64: None,
    });
    record.obj = Some(Object {
        dev: U64(65_024),
        ino: U64(10_633_701),
        mnt: Some(U64(2_147_483_677)),
        btime: Some(rfc3339(now.wall_ns).into()),
        kind: "file".into(),
        mode: "0644".into(),
        uid: 1000,
        gid: 1000,
        nlink: U64(1),
        size: U64(4096),
    });
    record.wl = Some(Workload {
        agent_id: Some("agent-7".into()),
        pid: Some(12_345),
        uid: Some(1000),
        gid: Some(1000),
        ..Workload::default()
    });
    record.decision = Some(DecisionField {
        allow: true,
        ..DecisionField::default()
    });
    record.assure = Some(Assurance {
        resolve: Some("kernel".into()),
        visibility: None,
        level: Some("strict".into()),
    });
    Ok(record.to_leaf()?)
}
