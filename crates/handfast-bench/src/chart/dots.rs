//! Every row of the main table: one line, one mark for each column.

use plotters::prelude::*;

use super::{Area, MARGIN, WIDTH, failed, style};
use crate::Failure;
use crate::clock::Clock;
use crate::column::Column;
use crate::report::MeasuredAt;
use crate::row::Group;
use crate::run::Measured;
use crate::words::duration;

const LABELS: i32 = 440;
const ROW: i32 = 27;
const AXIS: i32 = 34;
const FEET: [&str; 2] = [
    "Marks: median of the ratios within a round; lines: the middle half of the rounds. No mark: \
     that work is not offered.",
    "Left of the line by more than the spread: fewer system calls than Handfast's promises need.",
];
/// Marks of a row stand a little below one another, so that equals do not cover each other.
const STEP: f64 = 2.4;

fn rows(place: &MeasuredAt) -> Vec<&Measured> {
    let rows = place.rows.iter().filter(|row| row.group == Group::Work);
    rows.collect()
}

/// How much room they need.
pub(super) fn height(place: &MeasuredAt) -> u32 {
    u32::try_from(rows(place).len())
        .unwrap_or(0)
        .saturating_mul(ROW.unsigned_abs())
        + 3 * AXIS.unsigned_abs()
}

/// From ratios to places on a line: each doubling is as long as the next.
struct Scale {
    least: f64,
    most: f64,
}

impl Scale {
    fn of(rows: &[&Measured], columns: &[Column]) -> Self {
        let mut scale = Self {
            least: 0.5,
            most: 4.0,
        };
        for row in rows {
            for column in columns {
                if let Some(ratio) = row.ratio(*column, Column::Raw, Clock::Cpu) {
                    scale.least = scale.least.min(ratio.p25.max(0.05));
                    scale.most = scale.most.max(ratio.p75);
                }
            }
        }
        scale.least = scale.least.log2().floor().exp2();
        scale.most = scale.most.log2().ceil().exp2();
        scale
    }

    #[expect(clippy::cast_possible_truncation, reason = "a place on a page")]
    fn place(&self, ratio: f64) -> i32 {
        let width = f64::from(WIDTH.cast_signed() - LABELS - 2 * MARGIN);
        let ratio = ratio.clamp(self.least, self.most);
        let share = (ratio / self.least).log2() / (self.most / self.least).log2();
        LABELS + (share * width) as i32
    }

    fn ticks(&self) -> impl Iterator<Item = f64> {
        let most = self.most * 1.01;
        std::iter::successors(Some(self.least), |tick| Some(tick * 2.0))
            .take_while(move |tick| *tick <= most)
    }
}

/// Draws them.
pub(super) fn draw(area: &Area<'_>, place: &MeasuredAt, columns: &[Column]) -> Result<(), Failure> {
    let rows = rows(place);
    let scale = Scale::of(&rows, columns);
    let end = AXIS + ROW * i32::try_from(rows.len())?;
    for tick in scale.ticks() {
        let x = scale.place(tick);
        let line = match tick {
            1.0 => style::INK.stroke_width(2),
            _ => style::LINE.stroke_width(1),
        };
        let line = PathElement::new(vec![(x, AXIS), (x, end)], line);
        area.draw(&line).map_err(failed)?;
        let text = match tick {
            1.0 => "raw = 1".to_owned(),
            _ => format!("{tick}×"),
        };
        let text = Text::new(text, (x, AXIS - 12), style::middle(12, style::PALE_INK));
        area.draw(&text).map_err(failed)?;
    }
    let head = style::right(12, style::PALE_INK);
    let head = Text::new("one operation, raw", (LABELS - 28, AXIS - 12), head);
    area.draw(&head).map_err(failed)?;
    for (index, row) in rows.iter().enumerate() {
        let y = AXIS + ROW * i32::try_from(index)? + ROW / 2;
        label(area, row, y)?;
        for (turn, column) in columns.iter().enumerate().rev() {
            let Some(ratio) = row.ratio(*column, Column::Raw, Clock::Cpu) else {
                continue;
            };
            let y = y + offset(turn, columns.len());
            let whisker = vec![(scale.place(ratio.p25), y), (scale.place(ratio.p75), y)];
            let line = style::color(*column).mix(0.6).stroke_width(2);
            area.draw(&PathElement::new(whisker, line))
                .map_err(failed)?;
            style::mark(area, *column, (scale.place(ratio.median), y))?;
        }
    }
    for (index, foot) in FEET.into_iter().enumerate() {
        let at = (MARGIN, end + 16 + 18 * i32::try_from(index)?);
        let foot = Text::new(foot, at, style::left(12, style::PALE_INK));
        area.draw(&foot).map_err(failed)?;
    }
    Ok(())
}

fn label(area: &Area<'_>, row: &Measured, y: i32) -> Result<(), Failure> {
    let below = y + ROW / 2;
    let right = WIDTH.cast_signed() - MARGIN;
    let line = vec![(MARGIN, below), (right, below)];
    area.draw(&PathElement::new(line, style::LINE))
        .map_err(failed)?;
    let text = Text::new(row.title.clone(), (MARGIN, y), style::left(13, style::INK));
    area.draw(&text).map_err(failed)?;
    let floor = row.time(Column::Raw, Clock::Cpu);
    let floor = floor.map_or_else(String::new, |time| duration(time.median));
    let text = Text::new(floor, (LABELS - 28, y), style::right(12, style::PALE_INK));
    area.draw(&text).map_err(failed)
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_precision_loss,
    reason = "a few pixels"
)]
fn offset(turn: usize, turns: usize) -> i32 {
    ((turn as f64 - (turns.saturating_sub(1)) as f64 / 2.0) * STEP) as i32
}
