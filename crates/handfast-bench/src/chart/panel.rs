//! What grows: one small chart for each kind of work.

use plotters::prelude::*;

use super::{Area, failed, style};
use crate::Failure;
use crate::clock::Clock;
use crate::column::Column;
use crate::report::MeasuredAt;
use crate::row::Group;
use crate::run::Measured;
use crate::words::{grouped, round_duration};

/// One small chart.
pub(super) struct Panel {
    prefix: &'static str,
    title: &'static str,
    clock: Clock,
    /// Whether the time is shown for each of the files.
    each: bool,
}

const PANELS: [Panel; 4] = [
    Panel {
        prefix: "files/open/",
        title: "open + read, by files in the directory",
        clock: Clock::Cpu,
        each: false,
    },
    Panel {
        prefix: "files/walk/",
        title: "walk, time an entry, by files in the tree",
        clock: Clock::Cpu,
        each: true,
    },
    Panel {
        prefix: "threads/open/",
        title: "open + read, wall time an operation, by threads",
        clock: Clock::Wall,
        each: false,
    },
    Panel {
        prefix: "threads/walk/",
        title: "walk of 1,000, wall time an operation, by threads",
        clock: Clock::Wall,
        each: false,
    },
];

/// The charts that a place has rows for.
pub(super) fn panels(place: &MeasuredAt) -> Vec<Panel> {
    let has = |panel: &Panel| {
        place
            .rows
            .iter()
            .any(|row| row.id.starts_with(panel.prefix))
    };
    PANELS.into_iter().filter(has).collect()
}

impl Panel {
    fn rows<'a>(&self, place: &'a MeasuredAt) -> impl Iterator<Item = (usize, &'a Measured)> {
        let prefix = self.prefix;
        let rows = place.rows.iter();
        let rows = rows.filter(move |row| row.id.starts_with(prefix));
        rows.filter_map(|row| match row.group {
            Group::Files(size) | Group::Threads(size) => Some((size, row)),
            Group::Work | Group::Service => None,
        })
    }

    /// The sizes stand beside one another at equal distances.
    fn sizes(&self, place: &MeasuredAt) -> Vec<usize> {
        self.rows(place).map(|(size, _)| size).collect()
    }

    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    fn points(&self, place: &MeasuredAt, column: Column) -> Vec<(f64, f64)> {
        let rows = self.rows(place).enumerate();
        rows.filter_map(|(index, (size, row))| {
            let time = row.time(column, self.clock)?.median;
            let shared = if self.each { size as f64 } else { 1.0 };
            Some((index as f64, time / shared))
        })
        .collect()
    }
}

/// Draws one; times by powers.
pub(super) fn draw(
    area: &Area<'_>,
    place: &MeasuredAt,
    columns: &[Column],
    panel: &Panel,
) -> Result<(), Failure> {
    // The floor is a line of its own here, and is drawn first.
    let columns: Vec<Column> = std::iter::once(Column::Raw)
        .chain(columns.iter().copied().rev())
        .collect();
    let all = columns.iter().map(|column| panel.points(place, *column));
    let all: Vec<(f64, f64)> = all.flatten().collect();
    let sizes = panel.sizes(place);
    if all.is_empty() {
        return Ok(());
    }
    let times = || all.iter().map(|(_, time)| *time);
    let x = -0.2..f64::from(u32::try_from(sizes.len())?) - 0.8;
    let y = times().fold(f64::MAX, f64::min) * 0.7..times().fold(f64::MIN, f64::max) * 1.4;
    let ticks = round_numbers(&y);
    let mut chart = ChartBuilder::on(area)
        .caption(panel.title, style::left(14, style::INK))
        .margin(12)
        .x_label_area_size(28)
        .y_label_area_size(64)
        .build_cartesian_2d(x, y.log_scale().with_key_points(ticks))
        .map_err(failed)?;
    chart
        .configure_mesh()
        .bold_line_style(style::LINE)
        .light_line_style(WHITE.mix(0.0))
        .axis_style(style::PALE_INK)
        .label_style(("sans-serif", 12, &style::PALE_INK))
        .disable_x_mesh()
        .x_label_formatter(&|x| size_at(&sizes, *x))
        .y_label_formatter(&|y| round_duration(*y))
        .x_labels(sizes.len() * 2)
        .y_labels(12)
        .draw()
        .map_err(failed)?;
    for column in columns {
        let points = panel.points(place, column);
        let line = match column {
            Column::Kernel => style::color(column).stroke_width(3),
            _ => style::color(column).stroke_width(2),
        };
        let places: Vec<_> = points.iter().map(|at| chart.backend_coord(at)).collect();
        chart
            .draw_series(LineSeries::new(points, line))
            .map_err(failed)?;
        if column != Column::Raw {
            for at in places {
                let (left, top) = area.get_base_pixel();
                style::mark(area, column, (at.0 - left, at.1 - top))?;
            }
        }
    }
    Ok(())
}

/// One, two and five of every power of ten in a range.
fn round_numbers(range: &std::ops::Range<f64>) -> Vec<f64> {
    let powers = std::iter::successors(Some(1.0), |power| Some(power * 10.0));
    let powers = powers.take_while(|power| *power < range.end);
    powers
        .flat_map(|power: f64| [power, 2.0 * power, 5.0 * power])
        .filter(|number| range.contains(number))
        .collect()
}

/// The size at a place, if there is one.
#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "a place among a few"
)]
fn size_at(sizes: &[usize], place: f64) -> String {
    let nearest = place.round();
    if nearest < 0.0 || (place - nearest).abs() > 0.01 {
        return String::new();
    }
    let size = sizes.get(nearest as usize);
    size.map_or_else(String::new, |size| grouped(*size))
}
