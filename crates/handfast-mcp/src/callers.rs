//! Who is behind a client, and who loses something when there is no room for more.
//!
//! A client states its own name, so one caller can have as many clients as it likes. What the server keeps for callers is
//! therefore shared by caller, which is the name of a token. On standard input there is one caller, without a name.

use std::borrow::Cow;

/// Who asks, as the log names them: the caller, where there is one, and the client's own name.
pub(crate) fn full_name<'a>(caller: Option<&str>, client: &'a str) -> Cow<'a, str> {
    match caller {
        Some(caller) => Cow::Owned(format!("{caller}: {client}")),
        None => Cow::Borrowed(client),
    }
}

/// The caller in such a name. The name of a token holds no blank, so no client can name itself into another caller.
pub(crate) fn caller_of(name: &str) -> &str {
    name.split_once(": ").map_or("", |(caller, _)| caller)
}

/// Which of the things that are kept has to go for a new one: the first one of the caller that would have most of all.
/// Everything is given with its caller and its weight, the new one, too.
pub(crate) fn first_of_the_largest<'a>(
    kept: impl Iterator<Item = (&'a str, usize)> + Clone,
    new: (&'a str, usize),
) -> Option<usize> {
    let mut sums: Vec<(&str, usize)> = vec![new];
    for (caller, weight) in kept.clone() {
        match sums.iter_mut().find(|(known, _)| *known == caller) {
            Some((_, sum)) => *sum += weight,
            None => sums.push((caller, weight)),
        }
    }
    let sum_of = |caller: &str| sums.iter().find(|(known, _)| *known == caller);
    let mut largest: Option<(usize, usize)> = None;
    for (at, (caller, _)) in kept.enumerate() {
        let sum = sum_of(caller).map_or(0, |(_, sum)| *sum);
        if largest.is_none_or(|(_, most)| sum > most) {
            largest = Some((at, sum));
        }
    }
    largest.map(|(at, _)| at)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_cannot_name_itself_into_another_caller() {
        assert_eq!(caller_of(&full_name(Some("ana"), "ben: web 1")), "ana");
        assert_eq!(caller_of(&full_name(Some("a:"), "b: c")), "a:");
        assert_eq!(caller_of(&full_name(None, "web 1")), "");
        assert_ne!(full_name(Some("a"), ": x"), full_name(Some("a:"), "x"));
    }

    #[test]
    fn the_caller_with_the_most_loses_its_first() {
        let victim = |kept: &[&'static str], new: &'static str| {
            first_of_the_largest(kept.iter().map(|caller| (*caller, 1)), (new, 1))
        };
        assert_eq!(victim(&["ana", "ben", "ben", "ben"], "ben"), Some(1));
        assert_eq!(victim(&["ana", "ben", "ben"], "ana"), Some(0));
        // The new one counts: the caller that comes for a third is the larger one.
        assert_eq!(victim(&["ana", "ana", "ben", "ben"], "ben"), Some(2));
        assert_eq!(victim(&["ana", "ben"], "cleo"), Some(0));
        assert_eq!(victim(&[], "ana"), None);
        let heavy = [("ana", 3), ("ben", 1), ("ben", 1)].into_iter();
        assert_eq!(first_of_the_largest(heavy, ("cleo", 1)), Some(0));
    }
}
