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
mod broken;
#[cfg(target_os = "linux")]
mod door;
#[cfg(target_os = "linux")]
mod hostile;
#[cfg(target_os = "linux")]
mod reviewing;
#[cfg(target_os = "linux")]
mod support;

use std::process::ExitCode;

type Test = (&'static str, fn());

#[cfg(target_os = "linux")]
const TESTS: &[Test] = &[
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
        "names_and_contents_stay_text",
        hostile::names_and_contents_stay_text,
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
        Some("broken-process") => return broken::be_broken(),
        _ => {}
    }
    if args.iter().any(|arg| arg == "--list") {
        TESTS.iter().for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    let words: Vec<&String> = args.iter().filter(|arg| !arg.starts_with('-')).collect();
    let is_wanted = |name: &str| words.is_empty() || words.iter().any(|word| name.contains(*word));
    let mut failed = 0;
    let wanted: Vec<_> = TESTS.iter().filter(|(name, _)| is_wanted(name)).collect();
    println!("\nrunning {} tests", wanted.len());
    for (name, test) in &wanted {
        let is_good = std::panic::catch_unwind(test).is_ok();
        println!("test {name} ... {}", if is_good { "ok" } else { "FAILED" });
        failed += u32::from(!is_good);
    }
    let passed = wanted.len() - failed as usize;
    let word = if failed == 0 { "ok" } else { "FAILED" };
    println!("\ntest result: {word}. {passed} passed; {failed} failed; 0 ignored\n");
    match failed {
        0 => ExitCode::SUCCESS,
        _ => ExitCode::from(101),
    }
}
