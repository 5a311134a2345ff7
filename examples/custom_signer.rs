//! A log whose key is somewhere else: a device, a service, another process.
//!
//! The ledger asks a `Signer` for a signature over the bytes of a checkpoint and never sees a key.
//! Here a thread stands for the device. `crates/handfast-ledger/examples/outside_signer.rs` does
//! the same with a process.
#![allow(clippy::print_stdout, reason = "an example")]

use std::error::Error;
use std::path::Path;
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, Sender, channel};

use handfast_ledger::note::{Ed25519Signer, SignError, Signer, VerifierKey};
use handfast_ledger::{
    CreateOptions, Ledger, LogReader, OpenOptions, Verdict, VerifyOptions, verify,
};

/// Texts go one way, signatures the other.
type Wire = (Sender<Vec<u8>>, Receiver<Vec<u8>>);

/// A device, as its host sees it.
struct Device {
    public: VerifierKey,
    wire: Mutex<Wire>,
}

impl Signer for Device {
    fn key_name(&self) -> &str {
        self.public.name()
    }

    fn key_id(&self) -> [u8; 4] {
        self.public.id()
    }

    fn vkey(&self) -> String {
        self.public.to_string()
    }

    fn sign(&self, text: &[u8]) -> Result<Vec<u8>, SignError> {
        let gone = || SignError("the device does not answer".to_owned());
        let wire = self.wire.lock().map_err(|_| gone())?;
        wire.0.send(text.to_vec()).map_err(|_| gone())?;
        wire.1.recv().map_err(|_| gone())
    }
}

/// Plugs a device in: the key is made there and stays there.
fn plug_in(signatures: usize) -> Result<Device, Box<dyn Error>> {
    let (key, _) = Ed25519Signer::generate("device.example/log")?;
    let public = VerifierKey::parse(&key.vkey())?;
    let (to_device, texts) = channel::<Vec<u8>>();
    let (answers, from_device) = channel();
    std::thread::spawn(move || {
        for text in texts.iter().take(signatures) {
            let Ok(signature) = key.sign(&text) else {
                return;
            };
            if answers.send(signature).is_err() {
                return;
            }
        }
    });
    let wire = Mutex::new((to_device, from_device));
    Ok(Device { public, wire })
}

fn show(log: &Path) -> Result<Verdict, Box<dyn Error>> {
    let device = plug_in(usize::MAX)?;
    let public = device.public.clone();
    CreateOptions::new()
        .outside_key(device.vkey())
        .create(log)?;
    let ledger = Ledger::open(log, OpenOptions::new().signer(Box::new(device)))?;
    let _receipt = ledger.policy_loaded(Some("example"), "0000")?;
    ledger.close()?;
    let report = verify(&LogReader::open(log)?, &VerifyOptions::new().key(public))?;
    println!("{} events, {:?}", report.events, report.verdict());
    Ok(report.verdict())
}

fn main() -> Result<(), Box<dyn Error>> {
    let dir = tempfile::tempdir()?;
    show(&dir.path().join("log")).map(drop)
}

#[cfg(test)]
mod tests {
    use super::{plug_in, show};
    use handfast_ledger::Verdict;
    use handfast_ledger::note::Signer;

    #[test]
    fn what_the_device_signed_holds() {
        let dir = tempfile::tempdir().unwrap();
        assert_eq!(show(&dir.path().join("log")).unwrap(), Verdict::Good);
    }

    #[test]
    fn a_device_that_is_gone_is_an_error_and_no_signature() {
        let device = plug_in(1).unwrap();
        assert!(device.sign(b"text").is_ok());
        assert!(device.sign(b"text").is_err());
    }
}
