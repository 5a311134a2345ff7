//! Extra fields of headers.

use std::collections::HashSet;

use super::fields::{Fields, IN_ZIP64};
use crate::refusal::Rule;
use crate::stop::{Stop, refuse};

/// What the extra fields of a header say, as far as it matters.
#[derive(Debug, Default)]
pub(super) struct Extra<'a> {
    zip64: Option<&'a [u8]>,
    /// Seconds since 1970.
    pub(super) modified: Option<i32>,
}

impl<'a> Extra<'a> {
    pub(super) fn parse(mut data: &'a [u8]) -> Result<Self, Stop> {
        let mut extra = Self::default();
        let mut seen = HashSet::new();
        while !data.is_empty() {
            if data.len() < 4 || data.len() - 4 < usize::from(Fields(data).u16(2)) {
                return refuse(Rule::ZipExtra, "an extra field goes past its end");
            }
            let (id, len) = (Fields(data).u16(0), usize::from(Fields(data).u16(2)));
            let (field, rest) = data[4..].split_at(len);
            if !seen.insert(id) {
                return refuse(Rule::ZipExtra, "an extra field is there twice");
            }
            extra.take(id, field)?;
            data = rest;
        }
        Ok(extra)
    }

    fn take(&mut self, id: u16, field: &'a [u8]) -> Result<(), Stop> {
        match id {
            0x0001 => self.zip64 = Some(field),
            0x5455 if field.len() >= 5 && field[0] & 1 == 1 => {
                self.modified = Some(Fields(field).u32(1).cast_signed());
            }
            // Another name or comment, for readers that look at it; and encryption.
            0x7075 | 0x6375 => {
                return refuse(
                    Rule::ZipExtra,
                    "an extra field gives the member another name",
                );
            }
            // Another kind and mode, for readers that look at it.
            0x756e | 0x6c78 => {
                return refuse(
                    Rule::ZipExtra,
                    "an extra field gives the member other attributes",
                );
            }
            0x0017 | 0x9901 => return refuse(Rule::ZipFlags, "the member is encrypted"),
            _ => {}
        }
        Ok(())
    }

    /// Numbers that did not fit their fields, in the order of the format; the field holds just them.
    pub(super) fn wide(&self, narrow: &[u32]) -> Result<Vec<u64>, Stop> {
        let missing = narrow.iter().filter(|field| **field == IN_ZIP64).count();
        let field = self.zip64.unwrap_or_default();
        if field.len() != missing * 8 {
            return refuse(
                Rule::Zip64,
                "the zip64 field does not hold just what is missing",
            );
        }
        let mut wide = (0..missing).map(|at| Fields(field).u64(at * 8));
        let widened = narrow.iter().map(|field| match *field {
            IN_ZIP64 => wide.next().unwrap_or_default(),
            small => small.into(),
        });
        Ok(widened.collect())
    }
}
