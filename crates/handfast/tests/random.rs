//! Random strings of bytes against every property. How many is set by `HANDFAST_RANDOM_CASES`.
#![allow(
    clippy::disallowed_methods,
    clippy::unwrap_used,
    clippy::print_stdout,
    unreachable_pub,
    reason = "tests set their scenes with ambient calls"
)]

mod properties;
mod support;

use std::cell::RefCell;

use properties::verbs::Succeeded;
use proptest::prelude::*;
use support::*;

/// A bounded number; the seeds are proptest's, and a failure prints the string.
fn cases(usual: u32) -> ProptestConfig {
    let cases = std::env::var("HANDFAST_RANDOM_CASES").map_or(usual, |text| {
        text.parse().expect("HANDFAST_RANDOM_CASES is a number")
    });
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

/// Bytes that look like paths more often than chance has it.
fn pathlike() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        3 => Just(b'/'),
        3 => Just(b'.'),
        3 => Just(b'a'),
        1 => any::<u8>(),
    ];
    prop::collection::vec(byte, 0..24)
}

proptest! {
    #![proptest_config(cases(4000))]

    #[test]
    fn the_parser_does_what_it_says(bytes in pathlike()) {
        properties::parser::check(&bytes);
    }
}

proptest! {
    #![proptest_config(cases(400))]

    // Inserting `./`, doubling `/` or going through a link that leads here changes nothing.
    #[test]
    fn spellings_do_not_change_what_is_reached(bytes in prop::collection::vec(any::<u8>(), 8..120)) {
        each_backend(|backend| {
            let scratch = Scratch::new();
            properties::resolvers::check_spellings(&scratch.root_path(), backend, &bytes);
        });
    }

    #[test]
    fn walk_and_kernel_agree_on_random_trees(bytes in prop::collection::vec(any::<u8>(), 8..160)) {
        if !kernel_available() {
            skip("the kernel as oracle: openat2 is masked or absent");
            return Ok(());
        }
        let scratch = Scratch::new();
        properties::resolvers::check(&scratch.root_path(), &bytes);
    }

}

#[test]
fn the_verbs_do_what_the_model_does() {
    let mut runner = proptest::test_runner::TestRunner::new(cases(400));
    let succeeded = RefCell::new(Succeeded::new());
    let bytes = prop::collection::vec(any::<u8>(), 8..400);
    let one = |bytes: Vec<u8>| {
        each_backend(|backend| {
            let scratch = Scratch::new();
            let outside = scratch.outside();
            let mut succeeded = succeeded.borrow_mut();
            properties::verbs::check(&scratch.root_path(), backend, &bytes, &mut succeeded);
            assert_eq!(scratch.outside(), outside);
        });
        Ok(())
    };
    // Which verbs succeed is chance: more cases where one did not.
    for _ in 0..10 {
        runner.run(&bytes, one).unwrap();
        if succeeded.borrow().len() == 19 {
            break;
        }
    }
    // A verb that never succeeds shows nothing. One of the 20 kinds is meant to be refused.
    let succeeded = succeeded.into_inner();
    assert!(
        succeeded.len() == 19 && succeeded.values().all(|count| *count > 0),
        "{succeeded:?}"
    );
    println!("{succeeded:?}");
}

#[test]
fn long_and_deep_paths_are_measured() {
    for segment in [254, 255, 256] {
        properties::parser::check(&vec![b'x'; segment]);
    }
    for depth in [127, 128, 129, 2047, 2048, 2049] {
        properties::parser::check(&vec!["x"; depth].join("/").into_bytes());
    }
}
