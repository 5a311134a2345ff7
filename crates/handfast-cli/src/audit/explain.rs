//! `handfast audit explain`: the checklist itself, and as a contract for code not written yet.

use clap::Args;
use handfast_audit::{Lang, explain};

use crate::exit::Exit;
use crate::output::Output;

/// Explain an item of the checklist, or print all of it as a design contract
#[derive(Debug, Args)]
#[command(after_help = crate::exit::examples!(
    "  handfast audit explain D2 --lang go
  handfast audit explain --contract"
))]
pub(crate) struct ExplainArgs {
    /// The item: A1 to F3
    #[arg(required_unless_present = "contract")]
    item: Option<String>,

    /// The language of the example
    #[arg(long, value_name = "LANG")]
    lang: Option<String>,

    /// Print the whole checklist as a contract for a writer that does not exist yet
    #[arg(long)]
    contract: bool,
}

impl ExplainArgs {
    pub(super) fn run(&self, out: &mut Output) -> Exit {
        let lang = match self.lang.as_deref().map(|name| (name, Lang::of_name(name))) {
            Some((name, None)) => {
                out.failure(&super::failure(
                    name,
                    "no such language; known are python, javascript, typescript, go, rust, c, c++",
                    Exit::Usage,
                ));
                return Exit::Usage;
            }
            Some((_, lang)) => lang,
            None => None,
        };
        if self.contract {
            out.data(explain::contract(lang).as_bytes());
            return Exit::Yes;
        }
        let id = self.item.as_deref().unwrap_or_default();
        match explain::item(id, lang) {
            Some(text) => {
                out.data(text.as_bytes());
                Exit::Yes
            }
            None => {
                out.failure(&super::failure(id, "no such item; items are A1 to A6, B1 to B3, C1 to C5, D1 to D5, E1 to E3, F1 to F3", Exit::Usage));
                Exit::Usage
            }
        }
    }
}
