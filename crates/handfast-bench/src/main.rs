//! The command: arguments, printing, exit codes.

use std::io::Write;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

use handfast_bench::args::Args;
use handfast_bench::budgets::Outcome;
use handfast_bench::clock::Clock;
use handfast_bench::machine::Machine;
use handfast_bench::progress::Progress;
use handfast_bench::report::{self, MeasuredAt, Report};
use handfast_bench::row::Row;
use handfast_bench::run::{self, Effort};
use handfast_bench::site::{self, Site};
use handfast_bench::{Failure, footprint, layers, rows};

const MISSED: u8 = 1;
const USAGE: u8 = 2;
const CANNOT_TELL: u8 = 3;
const NO_CHARTS: &str = "charts are not in this build; it needs the feature plot";

fn main() -> ExitCode {
    let args = Args::parse();
    if args.sessions || args.ledger || args.broker {
        return match measure_layers(&args) {
            Ok(code) => code,
            Err(failure) => {
                complain(&failure.to_string());
                ExitCode::from(CANNOT_TELL)
            }
        };
    }
    let rows = rows::matching(&args.scale(), args.rows.as_deref());
    if rows.is_empty() {
        complain("no row has such a name; --list tells them all");
        return ExitCode::from(USAGE);
    }
    if args.svg.is_some() && !cfg!(feature = "plot") {
        complain(NO_CHARTS);
        return ExitCode::from(USAGE);
    }
    match run(&args, &rows) {
        Ok(code) => code,
        Err(failure) => {
            complain(&failure.to_string());
            ExitCode::from(CANNOT_TELL)
        }
    }
}

/// The layers above the library: on a disk, since that is what they wait for.
fn measure_layers(args: &Args) -> Result<ExitCode, Failure> {
    let dir = args.dir.clone().unwrap_or_else(std::env::temp_dir);
    let wanted = layers::Wanted {
        sessions: args.sessions,
        log: args.ledger.then_some(args.rows.as_deref()),
        broker: args.broker,
    };
    let figures = layers::measure(&dir, args.amount(), wanted)?;
    let text = match args.json {
        true => format!("{:#}\n", layers::json(&figures)),
        false => layers::table(&figures),
    };
    let has = |outcome| {
        figures
            .iter()
            .any(|figure| figure.outcome() == Some(outcome))
    };
    let code = if args.check && has(Outcome::Miss) {
        ExitCode::from(MISSED)
    } else if args.check && has(Outcome::NotMeasured) {
        ExitCode::from(CANNOT_TELL)
    } else {
        ExitCode::SUCCESS
    };
    print(&text)?;
    Ok(code)
}

fn run(args: &Args, rows: &[Row]) -> Result<ExitCode, Failure> {
    if args.list {
        let lines = rows
            .iter()
            .map(|row| format!("{:24}{}\n", row.id, row.title));
        print(&lines.collect::<String>())?;
        return Ok(ExitCode::SUCCESS);
    }
    let mut report = measure(args, rows)?;
    if let Some(file) = &args.svg {
        draw(&report, file)?;
        let name = file.file_name().unwrap_or_default();
        report.chart = Some(name.to_string_lossy().into_owned());
    }
    let text = if args.json {
        format!("{:#}\n", report::json(&report))
    } else if args.markdown {
        report::markdown(&report)
    } else {
        report::table(&report)
    };
    let code = if report.count(Outcome::Miss) > 0 {
        ExitCode::from(MISSED)
    } else if report.count(Outcome::NotMeasured) > 0 {
        ExitCode::from(CANNOT_TELL)
    } else {
        ExitCode::SUCCESS
    };
    print(&text)?;
    Ok(code)
}

fn measure(args: &Args, rows: &[Row]) -> Result<Report, Failure> {
    let default = site::default_place();
    let default = (!args.only_dir).then_some(default.as_path());
    let mut progress = Progress::new();
    let mut places = Vec::new();
    for above in default.into_iter().chain(args.dir.as_deref()) {
        let site = Site::new(above, args.scale())?;
        let mut place = measure_on(&site, rows, args.effort(), &mut progress)?;
        if args.check {
            place.judge()?;
        }
        places.push(place);
    }
    progress.done();
    let mut clocks = vec![Clock::Cpu];
    if args.wall || args.markdown {
        clocks.push(Clock::Wall);
    }
    Ok(Report {
        machine: Machine::here(),
        rounds: args.effort().rounds,
        places,
        clocks,
        chart: None,
    })
}

fn measure_on(
    site: &Site,
    rows: &[Row],
    effort: Effort<'_>,
    progress: &mut Progress,
) -> Result<MeasuredAt, Failure> {
    let name = site.filesystem().name();
    let mut measured = Vec::with_capacity(rows.len());
    for (index, row) in rows.iter().enumerate() {
        progress.at(name, index, rows.len());
        measured.extend(run::measure(row, site, effort, progress)?);
    }
    // Last, when all threads are gone: it is about the whole process.
    let weighed = rows
        .iter()
        .filter(|row| footprint::ROWS.contains(&row.id.as_str()));
    let footprints = weighed.map(|row| footprint::weigh(row, site, effort));
    Ok(MeasuredAt {
        name: name.to_owned(),
        rows: measured,
        footprints: footprints.collect::<Result<_, _>>()?,
        at_rest: footprint::at_rest(site, effort)?,
        verdicts: Vec::new(),
    })
}

#[cfg(feature = "plot")]
fn draw(report: &Report, file: &Path) -> Result<(), Failure> {
    handfast_bench::chart::draw(report, file)
}

#[cfg(not(feature = "plot"))]
fn draw(_report: &Report, _file: &Path) -> Result<(), Failure> {
    Err(NO_CHARTS.into())
}

fn print(text: &str) -> Result<(), Failure> {
    std::io::stdout().lock().write_all(text.as_bytes())?;
    Ok(())
}

fn complain(text: &str) {
    // If stderr is closed there is nobody to complain to.
    drop(writeln!(std::io::stderr().lock(), "handfast-bench: {text}"));
}
