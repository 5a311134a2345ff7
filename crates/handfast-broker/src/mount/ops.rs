//! `Mount`: the broker serves what a lease covers through the kernel's device.

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::time::Duration;

use handfast::files::Files;
use handfast::{ErrorKind, Verb};
use handfast_fuse::{CacheTimes, Face};
use handfast_session::VirtualPath;
use serde::Deserialize;

use super::Mounted;
use super::known::KnownPages;
use super::view::LeaseView;
use crate::broker::Broker;
use crate::caller::Caller;
use crate::fault::{Code, Fault};
use crate::ops::CallResult;

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Mount {
    lease: String,
    /// The index of the kernel's device, which the caller has mounted.
    device: usize,
}

/// `/dev/fuse`.
const DEVICE: (u32, u32) = (10, 229);

/// Facts are asked for at every use: a read of what the kernel has cached comes here first, and is
/// refused once the lease is over.
const TIMES: CacheTimes = CacheTimes {
    names: Duration::from_secs(1),
    facts: Duration::ZERO,
    watched: Duration::ZERO,
};

impl Broker {
    pub(crate) fn mount(
        &self,
        caller: &mut Caller,
        asked: &Mount,
        mut fds: Vec<OwnedFd>,
    ) -> Result<CallResult, Fault> {
        if asked.device >= fds.len() {
            return Err(Fault::parameter("device", "no such descriptor"));
        }
        let device = fds.swap_remove(asked.device);
        if !is_fuse(&device) {
            return Err(Fault::parameter("device", "not the device of a mount"));
        }
        let top = VirtualPath::root();
        let claim = caller.claim(self, &asked.lease, Verb::Metadata, &top)?;
        drop(claim.hold(self, Verb::Metadata, &top)?);
        let failed = |why: String| Fault::new(Code::Failed, why).of_kind(ErrorKind::Io);
        let mounted = Arc::new(Mounted {
            uid: caller.peer.uid,
            device: device
                .try_clone()
                .map_err(|error| failed(error.to_string()))?,
            known: Arc::new(KnownPages::default()),
        });
        let view = LeaseView::new(self.this.clone(), claim.clone(), Arc::clone(&mounted));
        let node = view
            .top()
            .map_err(|error| failed(format!("nothing can be shown: {error}")))?;
        let face = Face::new(Arc::new(view), node)
            .map_err(|error| failed(error.to_string()))?
            .cache_times(TIMES);
        let handle = claim.lease.record.handle.clone();
        if !self.mounts.add(&handle, Arc::clone(&mounted)) {
            let fault = Fault::new(Code::Limit, "there are too many mounts; end some");
            return Err(claim.refuse(self, Verb::Metadata, &top, fault));
        }
        let served = handfast_fuse::serve(face, device).and_then(|served| {
            let (this, handle, mounted) = (self.this.clone(), handle.clone(), Arc::clone(&mounted));
            std::thread::Builder::new()
                .name("mount".to_owned())
                .spawn(move || {
                    // Until it is unmounted. Then the last descriptor of the device goes.
                    drop(served.join());
                    if let Some(broker) = this.upgrade() {
                        broker.mounts.remove(&handle, &mounted);
                    }
                })
        });
        match served {
            Ok(_) => Ok(CallResult::empty()),
            Err(error) => {
                self.mounts.remove(&handle, &mounted);
                Err(failed(format!("the mount cannot be served: {error}")))
            }
        }
    }
}

fn is_fuse(device: &OwnedFd) -> bool {
    rustix::fs::fstat(device).is_ok_and(|found| {
        let is_device = rustix::fs::FileType::from_raw_mode(found.st_mode).is_char_device();
        let number = (
            rustix::fs::major(found.st_rdev),
            rustix::fs::minor(found.st_rdev),
        );
        is_device && number == DEVICE
    })
}
