//! Runs a Python program over a directory and shows what it would change; nothing is changed.
//!
//! ```console
//! $ cargo run --ignore-rust-version --features interpreter --example program -- project tidy.py
//! ```
//!
//! The program sees the directory as `/project`. Its changes are kept in an overlay in memory, secrets are
//! out of its reach, and it may use one mebibyte.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "an example that reads a file of its user's and prints"
)]

use std::error::Error;
use std::sync::Arc;

use handfast_monty::MontyFiles;
use handfast_session::{
    Caller, Mode, MountSpec, Protect, Quota, Session, SessionSpec, VirtualPath,
};
use monty::{MontyRun, RunProgress};
use monty_types::{CompileOptions, PrintWriter, ResourceTracker};

fn main() -> Result<(), Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(dir), Some(program)) = (arguments.next(), arguments.next()) else {
        return Err("usage: program DIRECTORY FILE.py".into());
    };
    let mount = MountSpec::new(dir, VirtualPath::parse("/project")?)
        .mode(Mode::Memory)
        .protect(Protect::preset("workspace")?)
        .quota(Quota {
            bytes: Some(1 << 20),
            ..Quota::new()
        });
    let session = Arc::new(Session::new(
        &SessionSpec::new().mount(mount),
        Caller::new("guest"),
    )?);
    let files = MontyFiles::new(Arc::clone(&session));

    let code = std::fs::read_to_string(program)?;
    let run = MontyRun::new(code, "program.py", Vec::new(), CompileOptions::default())?;
    let mut progress = run.start(Vec::new(), ResourceTracker::default(), PrintWriter::Stdout)?;
    loop {
        progress = match progress {
            RunProgress::OsCall(call) => {
                call.resume_with(PrintWriter::Stdout, |call| files.answer(call))?
            }
            RunProgress::Complete(_) => break,
            _ => return Err("the program asks for more than files".into()),
        };
    }
    for change in session.diff()? {
        println!("{} {}", change.kind.name(), change.path);
    }
    Ok(())
}
