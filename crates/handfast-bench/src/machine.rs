//! What the numbers were measured on.
#![expect(
    clippy::disallowed_methods,
    reason = "reads one fixed file of the system, by its name"
)]

/// The machine, as far as it matters for the numbers.
#[derive(Clone, Debug)]
pub struct Machine {
    /// The processor's name.
    pub cpu: String,
    /// How many of them this process may use.
    pub cores: usize,
    /// The kernel's release.
    pub kernel: String,
}

impl Machine {
    /// This machine.
    #[must_use]
    pub fn here() -> Self {
        let cpu = std::fs::read_to_string("/proc/cpuinfo")
            .ok()
            .and_then(|text| {
                text.lines()
                    .find_map(|line| line.strip_prefix("model name")?.split_once(':'))
                    .map(|(_, name)| name.trim().to_owned())
            })
            .unwrap_or_else(|| std::env::consts::ARCH.to_owned());
        let uname = rustix::system::uname();
        Self {
            cpu,
            cores: std::thread::available_parallelism().map_or(1, usize::from),
            kernel: format!(
                "{} {}",
                uname.sysname().to_string_lossy(),
                uname.release().to_string_lossy()
            ),
        }
    }
}
