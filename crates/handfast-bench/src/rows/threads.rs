//! What more and more threads do to an open and to a walk. All of them share one root.

use super::{fixtures, open_read, walk};
use crate::Failure;
use crate::column::Column;
use crate::contender::{Contender, Offer, Offered};
use crate::raw::{Components, Openat2};
use crate::row::{Case, Group, Row, Work};
use crate::scale::Scale;
use crate::site::Site;
use crate::tally::Ask;

pub(super) fn rows(scale: &Scale) -> impl Iterator<Item = Row> {
    let open = scale.threads.iter().map(|&threads| {
        Row::new(
            format!("threads/open/{threads}"),
            format!("open + read 4 KiB, depth 4, {}", people(threads)),
            move |site| open(site, threads),
        )
        .in_group(Group::Threads(threads))
    });
    let walk = scale.threads.iter().map(|&threads| {
        Row::new(
            format!("threads/walk/{threads}"),
            format!("walk of 1,000, names only, {}", people(threads)),
            move |site| walk(site, threads),
        )
        .in_group(Group::Threads(threads))
    });
    open.chain(walk)
}

fn people(threads: usize) -> String {
    match threads {
        1 => "1 thread".to_owned(),
        _ => format!("{threads} threads"),
    }
}

/// Each thread has a file of its own, all in the same directory.
fn open(site: &Site, threads: usize) -> Result<Work, Failure> {
    let texts = (0..threads)
        .map(|thread| fixtures::file(site, 4, &format!("thread-{thread:02}")))
        .collect::<Result<Vec<_>, _>>()?;
    let floor = vec![
        together(Column::Raw, threads, |thread| {
            Ok(Offer::Does(open_read::floor(
                Openat2,
                site,
                &texts[thread..=thread],
            )?))
        })?,
        together(Column::RawWalk, threads, |thread| {
            Ok(Offer::Does(open_read::floor(
                Components,
                site,
                &texts[thread..=thread],
            )?))
        })?,
    ];
    gather(site, threads, floor, |contender, thread| {
        contender.open_read(&texts[thread..=thread])
    })
}

/// All threads walk the same tree.
fn walk(site: &Site, threads: usize) -> Result<Work, Failure> {
    let text = fixtures::small_tree(site)?;
    let floor = vec![
        together(Column::Raw, threads, |_| {
            Ok(Offer::Does(walk::floor(Openat2, site, &text, Ask::Name)?))
        })?,
        together(Column::RawWalk, threads, |_| {
            Ok(Offer::Does(walk::floor(
                Components,
                site,
                &text,
                Ask::Name,
            )?))
        })?,
    ];
    gather(site, threads, floor, |contender, _| {
        contender.walk(&text, Ask::Name)
    })
}

fn gather(
    site: &Site,
    threads: usize,
    floor: Vec<Offer>,
    ask: impl Fn(&dyn Contender, usize) -> Offered,
) -> Result<Work, Failure> {
    let floor = floor.into_iter().filter_map(|offer| match offer {
        Offer::Does(case) => Some(case),
        Offer::Lacks(_) => None,
    });
    Work::new(site, floor.collect(), |contender| {
        together(contender.column(), threads, |thread| ask(contender, thread))
    })
}

/// One case for each thread, unless it is not done at all.
fn together(column: Column, threads: usize, ask: impl Fn(usize) -> Offered) -> Offered {
    let mut cases = Vec::with_capacity(threads);
    for thread in 0..threads {
        match ask(thread)? {
            Offer::Does(case) => cases.push(case),
            lacks @ Offer::Lacks(_) => return Ok(lacks),
        }
    }
    Ok(Offer::Does(Case::together(column, cases)?))
}
