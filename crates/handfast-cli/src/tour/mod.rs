//! `handfast tour`: one minute in a temporary directory, narrated.
//!
//! The race is run here, with the library; everything else is this command itself, run as a person
//! would run it, so what the tour shows is what the commands print. Each chapter says what has to
//! come true, and the tour fails where it does not.

mod audit;
mod race;
#[cfg(feature = "run")]
mod run;
mod stage;
mod story;
mod teller;

use clap::Args;
use handfast::{Effect, ErrorKind};

use crate::exit::Exit;
use crate::failure::Failure;
use crate::json::JsonObject;
use crate::output::{Output, list};
use stage::TourDirectory;
use teller::Teller;

const HELP: &str = "\
Examples:
  handfast tour
  handfast tour --fast

Exit codes:
  0  everything that this machine can show came true
  1  something did not: please report it, with the output
  3  it cannot be shown here: no temporary directory, or the naive writer won";

/// Watch an agent's run, a symlink race, a review and an audit, in one minute
///
/// In a temporary directory that is removed at the end: an agent works in a sample project, and
/// half of what it did is committed; a writer that looks careful loses a race and writes outside,
/// and Handfast does not; a stale agent is stopped; an overlay is reviewed and committed; the log
/// shows what happened, and a changed copy is detected; the auditor finds the naive code. Needs no
/// network and no privileges.
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct TourArgs {
    /// Make no pauses for reading, and fewer attempts
    #[arg(long)]
    fast: bool,
}

/// One thing the tour shows.
struct Chapter {
    name: &'static str,
    show: fn(&TourDirectory, &mut Teller<'_>) -> Result<(), Surprise>,
}

const CHAPTERS: &[Chapter] = &[
    #[cfg(feature = "run")]
    Chapter {
        name: "run",
        show: run::show,
    },
    Chapter {
        name: "race",
        show: race::show,
    },
    Chapter {
        name: "stale",
        show: story::stale,
    },
    Chapter {
        name: "overlay",
        show: story::overlay,
    },
    Chapter {
        name: "log",
        show: story::log,
    },
    Chapter {
        name: "audit",
        show: audit::show,
    },
];

/// Why a chapter did not come true.
#[derive(Debug)]
enum Surprise {
    /// It came out otherwise than it must.
    Wrong(String),
    /// It could not be shown on this machine.
    Cannot(String),
    /// This machine lacks what the chapter needs. The others do not need it.
    #[cfg(feature = "run")]
    NotHere(String),
}

impl From<std::io::Error> for Surprise {
    fn from(error: std::io::Error) -> Self {
        Self::Cannot(error.to_string())
    }
}

impl From<handfast::Error> for Surprise {
    fn from(error: handfast::Error) -> Self {
        Self::Cannot(error.to_string())
    }
}

impl TourArgs {
    pub(crate) fn run(&self, out: &mut Output) -> Exit {
        let stage = match TourDirectory::set(self.fast) {
            Ok(stage) => stage,
            Err(error) => return fail(&Surprise::Cannot(error.to_string()), "stage", out),
        };
        #[cfg(feature = "broker")]
        crate::interrupt::clean_up_on_signals({
            let path = stage.path().to_owned();
            move || vec![path.clone()]
        });
        let mut told = Vec::new();
        for (at, chapter) in CHAPTERS.iter().enumerate() {
            let mut teller = Teller::new(out, at + 1, CHAPTERS.len(), self.fast);
            let why_not: Option<String> = match (chapter.show)(&stage, &mut teller) {
                Ok(()) => None,
                #[cfg(feature = "run")]
                Err(Surprise::NotHere(why)) => {
                    teller.cannot();
                    Some(why)
                }
                Err(surprise) => {
                    #[cfg(feature = "broker")]
                    crate::interrupt::give_way();
                    return fail(&surprise, chapter.name, out);
                }
            };
            told.push((chapter.name, why_not));
        }
        if out.is_json() {
            let chapters = told.iter().map(|(name, why_not)| {
                let chapter = JsonObject::new().with("name", *name);
                let chapter = chapter.with("ok", why_not.is_none());
                match why_not {
                    None => chapter,
                    Some(why) => chapter.with("why", why.as_str()),
                }
            });
            out.object(true, JsonObject::new().with("chapters", list(chapters)));
        } else {
            teller::last_words(out);
        }
        Exit::Yes
    }
}

fn fail(surprise: &Surprise, chapter: &'static str, out: &mut Output) -> Exit {
    let (exit, detail) = match surprise {
        Surprise::Wrong(what) => (Exit::No, what),
        Surprise::Cannot(what) => (Exit::CannotTell, what),
        #[cfg(feature = "run")]
        Surprise::NotHere(what) => (Exit::CannotTell, what),
    };
    out.failure(&Failure {
        kind: if exit == Exit::No {
            ErrorKind::Io
        } else {
            ErrorKind::Unsupported
        },
        verb: "tour",
        sentence: format!("the tour stopped in the chapter `{chapter}`"),
        path: String::new(),
        destination: None,
        detail: detail.clone(),
        effect: Effect::None,
        exit,
        hints: Vec::new(),
    });
    exit
}
