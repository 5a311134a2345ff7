//! Threads that do the same work at the same time.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use crate::Failure;
use crate::row::Case;

/// Threads that are started once and wait for batches, so that a batch pays for no start.
#[derive(Debug)]
pub(crate) struct Workers {
    orders: Vec<Sender<usize>>,
    done: Receiver<Result<u64, Failure>>,
    threads: Vec<JoinHandle<()>>,
}

impl Workers {
    /// Starts a thread for each case.
    pub(crate) fn start(cases: Vec<Case>) -> Result<Self, Failure> {
        let (report, done) = channel();
        let mut workers = Self {
            orders: Vec::with_capacity(cases.len()),
            done,
            threads: Vec::with_capacity(cases.len()),
        };
        for mut case in cases {
            let (order, orders) = channel();
            let report = report.clone();
            let work = move || {
                for count in orders {
                    if report.send(case.run(count)).is_err() {
                        break;
                    }
                }
            };
            workers
                .threads
                .push(std::thread::Builder::new().spawn(work)?);
            workers.orders.push(order);
        }
        Ok(workers)
    }

    /// Has every thread do its work `count` times, and waits for all of them.
    pub(crate) fn run(&mut self, count: usize) -> Result<u64, Failure> {
        for order in &self.orders {
            order.send(count)?;
        }
        let mut work = 0_u64;
        let mut failed = None;
        for _ in &self.orders {
            match self.done.recv()? {
                Ok(done) => work = work.wrapping_add(done),
                Err(failure) => failed = Some(failure),
            }
        }
        failed.map_or(Ok(work), Err)
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.orders.clear();
        for thread in self.threads.drain(..) {
            // A thread that panicked has already said so.
            drop(thread.join());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Workers;
    use crate::column::Column;
    use crate::row::Case;

    #[test]
    fn everybody_works_and_the_sum_is_told() {
        let cases = (0..3).map(|_| Case::new(Column::Raw, |_| Ok(2))).collect();
        let mut workers = Workers::start(cases).unwrap();
        assert_eq!(workers.run(5).unwrap(), 3 * 5 * 2);
        assert_eq!(workers.run(1).unwrap(), 3 * 2);
    }

    #[test]
    fn a_failure_in_one_thread_is_told() {
        let mut workers = Workers::start(vec![
            Case::new(Column::Raw, |_| Ok(1)),
            Case::new(Column::Raw, |_| Err("no".into())),
        ])
        .unwrap();
        assert_eq!(workers.run(1).unwrap_err().to_string(), "no");
    }
}
