//! A picture of a report: every row beside the floor, and what grows.

mod dots;
mod panel;
mod style;

use std::fmt::Display;
use std::fs::File;
use std::io::Write;
use std::path::Path;

use plotters::prelude::*;

use crate::Failure;
use crate::column::Column;
use crate::report::{MeasuredAt, Report};

/// Where something is drawn.
type Area<'a> = DrawingArea<SVGBackend<'a>, plotters::coord::Shift>;

const WIDTH: u32 = 1120;
const MARGIN: i32 = 24;
const HEAD: u32 = 128;
const PANEL: u32 = 270;

/// Draws the first place of a report into a file.
///
/// # Errors
/// If there is nothing to draw, or the file cannot be written.
pub fn draw(report: &Report, file: &Path) -> Result<(), Failure> {
    let text = svg(report)?;
    File::create(file)?.write_all(text.as_bytes())?;
    Ok(())
}

/// The picture as text.
///
/// # Errors
/// If there is nothing to draw.
pub fn svg(report: &Report) -> Result<String, Failure> {
    let place = report.places.first().ok_or("there is nothing to draw")?;
    let columns = drawn(place);
    let panels = panel::panels(place);
    let below = PANEL * u32::try_from(panels.len().div_ceil(2))?;
    let dots = dots::height(place);
    let mut text = String::new();
    {
        let size = (WIDTH, HEAD + dots + below + 24);
        let whole = SVGBackend::with_string(&mut text, size).into_drawing_area();
        whole.fill(&WHITE).map_err(failed)?;
        let (head, rest) = whole.split_vertically(HEAD);
        heading(&head, report, place, &columns)?;
        let (upper, lower) = rest.split_vertically(dots);
        dots::draw(&upper, place, &columns)?;
        for (area, panel) in lower
            .split_evenly((panels.len().div_ceil(2).max(1), 2))
            .iter()
            .zip(&panels)
        {
            panel::draw(area, place, &columns, panel)?;
        }
        whole.present().map_err(failed)?;
    }
    Ok(text)
}

/// The columns that have a mark: raw calls are the line that the others are measured by, and their
/// walk says nothing about anybody.
fn drawn(place: &MeasuredAt) -> Vec<Column> {
    Column::ALL
        .into_iter()
        .filter(|column| !matches!(column, Column::Raw | Column::RawWalk))
        .filter(|column| {
            let mut cells = place.rows.iter().flat_map(|row| &row.cells);
            cells.any(|cell| cell.column == *column)
        })
        .collect()
}

fn heading(
    area: &Area<'_>,
    report: &Report,
    place: &MeasuredAt,
    columns: &[Column],
) -> Result<(), Failure> {
    let title = format!("CPU time beside raw system calls, on {}", place.name);
    let put = |text: &str, at: (i32, i32), size: i32, color: RGBColor| {
        let text = Text::new(text.to_owned(), at, style::left(size, color));
        area.draw(&text).map_err(failed)
    };
    put(&title, (MARGIN, 28), 22, style::INK)?;
    put(&report.subject(), (MARGIN, 52), 13, style::PALE_INK)?;
    for (index, column) in [Column::Raw].iter().chain(columns).enumerate() {
        let index = i32::try_from(index)?;
        let at = (MARGIN + 8 + (index % 5) * 212, 80 + (index / 5) * 24);
        style::mark(area, *column, at)?;
        put(column.title(), (at.0 + 14, at.1), 14, style::INK)?;
    }
    Ok(())
}

fn failed(error: impl Display) -> Failure {
    format!("the chart cannot be drawn: {error}").into()
}
