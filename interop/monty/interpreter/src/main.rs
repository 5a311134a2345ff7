//! Runs the programs that the package `monty` publishes for mounts (`mount-fs = true`), each over a session
//! in memory, one on disk that is written directly, and one that lasts. The programs assert; one that raises has failed.

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use handfast_monty::MontyFiles;
use handfast_session::{Catalogue, Mode, MountSpec, Session, SessionSpec, VirtualPath};
use monty::{MontyRun, RunProgress};
use monty_types::{CompileOptions, MontyObject, PrintWriter, ResourceTracker};

/// The programs about files; a package without them is no answer.
const LEAST: usize = 3;

/// Programs that need something else of the host besides files, or another system.
const NOT_HERE: [(&str, &str); 1] = [("open__fs_windows.py", "for Windows")];

fn main() -> Result<(), Box<dyn Error>> {
    let dir = std::env::args_os().nth(1).map(PathBuf::from);
    let dir = dir.ok_or("usage: handfast-monty-interpreter DIRECTORY-OF-PROGRAMS")?;
    let mut programs: Vec<PathBuf> = std::fs::read_dir(dir)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    programs.sort();
    let (mut ran, mut failed) = (0, 0);
    for program in programs {
        let Ok(code) = std::fs::read_to_string(&program) else {
            continue;
        };
        let name = program.file_name().unwrap_or_default().to_string_lossy();
        if !code.contains("# mount-fs = true") {
            continue;
        }
        if let Some((_, why)) = NOT_HERE.iter().find(|(skipped, _)| *skipped == name) {
            println!("skipped: {name}: {why}");
            continue;
        }
        ran += 1;
        for mode in [Mode::Memory, Mode::ReadWrite, Mode::Overlay] {
            match run(&code, &name, mode) {
                Ok(()) => println!("{name} ({mode}): ok"),
                Err(error) => {
                    failed += 1;
                    println!("{name} ({mode}): {error}");
                }
            }
        }
    }
    println!("{ran} programs in 3 modes, {failed} failed");
    if ran < LEAST || failed > 0 {
        return Err("not as it should be".into());
    }
    Ok(())
}

/// The tree that the programs expect.
fn tree(at: &Path) -> std::io::Result<()> {
    std::fs::create_dir_all(at.join("subdir/deep"))?;
    std::fs::write(at.join("hello.txt"), "hello world\n")?;
    std::fs::write(at.join("empty.txt"), "")?;
    std::fs::write(at.join("data.bin"), b"\x00\x01\x02\x03")?;
    std::fs::write(at.join("readonly.txt"), "readonly content")?;
    std::fs::write(at.join("subdir/nested.txt"), "nested content")?;
    std::fs::write(at.join("subdir/deep/file.txt"), "deep file")
}

fn run(code: &str, name: &str, mode: Mode) -> Result<(), Box<dyn Error>> {
    let base = tempfile::tempdir()?;
    tree(base.path())?;
    let state = tempfile::tempdir()?;
    let mount = MountSpec::new(base.path(), VirtualPath::parse("/mnt")?).mode(mode);
    let spec = SessionSpec::new().mount(mount);
    let session = match mode {
        Mode::Overlay => {
            let catalogue = Catalogue::open_ambient(state.path().join("handfast"))?;
            catalogue.create("programs", &spec)?;
            catalogue.open("programs")?
        }
        _ => Session::new(&spec)?,
    };
    let files = MontyFiles::new(Arc::new(session));
    let inputs = vec!["root".to_owned()];
    let mut program = MontyRun::new(code.to_owned(), name, inputs, CompileOptions::default())
        .map_err(|error| error.summary())?;
    // A program that goes back to where it was must have been somewhere.
    program.set_cwd("/mnt");
    let root = vec![MontyObject::path("/mnt")];
    let mut progress = program
        .start(root, ResourceTracker::default(), PrintWriter::Disabled)
        .map_err(|error| error.to_string())?;
    loop {
        progress = match progress {
            RunProgress::OsCall(call) => call
                .resume_with(PrintWriter::Disabled, |call| files.answer(call))
                .map_err(|error| error.to_string())?,
            RunProgress::Complete(_) => return Ok(()),
            other => return Err(format!("it asks for more than files: {other:?}").into()),
        };
    }
}
