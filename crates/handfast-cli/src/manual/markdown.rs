//! The reference of the command line as one page.

use std::fmt::Write as _;

use clap::{Arg, Command};

use super::shown;

/// Every command with its usage, its arguments and its options.
pub(super) fn reference(plain: Command) -> String {
    let mut page = String::from(
        "# The command line\n\n\
         <!-- Made by `handfast manual --markdown`; a test fails if it is not what that prints. -->\n\n\
         Standard output is data, standard error is words. `--json` prints one object with\n\
         `\"version\":1`. Options that every command has are listed once.\n",
    );
    let mut built = plain.clone();
    built.build();
    section(&plain, &built, "handfast", 2, &mut page);
    page
}

/// One command. `plain` knows what it defines itself, `built` how it is called.
fn section(plain: &Command, built: &Command, name: &str, level: usize, page: &mut String) {
    let mark = "#".repeat(level.min(4));
    put(page, format_args!("\n{mark} `{name}`\n\n"));
    let about = plain.get_long_about().or_else(|| plain.get_about());
    if let Some(about) = about {
        put(page, format_args!("{}\n\n", about.to_string().trim_end()));
    }
    let usage = built.clone().render_usage().to_string();
    put(page, format_args!("```text\n{}\n```\n", usage.trim_end()));
    let mut first = true;
    for arg in plain.get_arguments().filter(|arg| !arg.is_hide_set()) {
        if matches!(arg.get_id().as_str(), "help" | "version") {
            continue;
        }
        if std::mem::take(&mut first) {
            page.push('\n');
        }
        argument(arg, page);
    }
    if let Some(after) = plain.get_after_help() {
        put(
            page,
            format_args!("\n```text\n{}\n```\n", after.to_string().trim_end()),
        );
    }
    for below in shown(plain) {
        let Some(called) = built.find_subcommand(below.get_name()) else {
            continue;
        };
        let name = format!("{name} {}", below.get_name());
        section(below, called, &name, level + 1, page);
    }
}

/// One line: how it is written, what it means, what it may be.
fn argument(arg: &Arg, page: &mut String) {
    let mut written = String::new();
    if let Some(short) = arg.get_short() {
        put(&mut written, format_args!("-{short}, "));
    }
    let value = arg
        .get_value_names()
        .filter(|_| arg.get_action().takes_values())
        .map(|names| {
            names
                .iter()
                .map(|name| format!("<{name}>"))
                .collect::<Vec<_>>()
                .join(" ")
        })
        .or_else(|| {
            arg.get_action()
                .takes_values()
                .then(|| format!("<{}>", arg.get_id().as_str().to_uppercase()))
        });
    match (arg.get_long(), value) {
        (Some(long), Some(value)) => put(&mut written, format_args!("--{long} {value}")),
        (Some(long), None) => put(&mut written, format_args!("--{long}")),
        (None, Some(value)) => written.push_str(&value),
        (None, None) => {}
    }
    let help = arg.get_help().map(ToString::to_string).unwrap_or_default();
    put(
        page,
        format_args!("- `{written}`: {}", help.replace('\n', " ")),
    );
    let values = arg.get_possible_values();
    let values: Vec<_> = values
        .iter()
        .filter(|it| !it.is_hide_set())
        .map(|it| format!("`{}`", it.get_name()))
        .collect();
    if !values.is_empty() && arg.get_action().takes_values() {
        put(page, format_args!(" ({})", values.join(", ")));
    }
    let defaults: Vec<_> = arg
        .get_default_values()
        .iter()
        .map(|it| format!("`{}`", it.to_string_lossy()))
        .collect();
    if !defaults.is_empty() && arg.get_action().takes_values() {
        put(page, format_args!("; default {}", defaults.join(", ")));
    }
    page.push('\n');
}

/// Into memory: it cannot fail.
fn put(text: &mut String, what: std::fmt::Arguments<'_>) {
    text.write_fmt(what).unwrap_or_default();
}
