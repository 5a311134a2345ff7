//! What a first measurement found missing, one small program each: mistakes that were not seen, and
//! repairs after which the auditor did not go silent.
//!
//! A sheet holds many: `=== name [dir] file` begins one, `+++ file` adds a file to it. With `dir`, or
//! with several files, the program is audited as a directory.
#![allow(clippy::unwrap_used, reason = "a test that cannot be set up fails")]
#![allow(missing_docs, reason = "tests are named after what they show")]

use std::sync::OnceLock;

use handfast_audit::{Classification, Finding, Input, Knowledge, Options, audit};

const SEEN: &str = include_str!("reproducers/seen.txt");
const SILENT: &str = include_str!("reproducers/silent.txt");

struct Case<'s> {
    name: &'s str,
    is_dir: bool,
    files: Vec<(&'s str, String)>,
}

fn cases(sheet: &str) -> Vec<Case<'_>> {
    let mut out: Vec<Case<'_>> = Vec::new();
    for line in sheet.lines() {
        if let Some(head) = line.strip_prefix("=== ") {
            let words: Vec<&str> = head.split(' ').collect();
            out.push(Case {
                name: words[0],
                is_dir: words.contains(&"dir"),
                files: vec![(words[words.len() - 1], String::new())],
            });
            continue;
        }
        let case = out.last_mut().unwrap();
        if let Some(file) = line.strip_prefix("+++ ") {
            case.files.push((file, String::new()));
            case.is_dir = true;
            continue;
        }
        let (_, text) = case.files.last_mut().unwrap();
        text.push_str(line);
        text.push('\n');
    }
    out
}

/// Everything that is said to be wrong, surely or likely.
fn findings(case: &Case<'_>, is_dir: bool) -> Vec<Finding> {
    static KNOWLEDGE: OnceLock<Knowledge> = OnceLock::new();
    let knowledge = KNOWLEDGE.get_or_init(|| Knowledge::new(&[]).unwrap());
    let inputs = case.files.iter().map(|(path, text)| Input {
        path: (*path).to_owned(),
        bytes: text.as_bytes().to_vec(),
        is_named: !is_dir,
        is_context: false,
    });
    let outcome = audit(inputs.collect(), knowledge, &Options::default());
    let all = outcome
        .reports
        .into_iter()
        .flat_map(|report| report.findings);
    all.filter(|finding| {
        matches!(
            finding.classification,
            Classification::Confirmed | Classification::Likely
        )
    })
    .collect()
}

fn case<'s>(sheet: &'s str, name: &str) -> Case<'s> {
    let found = cases(sheet).into_iter().find(|case| case.name == name);
    found.unwrap_or_else(|| panic!("{name} stands in no sheet"))
}

fn is_seen(name: &str) {
    let case = case(SEEN, name);
    let found = findings(&case, case.is_dir);
    assert!(!found.is_empty(), "{name}: nothing is said");
    assert!(
        found
            .iter()
            .all(|finding| finding.line > 0 && finding.source != "value"),
        "{name}: a finding without a place or a name"
    );
}

fn is_silent(name: &str) {
    let case = case(SILENT, name);
    let loud: Vec<String> = findings(&case, case.is_dir)
        .into_iter()
        .filter(|finding| !finding.is_advice())
        .map(|finding| finding.title)
        .collect();
    assert!(loud.is_empty(), "{name}: {loud:?}");
}

macro_rules! each {
    ($sheet:ident $check:ident: $($name:ident)*) => {
        $(#[test]
        fn $name() {
            $check(stringify!($name));
        })*

        #[allow(non_snake_case, reason = "named after its sheet")]
        mod $sheet {
            /// A case that nobody runs would go unnoticed.
            #[test]
            fn every_case_of_the_sheet_is_run() {
                let run = [$(stringify!($name)),*];
                let listed = super::cases(super::$sheet);
                let listed: Vec<&str> = listed.iter().map(|case| case.name).collect();
                assert_eq!(listed, run);
            }
        }
    };
}

each! { SEEN is_seen:
    a_function_with_the_name_of_a_method
    a_root_that_is_a_parameter
    a_root_that_is_an_option_alias
    a_root_that_is_a_loop_variable
    a_root_that_is_a_methods_answer
    a_request_without_any_root
    request_args_get_is_a_source
    a_root_that_is_concatenated
    callbacks_by_shape
    a_route_table_in_a_class
    handlers_in_a_dict
    a_base_class_handler
    answers_of_http_clients
    answers_of_http_clients_rust
    deserialised_structures
    exported_functions_arguments
    archive_names_python
    archive_names_extractall
    archive_names_go
    archive_names_go_zip
    archive_names_rust
    archive_names_js
    a_script_without_an_extension
    a_macro_that_renames_open
    a_field_updated_in_a_branch
    a_nested_function_that_calls_itself
    a_slice_of_what_was_read
    through_a_map
    through_a_list
    an_fs_interface_that_opens_raw
    temp_names_in_c
    mktemp_in_c
    mktemp_in_python
    access_before_open
    stat_before_open
    a_check_that_is_given_itself
    a_prefix_without_separator
    one_removal
    a_loop_that_never_runs
    decoded_after_the_check
    clean_keeps_leading_dots
}

each! { SILENT is_silent:
    os_root
    resolve_and_is_relative_to
    safe_join
    realpath_and_commonpath
    commonpath_that_raises
    path_relative_without_is_absolute
    path_relative_with_index_of
    relative_to_in_try
    relative_to_in_both_branches
    nofollow_under_hasattr
    sub_and_a_test_against_dots
    membership_across_files
    removal_to_a_fixpoint
    removal_to_a_fixpoint_js
    relpath_below_a_slash
    dot_dot_slash_returns
    fixed_length_hex
    a_uuid
    a_sanitizer_in_another_file
    a_constant_condition
    a_match_on_a_constant
    another_key_of_a_map
    a_path_parameter_of_a_library
    dir_fd_with_nofollow_and_excl
    extractall_with_a_filter
    an_archive_guard
    enclosed_name
    valid_path
    path_escape
    clean_below_a_slash
    is_local
    a_boolean_method_with_two_roots
    every_component_is_normal
    cap_std
    mkstemp_in_c
}

#[test]
fn what_a_file_shows_a_directory_shows_too() {
    for case in cases(SEEN) {
        let place = |finding: &Finding| (finding.file.clone(), finding.line);
        let named: Vec<_> = findings(&case, false).iter().map(place).collect();
        let whole: Vec<_> = findings(&case, true).iter().map(place).collect();
        for one in named {
            assert!(whole.contains(&one), "{}: {one:?} is lost", case.name);
        }
    }
}
