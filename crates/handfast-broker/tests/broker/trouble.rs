//! A store that takes nothing for a while, behind the trait that every store is behind.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use handfast_broker::{
    Acquire, Client, Code, Ended, Fence, LeaseHandle, LeaseRecord, LeaseStore, MemoryStore,
    Revision, Rulebook, Running, ServeOptions, StoreError, bind_socket,
};

use crate::stage::{Stage, code, until};

/// Works, until it is told not to.
#[derive(Debug, Default)]
struct Moody {
    inner: MemoryStore,
    full: AtomicBool,
}

impl Moody {
    fn take(&self) -> Result<(), StoreError> {
        match self.full.load(Ordering::SeqCst) {
            true => Err(StoreError::Failed(
                "database or disk is full (test)".to_owned(),
            )),
            false => Ok(()),
        }
    }

    fn set_full(&self, full: bool) {
        self.full.store(full, Ordering::SeqCst);
    }
}

impl LeaseStore for Moody {
    fn live(&self) -> Result<Vec<LeaseRecord>, StoreError> {
        self.inner.live()
    }

    fn insert(&self, record: &LeaseRecord) -> Result<Revision, StoreError> {
        self.take().and_then(|()| self.inner.insert(record))
    }

    fn extend(&self, handle: &LeaseHandle, to: u64, wall: i64) -> Result<Revision, StoreError> {
        self.take()
            .and_then(|()| self.inner.extend(handle, to, wall))
    }

    fn count_opens(&self, handle: &LeaseHandle, opens: u64) -> Result<Revision, StoreError> {
        self.take()
            .and_then(|()| self.inner.count_opens(handle, opens))
    }

    fn end(&self, handles: &[LeaseHandle], how: Ended) -> Result<Revision, StoreError> {
        self.take().and_then(|()| self.inner.end(handles, how))
    }
}

fn serve(stage: &Stage, store: Arc<Moody>) -> Running {
    let rulebook = Rulebook::of_directory(stage.root("")).unwrap();
    let options = ServeOptions::new(rulebook, stage.dir.join("state"))
        .fence(Fence::Thread)
        .store(store);
    let listener = bind_socket(&stage.socket(), false).unwrap();
    // On a thread of its own, which is walled in for good.
    std::thread::spawn(move || options.start(listener))
        .join()
        .unwrap()
        .unwrap()
}

#[test]
fn what_the_store_does_not_take_is_not_given_and_ends_stay_ends() {
    let stage = Stage::prepare(&[]);
    let store = Arc::new(Moody::default());
    let running = serve(&stage, Arc::clone(&store));
    let mut client = Client::connect(stage.socket()).unwrap();
    let lease = stage.lease(&mut client);
    let counted = Acquire::new(["**"], ["read"]).max_opens(3);
    let counted = client.acquire(&counted).unwrap().lease_id;
    client.open(&counted, "top.txt").unwrap();

    store.set_full(true);
    // Nothing new, nothing longer, nothing that must be counted.
    let wanted = Acquire::new(["**"], ["read"]);
    assert_eq!(code(client.acquire(&wanted)), Code::Unavailable);
    assert_eq!(client.list("").unwrap().len(), 2);
    let expires = lease.lease.expire_time.clone();
    let renewed = client.renew(&lease.lease_id, Some(3600));
    assert_eq!(code(renewed), Code::Unavailable);
    let shown = client.lookup(&lease.lease_id).unwrap();
    assert!(shown.ttl <= 600, "{} {expires}", shown.expire_time);
    assert_eq!(code(client.open(&counted, "top.txt")), Code::Unavailable);
    assert_eq!(client.lookup(&counted).unwrap().opens(), 1);
    // What is kept already is of use.
    client.open(&lease.lease_id, "top.txt").unwrap();

    // An end is an end at once, what is out is told, and it is said that the end is not kept.
    let revoked = client.revoke(&lease.lease_id).unwrap();
    assert_eq!((revoked.ended, revoked.outstanding.len()), (1, 1));
    let why = revoked.unkept.unwrap();
    assert!(why.contains("disk is full"), "{why}");
    let troubles = &client.info().unwrap()["troubles"];
    assert_eq!(troubles.as_array().unwrap().len(), 1, "{troubles}");
    let over = client.open(&lease.lease_id, "top.txt");
    assert_eq!(code(over), Code::LeaseRevoked);
    assert_eq!(store.live().unwrap().len(), 2, "the store has not heard");
    store.set_full(false);
    until("the store's hearing of the end", || {
        store.live().unwrap().len() == 1
    });
    client.open(&counted, "top.txt").unwrap();
    assert_eq!(client.info().unwrap()["troubles"], serde_json::json!([]));
    drop(client);
    running.stop();
}
