//! The bundle is read again while the broker runs.

use std::io;
use std::time::Duration;

use crate::broker::Broker;

/// How often. A key that is taken out of the bundle vouches at most this long, and a reading, more.
const INTERVAL: Duration = Duration::from_secs(5);

impl Broker {
    /// Reads the bundle again every few seconds, as long as there is a broker.
    ///
    /// # Errors
    /// If there can be no thread for it.
    pub(crate) fn keep_bundle_fresh(&self) -> io::Result<()> {
        if self.bundle_reader.is_none() {
            return Ok(());
        }
        let broker = self.this.clone();
        let reading = move || {
            let mut failed = false;
            loop {
                std::thread::sleep(INTERVAL);
                let Some(broker) = broker.upgrade() else {
                    return;
                };
                match broker.read_bundle() {
                    Ok(_) if failed => crate::complain("the trust bundle can be read again"),
                    Ok(_) => {}
                    Err(why) if !failed => crate::complain(&format!(
                        "the trust bundle cannot be read, and the one from before goes on to count: {why}"
                    )),
                    Err(_) => {}
                }
                failed = broker
                    .bundle
                    .as_ref()
                    .is_some_and(|bundle| bundle.is_stale());
            }
        };
        let thread = std::thread::Builder::new().name("bundle".to_owned());
        thread.spawn(reading).map(drop)
    }

    /// Reads the bundle again; gives whether it is another one.
    ///
    /// # Errors
    /// In words: then the bundle from before goes on to count.
    pub(crate) fn read_bundle(&self) -> Result<bool, String> {
        let (Some(bundle), Some(reader)) = (&self.bundle, &self.bundle_reader) else {
            return Ok(false);
        };
        let replaced = bundle.replace(|| reader.read());
        bundle.note(replaced.is_ok());
        replaced
    }
}
