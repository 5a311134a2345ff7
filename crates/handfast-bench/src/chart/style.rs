//! Colours and marks. Every column has a colour and a shape, so that neither is needed alone.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{Area, failed};
use crate::Failure;
use crate::column::Column;

pub(super) const INK: RGBColor = RGBColor(34, 34, 34);
pub(super) const PALE_INK: RGBColor = RGBColor(110, 110, 110);
pub(super) const LINE: RGBColor = RGBColor(228, 228, 228);

const FONT: &str = "sans-serif";

/// Text that begins at a point.
pub(super) fn left(size: i32, color: RGBColor) -> TextStyle<'static> {
    anchored(size, color, HPos::Left)
}

/// Text that ends at a point.
pub(super) fn right(size: i32, color: RGBColor) -> TextStyle<'static> {
    anchored(size, color, HPos::Right)
}

/// Text with a point in its middle.
pub(super) fn middle(size: i32, color: RGBColor) -> TextStyle<'static> {
    anchored(size, color, HPos::Center)
}

fn anchored(size: i32, color: RGBColor, to: HPos) -> TextStyle<'static> {
    let mut style = TextStyle::from((FONT, size).into_font());
    style.color = color.to_backend_color();
    style.pos(Pos::new(to, VPos::Center))
}

/// Colours that people tell apart who do not see all of them.
pub(super) const fn color(column: Column) -> RGBColor {
    match column {
        Column::Kernel => RGBColor(0, 114, 178),
        Column::Walk => RGBColor(86, 180, 233),
        Column::CapStd => RGBColor(230, 159, 0),
        Column::Pathrs => RGBColor(0, 158, 115),
        Column::JailGuard => RGBColor(204, 121, 167),
        Column::JailJoin => RGBColor(213, 94, 0),
        Column::StrictPath => RGBColor(122, 82, 48),
        Column::Std => RGBColor(120, 120, 120),
        Column::Raw | Column::RawWalk => INK,
    }
}

/// Draws a column's mark.
pub(super) fn mark(area: &Area<'_>, column: Column, at: (i32, i32)) -> Result<(), Failure> {
    let color = color(column);
    let filled = color.filled();
    let corners = |points: &[(i32, i32)]| {
        let points = points.iter().map(|(x, y)| (at.0 + x, at.1 + y));
        Polygon::new(points.collect::<Vec<_>>(), filled)
    };
    let drawn = match column {
        Column::Kernel => area.draw(&Circle::new(at, 6, filled)),
        Column::Walk => area.draw(&Circle::new(at, 5, filled)),
        Column::CapStd => area.draw(&corners(&[(-4, -4), (4, -4), (4, 4), (-4, 4)])),
        Column::Pathrs => area.draw(&corners(&[(0, -5), (5, 4), (-5, 4)])),
        Column::JailGuard => area.draw(&corners(&[(0, -5), (5, 0), (0, 5), (-5, 0)])),
        Column::JailJoin => area.draw(&corners(&[(0, 5), (5, -4), (-5, -4)])),
        Column::StrictPath => area.draw(&Cross::new(at, 4, color.stroke_width(3))),
        Column::Std => area.draw(&Circle::new(at, 4, color.stroke_width(2))),
        Column::Raw | Column::RawWalk => {
            let line = vec![(at.0 - 7, at.1), (at.0 + 7, at.1)];
            area.draw(&PathElement::new(line, color.stroke_width(2)))
        }
    };
    drawn.map_err(failed)
}
