//! `handfast top`: a broker, live.

mod keys;
mod screen;
mod snapshot;
mod view;

use std::ffi::OsString;
use std::time::{Duration, Instant};

use clap::Args;

use crate::exit::Exit;
use crate::failure::Failure;
use crate::lease::{connect, told};
use crate::output::Output;
use keys::Keys;
use snapshot::Snapshot;
use view::{Asked, TableView};

/// Watch a broker: leases, who holds them, rates, refusals
///
/// What belongs to other users is shown to the broker's own user and to root. On a terminal the
/// picture is redrawn until `q` is pressed: `j` and `k`, the arrows, space and `b` scroll, `/` filters.
/// Elsewhere it is printed once.
#[derive(Debug, Args)]
#[command(after_help = crate::exit::help!("  handfast top\n  handfast top --once --json"))]
pub(crate) struct TopArgs {
    /// Talk to this broker [default: $HANDFAST_SOCKET, or below the user's runtime directory]
    #[arg(long, value_name = "PATH")]
    socket: Option<OsString>,

    /// Redraw after this many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=3600))]
    interval: u64,

    /// Show only leases with this in their handle, purpose, verbs or paths
    #[arg(long, value_name = "TEXT")]
    filter: Option<String>,

    /// Print one picture and end
    #[arg(long)]
    once: bool,
}

/// The picture when there is no terminal to fit it to.
const WIDE: screen::Size = screen::Size {
    columns: 160,
    rows: usize::MAX,
};

/// Draws a picture over the one before.
fn draw(out: &mut Output, now: &Snapshot, before: Option<&Snapshot>, view: &TableView) {
    // Home, and clear to the end.
    out.data(b"\x1b[H\x1b[J");
    for line in screen::lines(now, before, screen::Size::of_terminal(), view) {
        out.line(&line);
    }
    out.line(&view.help());
}

impl TopArgs {
    pub(crate) fn run(&self, out: &mut Output) -> Exit {
        match self.watch(out) {
            Ok(()) => Exit::Yes,
            Err(failure) => {
                out.failure(&failure);
                failure.exit
            }
        }
    }

    fn watch(&self, out: &mut Output) -> Result<(), Box<Failure>> {
        let mut client = connect("top", self.socket.as_deref())?;
        let terminal = Output::is_terminal();
        // Programs that read lines of JSON say themselves when they have seen enough.
        let once = self.once || !(terminal || out.is_json());
        let mut view = TableView::of(self.filter.as_deref());
        // Taken after the first answer: a broker that is not there is told on a terminal as it was.
        let mut keys = None;
        let mut before = None;
        loop {
            let now = Snapshot::take(&mut client)
                .map_err(|error| told::failed("watch the broker", b"", &error))?;
            if out.is_json() {
                out.object(true, screen::object(&now, before.as_ref(), &view));
            } else if once {
                for line in screen::lines(&now, before.as_ref(), WIDE, &view) {
                    out.line(&line);
                }
            } else {
                draw(out, &now, before.as_ref(), &view);
            }
            out.flush();
            if once || !out.is_open() {
                return Ok(());
            }
            let next = Instant::now() + Duration::from_secs(self.interval);
            if !out.is_json() && keys.is_none() {
                keys = Keys::take();
            }
            match &keys {
                None => std::thread::sleep(Duration::from_secs(self.interval)),
                Some(keys) => {
                    while Instant::now() < next {
                        let typed = keys.typed(next);
                        if typed.is_empty() {
                            continue;
                        }
                        let page = screen::Size::of_terminal().rows.saturating_sub(8).max(1);
                        if view.press(&typed, page) == Asked::Quitting {
                            return Ok(());
                        }
                        draw(out, &now, before.as_ref(), &view);
                        out.flush();
                    }
                }
            }
            before = Some(now);
        }
    }
}
