//! The diff that `edit_file` answers.

use std::time::Duration;

use similar::{ChangeTag, TextDiff};

/// Beyond this the diff is still right, and perhaps longer than need be.
const PATIENCE: Duration = Duration::from_secs(1);

/// A unified diff with four lines of context, in a fence that it does not contain.
pub(crate) fn fenced(path: &str, before: &str, after: &str) -> String {
    let diff = unified(path, before, after);
    let mut fence = "```".to_owned();
    while diff.contains(&fence) {
        fence.push('`');
    }
    format!("{fence}diff\n{diff}{fence}\n\n")
}

fn unified(path: &str, before: &str, after: &str) -> String {
    let mut text = format!(
        "Index: {path}\n{}\n--- {path}\toriginal\n+++ {path}\tmodified\n",
        "=".repeat(67)
    );
    let diff = TextDiff::configure()
        .timeout(PATIENCE)
        .diff_lines(before, after);
    for group in diff.grouped_ops(4) {
        let (Some(first), Some(last)) = (group.first(), group.last()) else {
            continue;
        };
        let old = first.old_range().start..last.old_range().end;
        let new = first.new_range().start..last.new_range().end;
        text.push_str(&format!(
            "@@ -{},{} +{},{} @@\n",
            start(&old),
            old.len(),
            start(&new),
            new.len()
        ));
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            text.push(match change.tag() {
                ChangeTag::Equal => ' ',
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
            });
            let line = change.value();
            text.push_str(line);
            if !line.ends_with('\n') {
                text.push_str("\n\\ No newline at end of file\n");
            }
        }
    }
    text
}

/// Lines count from 1; nothing stands after the line before it.
fn start(range: &std::ops::Range<usize>) -> usize {
    match range.is_empty() {
        true => range.start,
        false => range.start + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_form_is_the_reference_servers() {
        let text = fenced("/srv/ws/e.txt", "one\ntwo\nthree\n", "one\nTWO\nthree\n");
        let expected = format!(
            "```diff\nIndex: /srv/ws/e.txt\n{}\n--- /srv/ws/e.txt\toriginal\n+++ /srv/ws/e.txt\tmodified\n\
             @@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n```\n\n",
            "=".repeat(67)
        );
        assert_eq!(text, expected);
    }

    #[test]
    fn ends_without_a_newline_and_fences_inside() {
        let text = unified("f", "a", "b\n");
        assert!(
            text.ends_with("@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+b\n"),
            "{text}"
        );
        assert!(unified("f", "", "x\n").ends_with("@@ -0,0 +1,1 @@\n+x\n"));
        assert!(fenced("f", "", "```\n").starts_with("````diff\n"));
        assert_eq!(unified("f", "same\n", "same\n").lines().count(), 4);
    }
}
