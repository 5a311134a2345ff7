//! Layers that run in a process of their own: how one is started, and what it does.

use std::io;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use handfast_broker::{Rulebook, ServeOptions, bind_socket};
use handfast_mcp::{LogChoice, Options, Server, Source};
use serde_json::json;

use super::{Layer, POLICY, Served, broker, mcp};
use crate::attacker::AttackerProgram;
use crate::cores;

/// How long a service may take to begin.
const START_TIMEOUT: Duration = Duration::from_secs(10);

/// A process that serves; it ends with this.
pub(crate) struct Service(Child);

impl Drop for Service {
    fn drop(&mut self) {
        drop(self.0.kill());
        drop(self.0.wait());
    }
}

/// Starts a broker or an MCP server on an arena, and connects.
pub(super) fn start(
    layer: Layer,
    top: &Path,
    program: Option<&AttackerProgram>,
) -> io::Result<(Served, Service)> {
    let Some(program) = program else {
        let why = "no program was named that can be started as one";
        return Err(io::Error::new(io::ErrorKind::Unsupported, why));
    };
    let mut child = Command::new(&program.program)
        .args(&program.arguments)
        .arg(layer.name())
        .arg(top)
        .arg("")
        .arg(std::process::id().to_string())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()?;
    let (input, output) = (child.stdin.take(), child.stdout.take());
    let mut service = Service(child);
    if let (Layer::Mcp, Some(input), Some(output)) = (layer, input, output) {
        let mut tools = mcp::Tools::new(input, output);
        tools.tool("list_allowed_directories", &json!({}))?;
        return Ok((Served::Tools(Mutex::new(tools)), service));
    }
    let begun = Instant::now();
    loop {
        match broker::acquire(top) {
            Ok(files) => return Ok((Served::Lease(files), service)),
            Err(error) if begun.elapsed() > START_TIMEOUT => return Err(error),
            Err(_) => {}
        }
        if service.0.try_wait()?.is_some() {
            return Err(io::Error::other("the broker ended at once"));
        }
        std::thread::sleep(Duration::from_millis(2));
    }
}

/// Serves an arena until the process that started this one is gone.
pub(crate) fn serve(layer: Layer, top: &Path) -> io::Result<()> {
    cores::anywhere();
    let top = &std::path::absolute(top)?;
    match layer {
        Layer::Broker => {
            let text = std::fs::read(top.join(POLICY))?;
            let rulebook = Rulebook::parse(&text, top, false);
            // A path of this length fits into an address, wherever the arena lies.
            std::env::set_current_dir(top)?;
            let listener = bind_socket(Path::new(broker::SOCKET), false)?;
            let options = ServeOptions::new(rulebook.map_err(io::Error::other)?, top.join("kept"));
            options.start(listener).map_err(io::Error::other)?.wait();
            Ok(())
        }
        Layer::Mcp => {
            let mut options = Options::new(Source::Policy(top.join(POLICY)));
            options.log = LogChoice::Off;
            let started = Server::start(&options).map_err(io::Error::other)?;
            let (input, output) = (io::stdin(), io::stdout());
            started.server.serve_stdio(input, output, &mut |_| {})
        }
        _ => Err(io::ErrorKind::Unsupported.into()),
    }
}
