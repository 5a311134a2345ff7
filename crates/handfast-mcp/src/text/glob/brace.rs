//! `{a,b}` and `{1..3}`.

/// More alternatives are no pattern that somebody meant.
const MOST: usize = 1024;

/// How many characters are looked at for them: braces in braces, and such that are never closed, are
/// looked at again and again.
const BUDGET: usize = 10_000_000;

/// Everything that a pattern's braces come to.
pub(super) fn expand(pattern: &str) -> Result<Vec<String>, String> {
    let chars: Vec<char> = pattern.chars().collect();
    let mut done = Vec::new();
    // Prefixes that need no more expanding, and what follows them.
    let mut pending = vec![(String::new(), chars)];
    let mut budget = BUDGET;
    while let Some((prefix, rest)) = pending.pop() {
        let found = first_braces(&rest, &mut budget);
        if budget == 0 {
            return Err(too_many());
        }
        let Some((open, parts, close)) = found else {
            done.push(prefix + &rest.into_iter().collect::<String>());
            if done.len() > MOST {
                return Err(too_many());
            }
            continue;
        };
        if parts.len() + pending.len() > MOST {
            return Err(too_many());
        }
        let before: String = rest[..open].iter().collect();
        for part in parts.into_iter().rev() {
            let mut after = part;
            after.extend_from_slice(&rest[close + 1..]);
            if after.len() > 16 * 1024 {
                return Err(too_many());
            }
            pending.push((format!("{prefix}{before}"), after));
        }
    }
    Ok(done)
}

fn too_many() -> String {
    format!("the pattern's braces come to more than {MOST} alternatives")
}

/// The first braces that stand for alternatives: where they open, what they hold, where they
/// close.
fn first_braces(text: &[char], budget: &mut usize) -> Option<(usize, Vec<Vec<char>>, usize)> {
    let mut at = 0;
    while at < text.len() {
        *budget = budget.checked_sub(1)?;
        match text[at] {
            '\\' => at += 1,
            '{' => {
                if let Some((parts, close)) = alternatives(text, at, budget) {
                    return Some((at, parts, close));
                }
            }
            _ => {}
        }
        at += 1;
    }
    None
}

fn alternatives(text: &[char], open: usize, budget: &mut usize) -> Option<(Vec<Vec<char>>, usize)> {
    let mut depth = 0;
    let mut parts = vec![Vec::new()];
    let mut at = open + 1;
    while at < text.len() {
        *budget = budget.checked_sub(1)?;
        let c = text[at];
        let last = parts.len() - 1;
        match c {
            '\\' => {
                parts[last].push(c);
                at += 1;
                parts[last].extend(text.get(at));
                at += 1;
                continue;
            }
            '{' => depth += 1,
            '}' if depth == 0 => {
                if parts.len() > 1 {
                    return Some((parts, at));
                }
                return range(&parts[0]).map(|parts| (parts, at));
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                parts.push(Vec::new());
                at += 1;
                continue;
            }
            _ => {}
        }
        parts[last].push(c);
        at += 1;
    }
    None
}

/// `1..3`, `a..e`, `1..9..2`; too long a range is given as one over the limit.
fn range(inside: &[char]) -> Option<Vec<Vec<char>>> {
    let text: String = inside.iter().collect();
    let mut parts = text.split("..");
    let (from, to, step) = (parts.next()?, parts.next()?, parts.next());
    if parts.next().is_some() {
        return None;
    }
    let step = match step {
        Some(step) => step.parse::<i64>().ok()?.unsigned_abs().max(1),
        None => 1,
    };
    let one = |text: &str| {
        let mut chars = text.chars();
        chars
            .next()
            .filter(|c| c.is_ascii_alphabetic() && chars.next().is_none())
    };
    let letters = one(from).zip(one(to));
    let (first, last) = match letters {
        Some((first, last)) => (i64::from(u32::from(first)), i64::from(u32::from(last))),
        None => (from.parse().ok()?, to.parse().ok()?),
    };
    let padded = |text: &str| text.trim_start_matches('-').starts_with('0') && text.len() > 1;
    let width = match padded(from) || padded(to) {
        true => from.len().max(to.len()),
        false => 0,
    };
    let count = first.abs_diff(last) / step;
    let mut found = Vec::new();
    for index in 0..=count.min(MOST as u64) {
        let by = i64::try_from(index * step).ok()?;
        let value = if first <= last {
            first + by
        } else {
            first - by
        };
        found.push(match letters {
            Some(_) => vec![char::from_u32(u32::try_from(value).ok()?)?],
            None => format!("{value:0width$}").chars().collect(),
        });
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn braces_that_lead_nowhere_are_given_up() {
        let many = format!("{{{}}}", vec!["a"; 1000].join(","));
        for evil in [
            "{".repeat(2000),
            format!("{}{}", "{".repeat(1000), "}".repeat(1000)),
        ] {
            assert!(expand(&format!("{many}{evil}")).is_err());
            // Alone they are just characters.
            assert_eq!(expand(&evil).unwrap(), [evil]);
        }
        assert_eq!(expand(&many).unwrap().len(), 1000);
    }
}
