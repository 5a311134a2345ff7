//! Teaches the auditor a project's own calls: a function that hands out external text, one that
//! opens files, and one that makes names safe.
//!
//! The rows are TOML, as in `crates/handfast-audit/knowledge/`.
#![allow(clippy::print_stdout, reason = "an example")]

use std::error::Error;

use handfast_audit::{Input, Knowledge, Options, Verdict, audit};

const ROWS: &str = r#"
[[row]]
call = ["intranet.message_field"]
role = "source"

[[row]]
call = ["blobs.put"]
role = "sink"
what = "open"
arg = [0, "name"]
"#;

const CODE: &str = r#"
import intranet
import blobs

STORE = "/srv/blobs"

def on_message(message):
    name = intranet.message_field(message, "name")
    blobs.put(STORE + "/" + name)
"#;

/// The verdict about the code, with these rows beside what is built in.
fn verdict(rows: &[(String, String)]) -> Result<Verdict, Box<dyn Error>> {
    let knowledge = Knowledge::new(rows)?;
    let input = Input {
        path: "handler.py".to_owned(),
        bytes: CODE.as_bytes().to_vec(),
        is_named: true,
        is_context: false,
    };
    let outcome = audit(vec![input], &knowledge, &Options::default());
    for report in &outcome.reports {
        for finding in &report.findings {
            println!("line {}: {}", finding.line, finding.title);
        }
    }
    Ok(outcome.verdict)
}

fn main() -> Result<(), Box<dyn Error>> {
    println!("built in: {:?}", verdict(&[])?);
    let rows = [("python".to_owned(), ROWS.to_owned())];
    println!("with our rows: {:?}", verdict(&rows)?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::{ROWS, Verdict, verdict};

    #[test]
    fn what_the_project_says_about_its_calls_changes_the_verdict() {
        assert_eq!(verdict(&[]).unwrap(), Verdict::NotApplicable);
        let rows = [("python".to_owned(), ROWS.to_owned())];
        assert_eq!(verdict(&rows).unwrap(), Verdict::Block);
    }
}
