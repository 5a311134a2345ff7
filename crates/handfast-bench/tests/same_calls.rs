//! The floor makes the library's system calls, no fewer and no more. Needs `strace`.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    reason = "a test"
)]

use std::collections::BTreeMap;
use std::process::Command;

use handfast_bench::column::Column;
use handfast_bench::row::Group;
use handfast_bench::rows;
use handfast_bench::scale::Scale;

type Calls = BTreeMap<String, u32>;

#[test]
fn the_floor_makes_the_same_system_calls() {
    if Command::new("strace").arg("-V").output().is_err() {
        assert!(std::env::var_os("CI").is_none(), "CI must have strace");
        println!("skipped: strace is not installed");
        return;
    }
    // What grows makes the calls of the rows before, many times.
    let rows = rows::all(&Scale::SMALL);
    for row in rows.iter().filter(|row| row.group == Group::Work) {
        for (floor, column) in [
            (Column::Raw, Column::Kernel),
            (Column::RawWalk, Column::Walk),
        ] {
            let (by_hand, by_library) = (calls(&row.id, floor), calls(&row.id, column));
            assert!(floor != Column::Raw || !by_hand.is_empty(), "{}", row.id);
            assert_eq!(by_hand, by_library, "{}, {column}", row.id);
        }
    }
}

/// What one operation asks of the kernel: the calls between the first two looks at the clock.
fn calls(row: &str, column: Column) -> Calls {
    let name = format!("handfast-bench-calls-{}", std::process::id());
    let trace = std::env::temp_dir().join(name);
    let output = Command::new("strace")
        .arg("-o")
        .arg(&trace)
        .arg(env!("CARGO_BIN_EXE_handfast-bench"))
        .args(["--once", "--rows", row, "--columns", column.name()])
        .output()
        .unwrap();
    let text = std::fs::read_to_string(&trace).unwrap();
    std::fs::remove_file(&trace).unwrap();
    assert!(output.status.success(), "{row}, {column}: {output:?}");
    let mut calls = Calls::new();
    let clock = |line: &&str| line.contains("CLOCK_PROCESS_CPUTIME_ID");
    let timed = text.lines().skip_while(|line| !clock(line)).skip(1);
    for line in timed.take_while(|line| !clock(line)) {
        let call = line.split('(').next().unwrap_or_default();
        // Memory is the allocator's business.
        if !matches!(call, "brk" | "mmap" | "munmap" | "madvise") {
            *calls.entry(call.to_owned()).or_default() += 1;
        }
    }
    calls
}
