//! A table of the file, taken apart key by key; what is left over is an error.

use toml::{Table, Value};

use super::invalid;
use crate::error::Error;

/// The keys of one table that were not looked at yet.
pub(super) struct Keys {
    /// Where it stands, for messages.
    place: String,
    table: Table,
}

impl Keys {
    pub(super) fn new(place: impl Into<String>, table: Table) -> Self {
        Self {
            place: place.into(),
            table,
        }
    }

    pub(super) fn wrong(&self, key: &str, wanted: &str) -> Error {
        invalid(format!("{}`{key}` must be {wanted}", self.prefix()))
    }

    fn prefix(&self) -> String {
        if self.place.is_empty() {
            String::new()
        } else {
            format!("{}: ", self.place)
        }
    }

    /// Says that a value is not one of those there are.
    pub(super) fn refuse(&self, key: &str, value: &str, known: &[&str]) -> Error {
        let close = suggest(value, known.iter().copied());
        let value = handfast::escape(value.as_bytes());
        let known = known.join("`, `");
        let prefix = self.prefix();
        invalid(format!(
            "{prefix}`{key} = \"{value}\"` is none of `{known}`{close}"
        ))
    }

    pub(super) fn string(&mut self, key: &str) -> Result<Option<String>, Error> {
        match self.table.remove(key) {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text)),
            Some(_) => Err(self.wrong(key, "a string")),
        }
    }

    pub(super) fn required(&mut self, key: &str) -> Result<String, Error> {
        let text = self.string(key)?;
        text.ok_or_else(|| invalid(format!("{}`{key}` is missing", self.prefix())))
    }

    pub(super) fn strings(&mut self, key: &str) -> Result<Vec<String>, Error> {
        let list = match self.table.remove(key) {
            None => return Ok(Vec::new()),
            Some(Value::Array(list)) => list,
            Some(_) => return Err(self.wrong(key, "a list of strings")),
        };
        list.into_iter()
            .map(|value| match value {
                Value::String(text) => Ok(text),
                _ => Err(self.wrong(key, "a list of strings")),
            })
            .collect()
    }

    /// As [`Keys::strings`], where no list means everything: an empty one would read as nothing, and
    /// is refused.
    pub(super) fn narrowing(&mut self, key: &str) -> Result<Vec<String>, Error> {
        let is_there = self.table.contains_key(key);
        let list = self.strings(key)?;
        if is_there && list.is_empty() {
            let prefix = self.prefix();
            return Err(invalid(format!(
                "{prefix}`{key}` is empty: leave it out for all, or the rule for none"
            )));
        }
        Ok(list)
    }

    pub(super) fn boolean(&mut self, key: &str) -> Result<Option<bool>, Error> {
        match self.table.remove(key) {
            None => Ok(None),
            Some(Value::Boolean(value)) => Ok(Some(value)),
            Some(_) => Err(self.wrong(key, "true or false")),
        }
    }

    pub(super) fn integer(&mut self, key: &str) -> Result<Option<u64>, Error> {
        match self.table.remove(key) {
            None => Ok(None),
            Some(Value::Integer(value)) => u64::try_from(value)
                .map(Some)
                .map_err(|_| self.wrong(key, "a number that is not negative")),
            Some(_) => Err(self.wrong(key, "a number")),
        }
    }

    /// A number, or text with a unit.
    pub(super) fn measured(
        &mut self,
        key: &str,
        parse: impl FnOnce(&str) -> Option<u64>,
        wanted: &str,
    ) -> Result<Option<u64>, Error> {
        match self.table.remove(key) {
            None => Ok(None),
            Some(Value::Integer(value)) => u64::try_from(value)
                .map(Some)
                .map_err(|_| self.wrong(key, wanted)),
            Some(Value::String(text)) => parse(&text)
                .map(Some)
                .ok_or_else(|| self.wrong(key, wanted)),
            Some(_) => Err(self.wrong(key, wanted)),
        }
    }

    pub(super) fn table(&mut self, key: &str) -> Result<Option<Self>, Error> {
        match self.table.remove(key) {
            None => Ok(None),
            Some(Value::Table(table)) => {
                Ok(Some(Self::new(format!("[{}]", self.path(key)), table)))
            }
            Some(_) => Err(self.wrong(key, "a table")),
        }
    }

    pub(super) fn tables(&mut self, key: &str) -> Result<Vec<Self>, Error> {
        let list = match self.table.remove(key) {
            None => return Ok(Vec::new()),
            Some(Value::Array(list)) => list,
            Some(_) => return Err(self.wrong(key, &format!("written as [[{key}]]"))),
        };
        let place = format!("[[{key}]]");
        list.into_iter()
            .map(|value| match value {
                Value::Table(table) => Ok(Self::new(place.clone(), table)),
                _ => Err(self.wrong(key, &format!("written as [[{key}]]"))),
            })
            .collect()
    }

    fn path(&self, key: &str) -> String {
        let inner = self.place.trim_matches(['[', ']']);
        match inner {
            "" => key.to_owned(),
            inner => format!("{inner}.{key}"),
        }
    }

    /// Leaves a key to other readers of the file.
    pub(super) fn skip(&mut self, key: &str) {
        self.table.remove(key);
    }

    /// Everything was looked at, or it is an error with the closest key there is.
    pub(super) fn finish(self, known: &[&str]) -> Result<(), Error> {
        let Some(key) = self.table.keys().next() else {
            return Ok(());
        };
        let close = suggest(key, known.iter().copied());
        let prefix = self.prefix();
        let key = handfast::escape(key.as_bytes());
        Err(invalid(format!("{prefix}unknown key `{key}`{close}")))
    }
}

/// `; did you mean …?`, if something is close.
pub(super) fn suggest<'a>(wrong: &str, known: impl Iterator<Item = &'a str>) -> String {
    let wrong = wrong.replace('-', "_").to_ascii_lowercase();
    let close = known
        .map(|name| (distance(&wrong, &name.replace('-', "_")), name))
        .min()
        .filter(|(distance, name)| *distance <= 1 + name.len() / 4);
    match close {
        Some((_, name)) => format!("; did you mean `{name}`?"),
        None => String::new(),
    }
}

/// How many letters have to be put in, taken out, changed, or swapped with a neighbour.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut rows: Vec<Vec<usize>> = vec![(0..=other.len()).collect()];
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let change = rows[i][j] + usize::from(a != b);
            let mut best = change.min(rows[i][j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == other[j - 1] && one[i - 1] == *b {
                best = best.min(rows[i - 1][j - 1] + 1);
            }
            row.push(best);
        }
        rows.push(row);
    }
    rows[one.len()][other.len()]
}

/// Two parts of the file that cannot both be meant.
pub(super) fn contradiction(why: &str) -> Error {
    invalid(why)
}
