//! The server with the options that the tests need, as a process of its own: the wall is for a
//! whole process. `handfast mcp` has all options.
#![allow(clippy::print_stderr, reason = "what it says to people goes there")]

#[cfg(supported)]
mod serve {
    use std::io::Write;
    use std::path::PathBuf;
    use std::process::ExitCode;

    use handfast::{Links, RelPath, Root};
    use handfast_mcp::{LogChoice, Options, Server, Source, Tokens};

    /// Writes a file of a root for every line of input: what `write_file` is compared with.
    fn bare_writes(dir: &str) -> Result<(), Box<dyn std::error::Error>> {
        let root = Root::open_ambient(dir)?;
        let path = RelPath::parse("file")?;
        for line in std::io::stdin().lines() {
            root.write(&path, line?)?;
            std::io::stdout().write_all(b"written\n")?;
        }
        Ok(())
    }

    /// From now on the kernel says that it has no Landlock.
    fn without_wall() -> Result<(), Box<dyn std::error::Error>> {
        use seccompiler::{BpfProgram, SeccompAction, SeccompFilter};

        // `landlock_create_ruleset` has this number on every architecture, and 38 is `ENOSYS`.
        let rules = [(444, vec![])].into();
        let arch = std::env::consts::ARCH.try_into()?;
        let (others, these) = (SeccompAction::Allow, SeccompAction::Errno(38));
        let filter: BpfProgram = SeccompFilter::new(rules, others, these, arch)?.try_into()?;
        seccompiler::apply_filter(&filter)?;
        Ok(())
    }

    pub(crate) fn main() -> ExitCode {
        if let Some(dir) = std::env::var_os("HANDFAST_MCP_BARE_WRITES") {
            let done = dir.to_str().ok_or("not text".into()).and_then(bare_writes);
            return ExitCode::from(u8::from(done.is_err()));
        }
        let mut say = |line: &str| eprintln!("handfast mcp: {line}");
        if std::env::var_os("HANDFAST_MCP_WITHOUT_WALL").is_some()
            && let Err(error) = without_wall()
        {
            say(&error.to_string());
            return ExitCode::FAILURE;
        }
        let (options, http) = match parse(std::env::args().skip(1)) {
            Ok(parsed) => parsed,
            Err(why) => {
                say(&why);
                return ExitCode::from(2);
            }
        };
        let tokens = match std::env::var_os("HANDFAST_MCP_TOKENS") {
            Some(file) => Tokens::read_ambient(file.as_ref()),
            None => Tokens::new(),
        };
        let tokens = match tokens {
            Ok(tokens) => tokens,
            Err(error) => {
                say(&error.to_string());
                return ExitCode::from(2);
            }
        };
        let started = match Server::start(&options) {
            Ok(started) => started,
            Err(error) => {
                say(&error.text);
                return ExitCode::from(if error.is_usage { 2 } else { 1 });
            }
        };
        for warning in &started.warnings {
            say(warning);
        }
        say(&started.summary);
        let served = match http {
            Some(address) => started.server.serve_http(address, tokens, &mut say),
            None => {
                let (input, output) = (std::io::stdin(), std::io::stdout());
                started.server.serve_stdio(input, output, &mut say)
            }
        };
        match served {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                say(&error.to_string());
                ExitCode::FAILURE
            }
        }
    }

    type Parsed = (Options, Option<std::net::SocketAddr>);

    fn parse(mut args: impl Iterator<Item = String>) -> Result<Parsed, String> {
        let mut options = Options::new(Source::Session);
        let (mut dirs, mut http) = (Vec::new(), None);
        options.home = std::env::var_os("HOME").map(PathBuf::from);
        while let Some(arg) = args.next() {
            let mut value = || args.next().ok_or_else(|| format!("{arg} needs a value"));
            let number = |text: String| {
                let digits = text.trim_end_matches(|c: char| !c.is_ascii_digit());
                let factor = match &text[digits.len()..] {
                    "" => 1,
                    "KiB" => 1 << 10,
                    "MiB" => 1 << 20,
                    unit => return Err(format!("{unit}: an unknown unit")),
                };
                let number: Result<u64, _> = digits.parse();
                number.map(|n| n * factor).map_err(|e| e.to_string())
            };
            match arg.as_str() {
                "--state" => options.state = Some(value()?.into()),
                "--no-log" => options.log = LogChoice::Off,
                "--sync" => options.sync = true,
                "--read-only" => options.read_only = true,
                "--deny" => options.deny.push(value()?),
                "--protect" => options.protect = Some(value()?),
                "--quota" => options.quota = Some(number(value()?)?),
                "--archive-limit" => options.archive_limit = number(value()?)?,
                "--read-limit" => options.read_limit = number(value()?)?,
                "--log-keep-bytes" => {
                    options.log_keep = options.log_keep.bytes(number(value()?)?);
                }
                "--allow-delete" => options.delete = true,
                "--trust-client-approval" => options.trust_client_approval = true,
                "--without-tool" => options.without_tools.push(value()?),
                "--full-answers" => options.answer_limit = u64::MAX,
                "--project" => options.project = Some(value()?.into()),
                "--session" => options.session = Some(value()?),
                "--policy" => options.source = Source::Policy(value()?.into()),
                "--links" => {
                    options.links = match value()?.as_str() {
                        "refuse" => Some(Links::Refuse),
                        "beneath" => Some(Links::Beneath),
                        other => return Err(format!("{other}: an unknown rule")),
                    }
                }
                "--http" => http = Some(value()?.parse().map_err(|_| "no address".to_owned())?),
                flag if flag.starts_with('-') => return Err(format!("{flag}: an unknown flag")),
                _ => dirs.push(PathBuf::from(arg)),
            }
        }
        if !dirs.is_empty() {
            options.source = Source::Dirs(dirs);
        }
        Ok((options, http))
    }
}

#[cfg(supported)]
fn main() -> std::process::ExitCode {
    serve::main()
}

#[cfg(not(supported))]
fn main() {}
