//! The boot clock, by which leases end: it counts sleep, and nobody can set it.

use handfast_ledger::event::Moment;

/// Nanoseconds since the machine was started.
pub(crate) fn now_ns() -> u64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    u64::try_from(i128::from(time.tv_sec) * 1_000_000_000 + i128::from(time.tv_nsec)).unwrap_or(0)
}

/// The wall clock now.
pub(crate) fn wall_ns() -> i64 {
    i64::try_from(moment().wall_ns).unwrap_or(i64::MAX)
}

fn moment() -> Moment {
    let now = Moment::now();
    #[cfg(test)]
    let now = Moment {
        wall_ns: now.wall_ns + i128::from(tests::SHIFT.load(std::sync::atomic::Ordering::SeqCst)),
        ..now
    };
    now
}

/// What the wall clock shows, or will show, at a moment of the boot clock, if nobody sets it.
pub(crate) fn wall_of(boot_ns: u64) -> i128 {
    let now = moment();
    now.wall_ns + (i128::from(boot_ns) - i128::from(now.boot_ns))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use crate::{Acquire, Client, Code, Fence, Rulebook, ServeOptions, bind_socket};

    /// How far somebody has set the wall clock; the tests of other files do not look at it.
    pub(super) static SHIFT: AtomicI64 = AtomicI64::new(0);

    const YEAR: i64 = 365 * 24 * 3600 * 1_000_000_000;

    /// A wall clock that jumps neither ends a lease nor keeps one: only what is shown follows it.
    #[test]
    fn the_wall_clock_ends_nothing_and_keeps_nothing() {
        let dir = std::env::temp_dir().join(format!("hf-clock-{}", std::process::id()));
        std::fs::create_dir(&dir).unwrap();
        std::fs::create_dir(dir.join("root")).unwrap();
        std::fs::File::create(dir.join("root/a")).unwrap();
        let socket = dir.join("sock/broker.sock");
        let listener = bind_socket(&socket, false).unwrap();
        let rulebook = Rulebook::of_directory(dir.join("root")).unwrap();
        let options = ServeOptions::new(rulebook, dir.join("state")).fence(Fence::Thread);
        let running = std::thread::spawn(move || options.start(listener))
            .join()
            .unwrap()
            .unwrap();
        let mut client = Client::connect(&socket).unwrap();
        let mut acquire = |ttl| {
            let wanted = Acquire::new(["**"], ["read"]).bind("user").ttl(ttl);
            client.acquire(&wanted).unwrap()
        };
        let (long, short) = (acquire(3000), acquire(1));
        let year_of = |text: &str| text[..4].parse::<i64>().unwrap();
        let today = year_of(&long.lease.expire_time);
        for years in [20, -20] {
            SHIFT.store(years * YEAR, Ordering::SeqCst);
            client.open(&long.lease_id, "a").unwrap();
            let shown = client.lookup(&long.lease_id).unwrap();
            assert!((2900..=3000).contains(&shown.ttl), "{}", shown.ttl);
            // The clock was set, for who reads it: else this test shows nothing.
            let jumped = year_of(&shown.expire_time) - today;
            assert!((jumped - years).abs() <= 1, "{}", shown.expire_time);
            let renewed = client.renew(&long.lease_id, Some(3000)).unwrap();
            assert!((2900..=3000).contains(&renewed.ttl), "{}", renewed.ttl);
        }
        // Set back by twenty years, and over after its second all the same.
        std::thread::sleep(std::time::Duration::from_millis(1100));
        let over = client.open(&short.lease_id, "a").unwrap_err();
        assert_eq!(over.code(), Some(Code::LeaseExpired));
        SHIFT.store(0, Ordering::SeqCst);
        drop(client);
        running.stop();
        let top = handfast::Root::open_ambient(std::env::temp_dir()).unwrap();
        let name = dir.file_name().unwrap().as_encoded_bytes();
        top.remove_tree(&handfast::RelPath::parse(name).unwrap())
            .unwrap();
    }
}
