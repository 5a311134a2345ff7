//! Text of C and C++ that only the preprocessor understands, taken out before it is parsed.
//!
//! Every byte keeps its place: what is taken out becomes blanks, so lines and columns stay right. It
//! is done only to text that cannot be parsed as it is, and only if fewer errors are left then.

/// The text without macros that stand where the grammar has nothing: alone in a line, before the name of
/// a class, beside the type of a function.
pub(super) fn without_macros(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    for (index, line) in lines.iter().enumerate() {
        let trimmed = line.trim();
        if trimmed.starts_with('#') || trimmed.starts_with("//") {
            out.push_str(line);
            continue;
        }
        let mended = section(line)
            .or_else(|| alone(text, &lines, index))
            .or_else(|| class_head(line))
            .or_else(|| function_head(line));
        out.push_str(mended.as_deref().unwrap_or(line));
    }
    out
}

/// The text with the first of each set of alternatives only: `#else` and `#elif` with what follows them.
pub(super) fn first_alternatives(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // For each open condition, whether its text is taken.
    let mut taken: Vec<bool> = Vec::new();
    let mut goes_on = false;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        let word = trimmed.strip_prefix('#').map(str::trim_start);
        let is_conditional = |start: &str| word.is_some_and(|word| word.starts_with(start));
        let mut is_directive = goes_on;
        if is_conditional("if") {
            let is_never = word.is_some_and(|word| word.trim_start_matches("if").trim() == "0");
            taken.push(!is_never);
            is_directive = true;
        } else if is_conditional("el") {
            if let Some(last) = taken.last_mut() {
                *last = !*last && is_conditional("else");
            }
            is_directive = true;
        } else if is_conditional("endif") {
            taken.pop();
            is_directive = true;
        }
        goes_on = is_directive && trimmed.ends_with('\\');
        if is_directive || taken.contains(&false) {
            blank(line, &mut out);
        } else {
            out.push_str(line);
        }
    }
    out
}

fn blank(text: &str, out: &mut String) {
    for c in text.chars() {
        match c {
            '\n' | '\r' => out.push(c),
            _ => (0..c.len_utf8()).for_each(|_| out.push(' ')),
        }
    }
}

fn without(line: &str, start: usize, end: usize) -> String {
    let mut out = String::with_capacity(line.len());
    out.push_str(&line[..start]);
    blank(&line[start..end], &mut out);
    out.push_str(&line[end..]);
    out
}

fn is_macro_name(word: &str) -> bool {
    let is_upper = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    word.len() >= 3 && word.chars().all(is_upper) && word.chars().any(|c| c.is_ascii_uppercase())
}

/// Qt: `private slots:`, `signals:`.
fn section(line: &str) -> Option<String> {
    let trimmed = line.trim().strip_suffix(':')?;
    if matches!(trimmed, "signals" | "Q_SIGNALS") {
        let width = trimmed.len();
        return Some(line.replacen(trimmed, &format!("{:width$}", "public"), 1));
    }
    let (access, rest) = trimmed.split_once(' ')?;
    let is_slots = matches!(rest.trim(), "slots" | "Q_SLOTS");
    if !is_slots || !matches!(access, "public" | "private" | "protected") {
        return None;
    }
    let start = line.find(rest)?;
    Some(without(line, start, start + rest.len()))
}

/// A macro that is a line of its own: `Q_OBJECT`, `G_DEFINE_TYPE (A, b, C)`, `BEGIN_DECLS`.
fn alone(text: &str, lines: &[&str], index: usize) -> Option<String> {
    let line = lines[index];
    let trimmed = line.trim();
    let (name, rest) = match trimmed.find(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
        Some(at) => (&trimmed[..at], trimmed[at..].trim()),
        None => (trimmed, ""),
    };
    let is_call = rest.starts_with('(') && rest.ends_with(')');
    if !is_macro_name(name) || !rest.is_empty() && !is_call {
        return None;
    }
    let before = lines[..index].iter().rev().map(|line| line.trim());
    let before = before.clone().find(|line| !line.is_empty());
    let begins = before.is_none_or(|line| {
        line.starts_with('#') || line.ends_with([';', '{', '}', ':', '/']) || is_macro_name(line)
    });
    let after = lines[index + 1..].iter().map(|line| line.trim());
    let after = after.clone().find(|line| !line.is_empty());
    let goes_on =
        after.is_some_and(|line| line.starts_with(['{', '(', '[', '.', '+', '?', '"', ';']));
    // What the text itself defines may well be a statement.
    let is_defined = text.contains(&format!("#define {name}"));
    if !begins || goes_on || is_defined {
        return None;
    }
    let start = line.find(name)?;
    Some(without(line, start, start + trimmed.len()))
}

/// `class EXPORTED Store : public Base {`.
fn class_head(line: &str) -> Option<String> {
    let trimmed = line.trim_start();
    let keyword = ["class ", "struct ", "union "]
        .into_iter()
        .find(|word| trimmed.starts_with(word))?;
    let rest = &trimmed[keyword.len()..];
    let mut words = rest.split_whitespace();
    let (first, second) = (words.next()?, words.next()?);
    let macro_name = first.split('(').next().unwrap_or(first);
    let is_name = second.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_');
    if !is_macro_name(macro_name) || !is_name || matches!(second, "final") {
        return None;
    }
    // `struct STORE *open_store(…)` has no macro.
    if second.contains('(') || rest.contains(';') || rest.contains('(') && !first.contains('(') {
        return None;
    }
    let start = line.len() - trimmed.len() + keyword.len();
    Some(without(line, start, start + first.len()))
}

/// `EXPORTED int store_open(…`, `static BOOL WINAPI Open(…`: words in capitals beside a type.
fn function_head(line: &str) -> Option<String> {
    if !line.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        return None;
    }
    let open = line.find('(')?;
    let head = &line[..open];
    if head.contains(['=', ';', ',', '"', '<', '{']) {
        return None;
    }
    let mut words: Vec<(usize, &str)> = Vec::new();
    let mut at = 0;
    for word in head.split(|c: char| !c.is_ascii_alphanumeric() && c != '_') {
        if !word.is_empty() {
            words.push((at, word));
        }
        at += word.len() + 1;
    }
    let (_, types) = words.split_last()?;
    let plain = |word: &str| matches!(word, "static" | "inline" | "extern" | "const" | "virtual");
    let has_type = types
        .iter()
        .any(|(_, word)| !is_macro_name(word) && !plain(word));
    let mut capitals = types.iter().filter(|(_, word)| is_macro_name(word));
    // Without another type the first of them is the type.
    if !has_type {
        capitals.next()?;
    }
    let mut mended = line.to_owned();
    let mut is_mended = false;
    for (start, word) in capitals {
        let end = start + word.len();
        let is_pointer = line[end..].trim_start().starts_with('*');
        if !is_pointer {
            mended = without(&mended, *start, end);
            is_mended = true;
        }
    }
    is_mended.then_some(mended)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_keeps_its_place() {
        let text = "class API Store : public QObject {\n    Q_OBJECT\nprivate slots:\n    void é();\nsignals:\n};\n\
                    G_DEFINE_TYPE (A, b, C)\nEXPORTED int CALL open_store(const char *name)\n{\n}\n";
        let mended = without_macros(text);
        assert_eq!(mended.len(), text.len());
        assert_eq!(mended.lines().count(), text.lines().count());
        for gone in [
            "API",
            "Q_OBJECT",
            "slots",
            "signals",
            "G_DEFINE_TYPE",
            "EXPORTED",
            "CALL",
        ] {
            assert!(!mended.contains(gone), "{gone} is left in {mended}");
        }
        for kept in [
            "class     Store",
            "void é();",
            "private ",
            "int      open_store(",
        ] {
            assert!(mended.contains(kept), "{kept} is gone from {mended}");
        }
    }

    #[test]
    fn what_may_be_a_statement_or_a_type_is_left_alone() {
        for text in [
            "#define CHECK(x) if (!(x)) return\nint f(int a)\n{\n    CHECK(a)\n    return 1;\n}\n",
            "FILE *open_it(const char *name)\n{\n}\n",
            "BOOL open_it(const char *name)\n{\n}\n",
            "TEST(Store, opens)\n{\n}\n",
            "x = FLAG_ONE |\n    FLAG_TWO\n    ;\n",
            "struct STORE *open_store(const char *name)\n{\n}\n",
        ] {
            assert_eq!(without_macros(text), text);
        }
    }

    #[test]
    fn one_alternative_is_left() {
        let text = "a\n#ifdef X\nb\n#else\nc\n#endif\n#if 0\nd\n#else\ne\n#endif\nf\n";
        let left = first_alternatives(text);
        assert_eq!(left.len(), text.len());
        let words: Vec<&str> = left.split_whitespace().collect();
        assert_eq!(words, ["a", "b", "e", "f"]);
    }
}
