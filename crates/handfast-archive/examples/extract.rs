//! Extracts an archive as it is, with links and exact modes and without limits: to be measured and
//! compared with other extractors. With `limited`, the usual limits hold.
//!
//! ```console
//! $ cargo run --release -p handfast-archive --example extract -- ARCHIVE ROOT NAME [limited]
//! ```
#![allow(clippy::print_stdout, reason = "an example")]

use std::error::Error;
use std::process::ExitCode;

use handfast::{RelPath, Root};
use handfast_archive::{Input, LinkPolicy, Modes, Names, Options, Target, extract};

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let mut arguments = std::env::args_os().skip(1);
    let (Some(archive), Some(root), Some(name)) =
        (arguments.next(), arguments.next(), arguments.next())
    else {
        return Err("ARCHIVE ROOT NAME".into());
    };
    let mut options = Options::new();
    (options.links, options.modes, options.times) = (LinkPolicy::Inside, Modes::Exact, true);
    options.names = Names::Any;
    if arguments.next().is_none_or(|word| word != "limited") {
        options.limits.bytes = u64::MAX >> 1;
        options.limits.file_size = u64::MAX >> 1;
        options.limits.entries = u64::MAX;
        options.limits.ratio = u64::MAX;
    }
    let root = Root::open_ambient(root)?;
    let path = RelPath::parse(name.to_str().ok_or("the name is not UTF-8")?)?;
    let archive = std::fs::File::open(archive)?;
    let scratch = Root::open_ambient(std::env::temp_dir())?;
    let target = Target::new_dir(&root, &path);
    let report = extract(Input::new(archive, &scratch), &target, options)?;
    if let Some(refusal) = &report.refusal {
        println!("{refusal}");
    }
    for (verdict, refusal) in report.refused() {
        println!("{}: {refusal}", handfast::escape(&verdict.name));
    }
    Ok(match report.extracted {
        true => ExitCode::SUCCESS,
        false => ExitCode::FAILURE,
    })
}
