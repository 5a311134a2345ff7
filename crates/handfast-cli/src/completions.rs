//! `handfast completions`: what a shell needs to complete commands and options.

use clap::{Args, CommandFactory};
use clap_complete::Shell;

use crate::args::Cli;
use crate::exit::Exit;
use crate::output::Output;

const HELP: &str = "\
Examples:
  handfast completions bash > ~/.local/share/bash-completion/completions/handfast
  handfast completions zsh > ~/.zfunc/_handfast
  handfast completions fish > ~/.config/fish/completions/handfast.fish";

/// Print completions for a shell
#[derive(Debug, Args)]
#[command(after_help = HELP)]
pub(crate) struct CompletionsArgs {
    /// The shell
    #[arg(value_enum)]
    shell: Shell,
}

impl CompletionsArgs {
    pub(crate) fn run(&self, out: &mut Output) -> Exit {
        let mut script = Vec::new();
        clap_complete::generate(self.shell, &mut Cli::command(), "handfast", &mut script);
        out.data(&script);
        Exit::Yes
    }
}
