//! The page over loopback, with its process behind the wall: this program starts itself again as that.
#![allow(
    missing_docs,
    reason = "tests are named after what they show, and nobody depends on them"
)]
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "tests look at the tree from outside"
)]

#[cfg(target_os = "linux")]
mod asking;
#[cfg(target_os = "linux")]
mod broken;
#[cfg(target_os = "linux")]
mod door;
#[cfg(target_os = "linux")]
mod hostile;
#[cfg(target_os = "linux")]
mod leases;
#[cfg(target_os = "linux")]
mod news;
#[cfg(target_os = "linux")]
mod reviewing;
#[cfg(target_os = "linux")]
mod snapshots;
#[cfg(target_os = "linux")]
mod support;

use std::process::ExitCode;
use std::sync::atomic::{AtomicU32, AtomicUsize, Ordering};

type Test = (&'static str, fn());

#[cfg(target_os = "linux")]
const TESTS: &[Test] = &[
    // The longest first.
    ("a_connection_has_its_time", news::a_connection_has_its_time),
    (
        "what_grows_is_cut_and_ends_nothing",
        hostile::what_grows_is_cut_and_ends_nothing,
    ),
    ("the_token_is_good_once", door::the_token_is_good_once),
    ("others_are_turned_away", door::others_are_turned_away),
    (
        "every_answer_has_its_headers",
        door::every_answer_has_its_headers,
    ),
    (
        "a_stolen_cookie_ends_with_the_page",
        door::a_stolen_cookie_ends_with_the_page,
    ),
    (
        "marked_paths_are_committed_and_taken_back",
        reviewing::marked_paths_are_committed_and_taken_back,
    ),
    (
        "everything_names_nothing_that_a_rule_speaks_of",
        reviewing::everything_names_nothing_that_a_rule_speaks_of,
    ),
    (
        "a_connection_is_for_one_request",
        door::a_connection_is_for_one_request,
    ),
    (
        "a_hunk_is_committed_alone",
        reviewing::a_hunk_is_committed_alone,
    ),
    (
        "a_stale_click_does_nothing",
        reviewing::a_stale_click_does_nothing,
    ),
    (
        "two_reviewers_do_not_commit_twice",
        reviewing::two_reviewers_do_not_commit_twice,
    ),
    (
        "a_comment_is_kept_for_the_agent",
        reviewing::a_comment_is_kept_for_the_agent,
    ),
    (
        "what_is_long_is_said_to_be_missing",
        reviewing::what_is_long_is_said_to_be_missing,
    ),
    (
        "images_are_served_as_images_only",
        reviewing::images_are_served_as_images_only,
    ),
    (
        "a_tampered_log_is_shown_as_tampered",
        reviewing::a_tampered_log_is_shown_as_tampered,
    ),
    (
        "a_snapshot_is_taken_and_gone_back_to",
        snapshots::a_snapshot_is_taken_and_gone_back_to,
    ),
    (
        "those_who_are_turned_away_are_told_of",
        snapshots::those_who_are_turned_away_are_told_of,
    ),
    (
        "names_and_contents_stay_text",
        hostile::names_and_contents_stay_text,
    ),
    ("a_page_is_told_of_changes", news::a_page_is_told_of_changes),
    (
        "news_is_for_those_who_came_in",
        news::news_is_for_those_who_came_in,
    ),
    (
        "streams_are_bounded_and_slow_ones_hold_up_nobody",
        news::streams_are_bounded_and_slow_ones_hold_up_nobody,
    ),
    (
        "a_question_is_answered_on_the_page",
        asking::a_question_is_answered_on_the_page,
    ),
    (
        "a_question_that_nobody_answers_times_out",
        asking::a_question_that_nobody_answers_times_out,
    ),
    (
        "a_yes_is_for_what_was_shown",
        asking::a_yes_is_for_what_was_shown,
    ),
    (
        "an_answer_is_an_event_with_its_giver",
        asking::an_answer_is_an_event_with_its_giver,
    ),
    (
        "only_a_question_that_was_sent_is_answered",
        asking::only_a_question_that_was_sent_is_answered,
    ),
    (
        "a_comment_has_the_lines_that_were_typed",
        hostile::a_comment_has_the_lines_that_were_typed,
    ),
    ("a_lease_is_revoked_once", leases::a_lease_is_revoked_once),
    (
        "a_renewal_is_news_and_nanoseconds_are_none",
        leases::a_renewal_is_news_and_nanoseconds_are_none,
    ),
    (
        "a_page_that_was_taken_over_gets_nowhere",
        broken::a_page_that_was_taken_over_gets_nowhere,
    ),
    (
        "a_comment_is_in_the_log",
        reviewing::a_comment_is_in_the_log,
    ),
    ("nonsense_is_answered", hostile::nonsense_is_answered),
    (
        "a_broken_page_reads_nothing",
        broken::a_broken_page_reads_nothing,
    ),
    (
        "a_broken_page_commits_nothing_else",
        broken::a_broken_page_commits_nothing_else,
    ),
];
#[cfg(not(target_os = "linux"))]
const TESTS: &[Test] = &[];

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    #[cfg(target_os = "linux")]
    match args.first().map(String::as_str) {
        Some("page-process") => return support::be_the_page(),
        Some("asker") => return asking::be_the_asker(&args),
        Some("taken-over") => return broken::be_taken_over(),
        Some("broken-process") => return broken::be_broken(),
        _ => {}
    }
    if args.iter().any(|arg| arg == "--list") {
        TESTS.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let words: Vec<&String> = args.iter().filter(|arg| !arg.starts_with('-')).collect();
    let is_wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(*word));
    let wanted: Vec<_> = TESTS.iter().filter(|(name, _)| is_wanted(name)).collect();
    println!("\nrunning {} tests", wanted.len());
    let failed = run(&wanted);
    let passed = wanted.len() - failed as usize;
    let word = if failed == 0 { "ok" } else { "FAILED" };
    println!("\ntest result: {word}. {passed} passed; {failed} failed; 0 ignored\n");
    match failed {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::from(101),
    }
}

/// Runs the tests, several at a time: most of them wait for a page. Returns how many failed.
fn run(tests: &[&Test]) -> u32 {
    let (next, failed) = (AtomicUsize::new(0), AtomicU32::new(0));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                while let Some((name, test)) = tests.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let is_good = std::panic::catch_unwind(test).is_ok();
                    println!("test {name} ... {}", if is_good { "ok" } else { "FAILED" });
                    failed.fetch_add(u32::from(!is_good), Ordering::Relaxed);
                }
            });
        }
    });
    failed.into_inner()
}
