//! Every row, once, on small trees: all columns do the same work, and it has its effect.

use handfast_bench::column::Column;
use handfast_bench::progress::Progress;
use handfast_bench::report::{self, MeasuredAt, Report};
use handfast_bench::row::Group;
use handfast_bench::run::{self, Effort};
use handfast_bench::scale::Scale;
use handfast_bench::site::Site;
use handfast_bench::{clock::Clock, machine::Machine, rows};

/// Columns that every row has.
const EVERYWHERE: [Column; 3] = [Column::Raw, Column::Std, Column::Kernel];

#[test]
fn every_column_of_every_row_was_measured_or_says_why_not() {
    let site = Site::new(&std::env::temp_dir(), Scale::SMALL).unwrap();
    let mut silent = Progress::silent();
    let (mut measured, mut lacking) = (0, 0);
    for row in rows::all(&Scale::SMALL) {
        let done = run::measure(&row, &site, Effort::ONCE, &mut silent);
        let done = done.unwrap().unwrap();
        // What a service does has a floor and the service, and no other columns.
        if row.group == Group::Service {
            assert!(done.cells.len() >= 2, "{}", row.id);
            continue;
        }
        for column in Column::built() {
            let here = format!("{}, {column}", row.id);
            let reasons: Vec<_> = done
                .lacks
                .iter()
                .filter(|(who, _)| *who == column)
                .collect();
            match done.time(column, Clock::Wall) {
                Some(time) => {
                    assert!(time.median > 0.0 && reasons.is_empty(), "{here}");
                    measured += 1;
                }
                None => {
                    assert!(
                        matches!(reasons[..], [(_, why)] if !why.is_empty()),
                        "{here}"
                    );
                    lacking += 1;
                }
            }
        }
        let told = done.cells.len() + done.lacks.len();
        assert_eq!(told, Column::built().count(), "{}", row.id);
    }
    // An empty cell is the exception.
    assert!(measured > 5 * lacking, "{measured} measured, {lacking} not");
}

#[test]
fn every_row_does_the_same_work_in_every_column() {
    let above = std::env::temp_dir();
    let site = Site::new(&above, Scale::SMALL).unwrap();
    let scratch = site.path("");
    let mut place = MeasuredAt {
        name: "test".to_owned(),
        rows: Vec::new(),
        footprints: Vec::new(),
        at_rest: Vec::new(),
        verdicts: Vec::new(),
    };
    for row in rows::all(&Scale::SMALL) {
        // This fails if a column does less than the others, or without the effect on the disk.
        let measured = run::measure(&row, &site, Effort::ONCE, &mut Progress::silent());
        let measured = measured.unwrap().unwrap();
        let columns: Vec<Column> = measured.cells.iter().map(|cell| cell.column).collect();
        let all = if row.group == Group::Service {
            &[][..]
        } else {
            &EVERYWHERE[..]
        };
        for column in all {
            assert!(columns.contains(column), "{} lacks {column}", row.id);
        }
        assert!(measured.work > 0, "{}", row.id);
        place.rows.push(measured);
    }
    place.judge().unwrap();
    drop(site);
    assert!(
        !scratch.try_exists().unwrap(),
        "the scratch directory stays"
    );

    let titles: Vec<String> = place.rows.iter().map(|row| row.title.clone()).collect();
    let report = Report {
        machine: Machine::here(),
        rounds: 1,
        places: vec![place],
        clocks: vec![Clock::Cpu, Clock::Wall],
        chart: None,
    };
    let (table, markdown) = (report::table(&report), report::markdown(&report));
    for title in &titles {
        assert!(table.contains(title) && markdown.contains(title), "{title}");
    }
    // A reason for an empty cell is told, once.
    for (_, reason) in report.places[0].rows.iter().flat_map(|row| &row.lacks) {
        assert_eq!(table.matches(reason).count(), 1, "{reason}");
        assert_eq!(markdown.matches(reason).count(), 1, "{reason}");
    }
    #[cfg(feature = "plot")]
    {
        let svg = handfast_bench::chart::svg(&report).unwrap();
        assert!(svg.starts_with("<svg") && svg.trim_end().ends_with("</svg>"));
        let rows = report.places[0].rows.iter();
        for row in rows.filter(|row| row.group == handfast_bench::row::Group::Work) {
            assert!(svg.contains(&row.title), "{}", row.title);
        }
        assert!(svg.contains("Handfast (kernel)") && svg.contains("by threads"));
    }
    let json = report::json(&report);
    assert_eq!(json["version"], 1);
    let listed = json["places"][0]["rows"].as_array().map(Vec::len);
    assert_eq!(listed, Some(titles.len()));
}

#[test]
fn known_work_is_counted_right() {
    let site = Site::new(&std::env::temp_dir(), Scale::SMALL).unwrap();
    let work = |id: &str| {
        let rows = rows::matching(&Scale::SMALL, Some(id));
        run::measure(&rows[0], &site, Effort::ONCE, &mut Progress::silent())
            .unwrap()
            .unwrap()
            .work
    };
    // Twenty names of fourteen bytes, and lengths from 0 to 6 over and over.
    assert_eq!(work("read-dir/names"), 20 * (1 + 14));
    assert_eq!(work("read-dir/metadata"), 20 * (1 + 14) + 2 * 21 + 15);
    // Three directories with seven bytes in their name and five files each.
    assert_eq!(work("walk/names"), 3 * (1 + 7) + 15 * (1 + 14));
    assert_eq!(work("stat/4"), 4096);
    assert_eq!(work("create-write/4"), 4096);
}
