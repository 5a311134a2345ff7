//! How long attackers pause between two changes.

use std::time::{Duration, Instant};

/// Pauses of uneven length between two bounds, in microseconds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Pace {
    least: u32,
    most: u32,
}

/// Longer than this, no thread spins: a thread that sleeps gets a core at once when it wakes.
const LONG: Duration = Duration::from_micros(300);

impl Pace {
    /// No pause at all.
    pub(crate) const HURRIED: Self = Self { least: 0, most: 0 };
    /// About as long as a call takes.
    pub(crate) const QUICK: Self = Self {
        least: 20,
        most: 80,
    };
    /// About as long as many calls take.
    pub(crate) const SLOW: Self = Self {
        least: 400,
        most: 1600,
    };

    /// For victims that take this long: most are over before the next change, and one in nine is met
    /// in the middle. A pace that does not know how slow the build or the machine is either meets
    /// every call or none.
    pub(crate) fn around(call: Duration) -> Self {
        let micros = u32::try_from(call.as_micros()).unwrap_or(u32::MAX);
        let micros = micros.clamp(10, 20_000);
        Self {
            least: micros / 8,
            most: micros * 8,
        }
    }

    /// The same with pauses that are longer by a factor.
    #[must_use]
    pub(crate) fn calmer(self, factor: u32) -> Self {
        Self {
            least: self.least.saturating_mul(factor),
            most: self.most.saturating_mul(factor).min(100_000),
        }
    }

    /// The longest pause.
    pub(crate) fn most(self) -> Duration {
        Duration::from_micros(self.most.into())
    }

    /// In one number, for an attacker that is at work already.
    pub(crate) fn packed(self) -> u64 {
        u64::from(self.least) << 32 | u64::from(self.most)
    }

    pub(crate) fn unpacked(packed: u64) -> Self {
        let half = |bits: u64| u32::try_from(bits & u64::from(u32::MAX)).unwrap_or(u32::MAX);
        Self {
            least: half(packed >> 32),
            most: half(packed),
        }
    }
}

/// Numbers without a pattern, the same in every run.
pub(crate) struct Jitter(u64);

impl Jitter {
    pub(crate) fn new(seed: u64) -> Self {
        Self(0x9e37_79b9_7f4a_7c15 ^ seed.wrapping_mul(0x2545_f491_4f6c_dd1d))
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// One pause.
    pub(crate) fn pause(&mut self, pace: Pace) {
        let span = pace.most.saturating_sub(pace.least);
        if pace.most == 0 {
            return;
        }
        let micros = u64::from(pace.least) + self.next() % (u64::from(span) + 1);
        let pause = Duration::from_micros(micros);
        let begun = Instant::now();
        if pause > LONG {
            std::thread::sleep(pause.saturating_sub(LONG / 3));
        }
        while begun.elapsed() < pause {
            std::hint::spin_loop();
        }
    }

    /// What naive code does between its check and its use: nothing, a little, or something for
    /// which it gives up its core.
    pub(crate) fn work(&mut self) {
        let micros = match self.next() % 8 {
            0 => return,
            1 => return std::thread::yield_now(),
            2 => return std::thread::sleep(Duration::from_millis(1)),
            3..6 => 1 + self.next() % 50,
            _ => 50 + self.next() % 150,
        };
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_micros(micros) {
            std::hint::spin_loop();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pace_survives_being_told() {
        for pace in [Pace::HURRIED, Pace::QUICK, Pace::SLOW] {
            assert_eq!(Pace::unpacked(pace.packed()), pace);
        }
    }

    #[test]
    fn a_pace_fits_the_call_and_grows_calmer_within_bounds() {
        let pace = Pace::around(Duration::from_micros(40));
        assert_eq!((pace.least, pace.most), (5, 320));
        assert_eq!(pace.calmer(4).most(), Duration::from_micros(1280));
        assert!(
            Pace::around(Duration::from_secs(9)).calmer(64).most() <= Duration::from_millis(160)
        );
        assert!(Pace::around(Duration::ZERO).most() > Duration::ZERO);
    }
}
