//! A log whose key is in another process: this one only ever sees signatures.
//!
//! `outside_signer DIR` makes a log in `DIR` and writes to it; the key is in a child, which signs
//! what comes in on its standard input. A token or a service would stand in the same place.
#![allow(clippy::print_stdout, reason = "an example")]

use std::error::Error;
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::Mutex;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use handfast_ledger::note::{Ed25519Signer, SignError, Signer, VerifierKey};
use handfast_ledger::{
    CreateOptions, Ledger, LogReader, OpenOptions, Verdict, VerifyOptions, verify,
};

/// Sends a text as one line of base64, and gets a signature back the same way.
struct Outside {
    public: VerifierKey,
    pipes: Mutex<(ChildStdin, BufReader<ChildStdout>)>,
}

impl Signer for Outside {
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
        let failed = |error: &dyn std::fmt::Display| SignError(error.to_string());
        let mut pipes = self.pipes.lock().map_err(|error| failed(&error))?;
        writeln!(pipes.0, "{}", STANDARD.encode(text)).map_err(|error| failed(&error))?;
        let mut line = String::new();
        pipes
            .1
            .read_line(&mut line)
            .map_err(|error| failed(&error))?;
        STANDARD.decode(line.trim()).map_err(|error| failed(&error))
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    match arguments.next() {
        Some(word) if word == "--sign" => serve(),
        Some(dir) => {
            let mut child = Command::new(std::env::current_exe()?)
                .arg("--sign")
                .stdin(Stdio::piped())
                .stdout(Stdio::piped())
                .spawn()?;
            let done = log(&mut child, std::path::Path::new(&dir));
            child.wait()?;
            done
        }
        None => Err("usage: outside_signer DIR".into()),
    }
}

/// The child: the key is made here and never leaves.
fn serve() -> Result<(), Box<dyn Error>> {
    let (signer, _) = Ed25519Signer::generate("outside.example/log")?;
    println!("{}", signer.vkey());
    for line in std::io::stdin().lines() {
        let text = STANDARD.decode(line?)?;
        println!("{}", STANDARD.encode(signer.sign(&text)?));
    }
    Ok(())
}

fn log(child: &mut Child, dir: &std::path::Path) -> Result<(), Box<dyn Error>> {
    let input = child.stdin.take().ok_or("no pipe")?;
    let mut output = BufReader::new(child.stdout.take().ok_or("no pipe")?);
    let mut vkey = String::new();
    output.read_line(&mut vkey)?;
    let public = VerifierKey::parse(vkey.trim())?;
    CreateOptions::new().outside_key(vkey.trim()).create(dir)?;
    let signer = Outside {
        public: public.clone(),
        pipes: Mutex::new((input, output)),
    };
    let ledger = Ledger::open(dir, OpenOptions::new().signer(Box::new(signer)))?;
    let _receipt = ledger.policy_loaded(Some("example"), "0000")?;
    ledger.close()?;
    let report = verify(&LogReader::open(dir)?, &VerifyOptions::new().key(public))?;
    println!("{} events, verdict {:?}", report.events, report.verdict());
    if report.verdict() == Verdict::Good {
        Ok(())
    } else {
        Err("not good".into())
    }
}
