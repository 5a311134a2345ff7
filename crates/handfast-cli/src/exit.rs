//! The exit codes: one list for all commands.

use std::process::ExitCode;

/// The exit code of the process.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[cfg_attr(
    not(unix),
    expect(dead_code, reason = "only one answer is given there")
)]
pub(crate) enum Exit {
    /// Yes: it was done, or all is well.
    Yes,
    /// No: the verb was refused or failed, or something escapes.
    No,
    /// The command line or the configuration is wrong; nothing was tried.
    Usage,
    /// Cannot tell, or this system cannot enforce what was asked.
    CannotTell,
    /// What a program that was run said.
    #[cfg_attr(
        not(any(feature = "broker", feature = "run")),
        allow(dead_code, reason = "`run` and `lease run` alone")
    )]
    Child(u8),
}

impl Exit {
    /// The number.
    pub(crate) const fn code(self) -> u8 {
        match self {
            Self::Yes => 0,
            Self::No => 1,
            Self::Usage => 2,
            Self::CannotTell => 3,
            Self::Child(code) => code,
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// The end of `--help`: examples and the codes.
#[cfg(supported)]
macro_rules! help {
    ($example:literal) => {
        concat!(
            "Examples:\n",
            $example,
            "\n\n",
            "Exit codes:\n",
            "  0  done, or everything is as it should be\n",
            "  1  refused, failed, or something was found\n",
            "  2  wrong usage, or a directory that cannot be opened\n",
            "  3  this system cannot do or enforce what was asked"
        )
    };
}

#[cfg(supported)]
pub(crate) use help;

/// The end of `--help` of a command below another, which lists the exit codes.
#[cfg(supported)]
macro_rules! examples {
    ($example:literal) => {
        concat!("Examples:\n", $example)
    };
}

#[cfg(supported)]
pub(crate) use examples;
