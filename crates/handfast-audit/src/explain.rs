//! The checklist in words, from the same tables the audit uses.

use std::fmt::Write;

use crate::judge::{cause_of, suggestion};
use crate::lang::Lang;
use crate::tables::{item as find, items};

const FAMILIES: [&str; 6] = ["python", "javascript", "go", "rust", "c", "java"];

/// One item: what it asks, why, and a first line in each language or in one.
#[must_use]
pub fn item(id: &str, lang: Option<Lang>) -> Option<String> {
    let item = find(id)?;
    let mut out = String::new();
    writeln!(out, "{}: {}", item.id, item.guard).ok();
    writeln!(out, "Category: {}", item.category).ok();
    writeln!(
        out,
        "Missing: {} ({}; {} if not externally reachable)",
        item.title,
        item.severity.name(),
        item.otherwise.name()
    )
    .ok();
    writeln!(out, "Trigger: {}", item.trigger).ok();
    writeln!(out, "Risk: {}", item.risk).ok();
    if !item.cwe.is_empty() {
        let list: Vec<String> = item
            .cwe
            .iter()
            .map(|number| format!("CWE-{number}"))
            .collect();
        writeln!(out, "Weakness: {}", list.join(", ")).ok();
    }
    for family in FAMILIES {
        if lang.is_none_or(|lang| lang.family() == family) {
            let lines = suggestion(family, cause_of(&item.id));
            writeln!(out, "{family}: {}", lines.replace('\n', "; ")).ok();
        }
    }
    Some(out)
}

/// The checklist as a contract for a component that does not exist yet.
#[must_use]
pub fn contract(lang: Option<Lang>) -> String {
    let mut out = String::from(
        "Design contract for code that turns external text into paths under a trusted root.\n\
         Declare first: the trusted root, the external fields, the operation (read, create, mutate, delete).\n\
         In short: an allowlist per segment; canonicalize the root once; lstat per-segment and refuse links;\n\
         open no-follow; write by atomic rename from an exclusive temporary name; act on the descriptor.\n",
    );
    let mut category = "";
    for item in items() {
        if item.category != category {
            category = &item.category;
            write!(out, "\n{category}\n").ok();
        }
        writeln!(out, "  {}: {}", item.id, item.guard).ok();
        if let Some(lang) = lang {
            writeln!(
                out,
                "      {}",
                suggestion(lang.family(), cause_of(&item.id))
            )
            .ok();
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_contract_names_what_a_writer_must_do_and_nothing_about_archives() {
        let text = contract(None).to_lowercase();
        for word in [
            "canonicalize",
            "per-segment",
            "lstat",
            "no-follow",
            "atomic",
            "rename",
            "allowlist",
        ] {
            assert!(text.contains(word), "{word}");
        }
        assert!(!text.contains("zip slip") && !text.contains("decompression bomb"));
    }

    #[test]
    fn every_item_has_a_line_in_every_language() {
        for one in items() {
            for family in FAMILIES {
                assert!(
                    !suggestion(family, cause_of(&one.id)).is_empty(),
                    "{} {family}",
                    one.id
                );
            }
        }
        assert!(item("G1", None).is_none());
        assert!(
            item("d2", Lang::of_name("go"))
                .unwrap()
                .contains("O_NOFOLLOW")
        );
    }
}
