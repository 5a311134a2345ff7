//! The audit itself: texts in, outcome out. Pure; nothing is read from anywhere.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use crate::accept::Acceptances;
use crate::callgraph::CallGraph;
use crate::interp::Declared;
use crate::ir::Module;
use crate::kb::Knowledge;
use crate::lang::Lang;
use crate::program::{Program, SourceFile};
use crate::report::{Depth, Insufficient, Outcome, Report, Skipped};
use crate::scope::Flow;
use crate::tables::Verdict;
use crate::tests_index::{TestIndex, is_test_path};
use crate::trace::{Traced, seen_through, trace};
use crate::{judge, lower};

/// Beyond this a file is not parsed.
pub const MAX_FILE: usize = 2 * 1024 * 1024;

/// Lines longer than this on average are no source text.
const MAX_LINE: usize = 4000;

/// One text to look at.
#[derive(Clone, Debug)]
pub struct Input {
    /// Its path, relative, with `/`.
    pub path: String,
    /// Its bytes.
    pub bytes: Vec<u8>,
    /// Named by the user: missing context blocks.
    pub is_named: bool,
    /// Only there to be looked things up in: no report of its own.
    pub is_context: bool,
}

/// What the user says about the context.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// Names of trusted roots.
    pub roots: Vec<String>,
    /// Names of external fields and parameters.
    pub inputs: Vec<String>,
    /// What the operation is called, if it is declared.
    pub operation: Option<String>,
    /// How much is shown.
    pub depth: Depth,
    /// How many threads; 0 for as many as there are processors.
    pub threads: usize,
    /// The date against which acceptances are measured, `YYYY-MM-DD`; empty for none.
    pub today: String,
    /// Leave out what is found about the names of archive entries.
    pub no_archive_names: bool,
    /// Items that are not applicable by a documented control, with the reason.
    pub controls: Vec<(String, String)>,
    /// Files of knowledge that a configuration names: a language and a path. The caller, which reads files
    /// reads them and gives the text to [`Knowledge::new`].
    pub knowledge: Vec<(String, String)>,
}

/// Audits texts.
#[must_use]
pub fn audit(inputs: Vec<Input>, knowledge: &Knowledge, options: &Options) -> Outcome {
    let (texts, mut skipped) = readable_texts(inputs);
    let count = texts.len();
    let (lowered, unparsed) = lowered(&texts, knowledge, options.threads);
    let mut files = Vec::new();
    let mut flags = Vec::new();
    for ((path, text, is_named, is_context), found) in texts.into_iter().zip(lowered) {
        match found {
            Some((lang, module)) => {
                let is_test = is_test_path(&path);
                files.push(SourceFile {
                    path,
                    lang,
                    text,
                    module,
                    is_test,
                });
                flags.push((is_named, is_context));
            }
            None => skipped.push(Skipped {
                file: path,
                reason: "the parser gave up within its bounds".to_owned(),
            }),
        }
    }
    renumber(&mut files);
    let program = Program::new(files);
    let tests = TestIndex::new(&program);
    let work: Vec<u32> = (0..program.files.len())
        .filter(|index| !flags[*index].1 && (!program.files[*index].is_test || flags[*index].0))
        .filter_map(|index| u32::try_from(index).ok())
        .collect();
    let called = CallGraph::new(&program, knowledge);
    let traced: Vec<Option<Traced>> = in_parallel(&work, options.threads, |_, file| {
        let is_named = flags[*file as usize].0;
        trace(&program, knowledge, options, &called, *file, is_named)
    });
    let through = seen_through(&program, &traced);
    let bounded: Vec<String> = work
        .iter()
        .zip(&traced)
        .filter(|(_, traced)| traced.as_ref().is_some_and(|traced| traced.overrun))
        .map(|(file, _)| program.file(*file).path.clone())
        .collect();
    let traced: Vec<(u32, bool, Option<Traced>)> = work
        .iter()
        .zip(traced)
        .map(|(file, traced)| (*file, flags[*file as usize].0, traced))
        .collect();
    let traced: Vec<(u32, bool, Mutex<Option<Traced>>)> = traced
        .into_iter()
        .map(|(file, is_named, traced)| (file, is_named, Mutex::new(traced)))
        .collect();
    let results = in_parallel(&traced, options.threads, |_, (file, is_named, traced)| {
        let taken = traced.lock().ok().and_then(|mut traced| traced.take());
        match taken {
            Some(mut traced) => {
                traced.drop_covered(&program, &through, *is_named);
                answer(&program, options, &tests, *file, traced)
            }
            None => Vec::new(),
        }
    });
    let mut outcome = Outcome {
        verdict: Verdict::NotApplicable,
        reports: Vec::new(),
        insufficient: Vec::new(),
        skipped,
        files: count,
        unparsed,
        bounded,
        knowledge: knowledge.hash().to_owned(),
        covered: through.told(&program),
    };
    for ((file, is_named, _), results) in traced.iter().zip(results) {
        let path = program.file(*file).path.clone();
        for result in results {
            match result {
                FoundInFile::Report(report) => outcome.reports.push(*report),
                FoundInFile::Missing(label) if *is_named => {
                    let mut report = judge::insufficient(&path, label);
                    report.depth = options.depth;
                    outcome.reports.push(report);
                }
                FoundInFile::Missing(label) => outcome.insufficient.push(Insufficient {
                    target: path.clone(),
                    missing: label.to_owned(),
                }),
            }
        }
    }
    outcome.verdict = outcome
        .reports
        .iter()
        .map(|report| report.verdict)
        .max()
        .unwrap_or(Verdict::NotApplicable);
    outcome.skipped.sort_by(|a, b| a.file.cmp(&b.file));
    outcome
}

/// Path, text, whether it was named and whether it is only there to be looked things up in.
type SourceText = (String, String, bool, bool);

/// The texts that can be read, in order and each once, and what is left out.
fn readable_texts(inputs: Vec<Input>) -> (Vec<SourceText>, Vec<Skipped>) {
    let mut skipped = Vec::new();
    let mut texts = Vec::new();
    for input in inputs {
        if !crate::choice::is_source(&input.path, &input.bytes) {
            if !input.is_context {
                skipped.push(Skipped {
                    reason: crate::choice::refusal(&input.path),
                    file: input.path,
                });
            }
            continue;
        }
        match readable(&input) {
            Ok(text) => texts.push((input.path, text, input.is_named, input.is_context)),
            Err(reason) => skipped.push(Skipped {
                file: input.path,
                reason,
            }),
        }
    }
    texts.sort_by(|a, b| a.0.cmp(&b.0));
    texts.dedup_by(|a, b| {
        if a.0 == b.0 {
            b.2 |= a.2;
            b.3 &= a.3;
            true
        } else {
            false
        }
    });
    (texts, skipped)
}

/// The modules of the texts, and how many of them were not worth parsing.
fn lowered(
    texts: &[SourceText],
    knowledge: &Knowledge,
    threads: usize,
) -> (Vec<Option<(Lang, Module)>>, usize) {
    let plain: Vec<(&str, &str)> = texts
        .iter()
        .map(|(path, text, ..)| (path.as_str(), text.as_str()))
        .collect();
    let kept = crate::sieve::kept(&plain, knowledge, |index| texts[index].2 || texts[index].3);
    let unparsed = kept.iter().filter(|kept| !**kept).count();
    let lowered = in_parallel(texts, threads, |index, (path, text, is_named, _)| {
        let is_kept = kept[index];
        let lang = Lang::detect(path, text.as_bytes())?;
        let index = u32::try_from(index).ok()?;
        // Tests are parsed when a report asks for them.
        let module = if is_test_path(path) && !is_named || !is_kept {
            Module::empty(index)
        } else {
            lower::lower(lang, index, text)?
        };
        Some((lang, module))
    });
    (lowered, unparsed)
}

enum FoundInFile {
    Report(Box<Report>),
    Missing(&'static str),
}

fn readable(input: &Input) -> Result<String, String> {
    if input.bytes.len() > MAX_FILE {
        return Err(format!("larger than {} KiB", MAX_FILE / 1024));
    }
    if input.bytes.iter().take(8192).any(|byte| *byte == 0) {
        return Err("binary".to_owned());
    }
    let lines = input.bytes.iter().filter(|byte| **byte == b'\n').count() + 1;
    if input.bytes.len() / lines > MAX_LINE {
        return Err("minified or generated: lines are too long".to_owned());
    }
    // Bytes that are no UTF-8 are replaced one for one, so that lines stay where they are.
    let text = String::from_utf8_lossy(&input.bytes);
    Ok(text.strip_prefix('\u{feff}').unwrap_or(&text).to_owned())
}

/// Spans carry the file's number; files that were given up leave gaps.
fn renumber(files: &mut [SourceFile]) {
    let mut numbers: Vec<u32> = Vec::new();
    for file in files.iter() {
        let old = file
            .module
            .functions
            .first()
            .map_or(u32::MAX, |function| function.span.file);
        numbers.push(old);
    }
    for (index, file) in files.iter_mut().enumerate() {
        let new = u32::try_from(index).unwrap_or(u32::MAX);
        if numbers[index] != new {
            // Rare: lower once more under the right number.
            if let Some(module) = lower::lower(file.lang, new, &file.text) {
                file.module = module;
            }
        }
    }
}

/// What is said about a file: one report for its flows, one for the names of archive entries.
fn answer(
    program: &Program,
    options: &Options,
    tests: &TestIndex,
    file: u32,
    mut traced: Traced,
) -> Vec<FoundInFile> {
    let source = program.file(file);
    let (archive, flows): (Vec<Flow>, Vec<Flow>) = std::mem::take(&mut traced.found.flows)
        .into_iter()
        .partition(Flow::is_archive);
    let mut out = Vec::new();
    if flows.is_empty() && traced.found.hazards.is_empty() {
        if archive.is_empty() && !traced.found.rootless.is_empty() {
            out.push(FoundInFile::Missing("trusted-root-undeclared"));
        } else if archive.is_empty() && !traced.found.undeclared.is_empty() {
            out.push(FoundInFile::Missing("external-input-surface-undeclared"));
        }
    }
    let mut accepted = Acceptances::read(source, &[], &options.today);
    let both = [(flows, false), (archive, true)];
    for (flows, is_archive) in both {
        let hazards = if is_archive {
            Vec::new()
        } else {
            std::mem::take(&mut traced.found.hazards)
        };
        if flows.is_empty() && hazards.is_empty() || is_archive && options.no_archive_names {
            continue;
        }
        let scope = traced.scope(program, file, flows, hazards, options, tests);
        let mut report = judge::judge(&scope, &source.path, options.depth, &mut accepted);
        report.is_archive = is_archive;
        if let Some(operation) = &options.operation {
            report.operation.clone_from(operation);
        }
        out.push(FoundInFile::Report(Box::new(report)));
    }
    out
}

/// What the user and comments in the file declare: `handfast: root=NAME input=FIELD`.
pub(crate) fn declared_in(source: &SourceFile, options: &Options) -> Declared {
    let mut declared = Declared {
        roots: options.roots.clone(),
        inputs: options.inputs.clone(),
    };
    if source.text.contains("handfast: ") {
        for line in source.text.lines() {
            let Some((_, rest)) = line.split_once("handfast: ") else {
                continue;
            };
            for word in rest.split_whitespace() {
                if let Some(name) = word.strip_prefix("root=") {
                    declared.roots.push(name.to_owned());
                } else if let Some(names) = word.strip_prefix("input=") {
                    declared.inputs.extend(names.split(',').map(str::to_owned));
                }
            }
        }
    }
    declared
}

/// Runs something over a list on several threads; results keep the list's order.
fn in_parallel<T: Sync, R: Send>(
    list: &[T],
    threads: usize,
    run: impl Fn(usize, &T) -> R + Sync,
) -> Vec<R> {
    let threads = if threads == 0 {
        std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
    } else {
        threads
    };
    let threads = threads.min(list.len()).max(1);
    let next = AtomicUsize::new(0);
    let work = || {
        let mut out = Vec::new();
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(one) = list.get(index) else {
                return out;
            };
            out.push((index, run(index, one)));
        }
    };
    let mut found: Vec<(usize, R)> = std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .filter_map(|_| {
                std::thread::Builder::new()
                    .stack_size(64 << 20)
                    .spawn_scoped(scope, work)
                    .ok()
            })
            .collect();
        let mut all = Vec::new();
        for worker in workers {
            match worker.join() {
                Ok(part) => all.extend(part),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        all
    });
    found.sort_by_key(|(index, _)| *index);
    found.into_iter().map(|(_, result)| result).collect()
}
