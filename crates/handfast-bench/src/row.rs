//! A piece of work, and the ways it is done.

use std::fmt;
use std::hint::black_box;

use crate::Failure;
use crate::column::Column;
use crate::contender::{Contender, Offer, Offered};
use crate::site::Site;
use crate::workers::Workers;

/// What is done around a batch, outside of the timing, whatever the column.
pub trait BatchSetup {
    /// Makes what a batch of `count` operations needs.
    ///
    /// # Errors
    /// What stops it.
    fn prepare(&self, _count: usize) -> Result<(), Failure> {
        Ok(())
    }

    /// Looks, independently of the column, whether one operation had its effect.
    ///
    /// # Errors
    /// The effect that is missing.
    fn verify_one(&self) -> Result<(), Failure> {
        Ok(())
    }

    /// Takes away what a batch of `count` operations left.
    ///
    /// # Errors
    /// What stops it.
    fn clean(&self, _count: usize) -> Result<(), Failure> {
        Ok(())
    }

    /// Takes away whatever an operation left that failed half way.
    fn reset(&self) {
        // There may be nothing to take away.
        drop(self.clean(1));
    }
}

/// Work that leaves nothing behind.
#[derive(Debug)]
pub struct Nothing;

impl BatchSetup for Nothing {}

type Batch = Box<dyn FnMut(usize) -> Result<u64, Failure> + Send>;

/// One way to do a row's work.
pub struct Case {
    /// Which way.
    pub column: Column,
    /// How many do the work at the same time.
    pub width: usize,
    batch: Batch,
}

impl Case {
    /// A way to do the work. `operation` is given its number within the batch and answers with a
    /// number that stands for what it did: bytes, entries, objects.
    pub fn new(
        column: Column,
        mut operation: impl FnMut(usize) -> Result<u64, Failure> + Send + 'static,
    ) -> Self {
        // The loop is inside of the box, so that an operation costs no indirect call.
        let batch = move |count| {
            let mut work = 0_u64;
            for index in 0..count {
                work = work.wrapping_add(black_box(operation(index)?));
            }
            Ok(work)
        };
        Self {
            column,
            width: 1,
            batch: Box::new(batch),
        }
    }

    /// The same work by several threads at the same time, each with a case of its own.
    ///
    /// # Errors
    /// What stops a thread from starting.
    pub fn together(column: Column, cases: Vec<Self>) -> Result<Self, Failure> {
        let width = cases.len();
        let mut workers = Workers::start(cases)?;
        Ok(Self {
            column,
            width,
            batch: Box::new(move |count| workers.run(count)),
        })
    }

    /// Does the work `count` times in each of its threads.
    ///
    /// # Errors
    /// What the work fails with.
    pub fn run(&mut self, count: usize) -> Result<u64, Failure> {
        (self.batch)(count)
    }
}

/// The ways to do a piece of work, and what is done around them.
pub struct Work {
    pub(crate) cases: Vec<Case>,
    /// Who does not do it, and why.
    pub(crate) lacks: Vec<(Column, &'static str)>,
    /// As many operations as one batch may have.
    pub(crate) max_batch: usize,
    pub(crate) stage: Box<dyn BatchSetup>,
}

impl Work {
    /// Work that leaves nothing behind: its floor, and whatever the contenders answer.
    ///
    /// # Errors
    /// What stops one of them.
    pub(crate) fn new(
        site: &Site,
        floor: Vec<Case>,
        ask: impl Fn(&dyn Contender) -> Offered,
    ) -> Result<Self, Failure> {
        let mut work = Self::of(floor);
        for contender in site.contenders()? {
            match ask(contender.as_ref())? {
                Offer::Does(case) => work.cases.push(case),
                Offer::Lacks(reason) => work.lacks.push((contender.column(), reason)),
            }
        }
        Ok(work)
    }

    /// Work that leaves nothing behind, and the ways it is done.
    #[must_use]
    pub fn of(cases: Vec<Case>) -> Self {
        Self {
            cases,
            lacks: Vec::new(),
            max_batch: usize::MAX,
            stage: Box::new(Nothing),
        }
    }

    /// Says that a column does not do it, and why.
    #[must_use]
    pub fn without(mut self, column: Column, reason: &'static str) -> Self {
        self.lacks.push((column, reason));
        self
    }

    /// Sets what is done around a batch, and how long one may be.
    #[must_use]
    pub fn staged(mut self, max_batch: usize, stage: impl BatchSetup + 'static) -> Self {
        self.max_batch = max_batch;
        self.stage = Box::new(stage);
        self
    }
}

type Build = Box<dyn Fn(&Site) -> Result<Work, Failure>>;

/// In which table a row stands.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum Group {
    /// The main one.
    Work,
    /// Work that is done through a service: its cost, not its calls.
    Service,
    /// What happens with more and more files: so many here.
    Files(usize),
    /// What happens with more and more threads: so many here.
    Threads(usize),
}

/// A piece of work that can be measured on any site.
pub struct Row {
    /// Its name in JSON, in the budgets and for `--rows`.
    pub id: String,
    /// Its name for people.
    pub title: String,
    /// In which table it stands.
    pub group: Group,
    build: Build,
}

impl Row {
    /// A row. `build` makes its files on a site, and the ways to work on them.
    pub fn new(
        id: impl Into<String>,
        title: impl Into<String>,
        build: impl Fn(&Site) -> Result<Work, Failure> + 'static,
    ) -> Self {
        Self {
            id: id.into(),
            title: title.into(),
            group: Group::Work,
            build: Box::new(build),
        }
    }

    /// Puts it into another table.
    #[must_use]
    pub fn in_group(mut self, group: Group) -> Self {
        self.group = group;
        self
    }

    /// Makes its files on a site, and the ways to work on them.
    ///
    /// # Errors
    /// What stops that.
    pub fn build(&self, site: &Site) -> Result<Work, Failure> {
        (self.build)(site)
    }
}

impl fmt::Debug for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Case").field(&self.column).finish()
    }
}

impl fmt::Debug for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Work").field(&self.cases).finish()
    }
}

impl fmt::Debug for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Row").field(&self.id).finish()
    }
}
