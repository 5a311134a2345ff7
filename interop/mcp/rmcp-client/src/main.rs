//! The Rust SDK's client before the server, in both eras.
//!
//! `rmcp-client HANDFAST DIRECTORY STATE`

use rmcp::model::{CallToolRequestParams, ClientConfig, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, serve_client_with_lifecycle};
use rmcp::transport::TokioChildProcess;
use serde_json::json;

type Failure = Box<dyn std::error::Error>;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [handfast, directory, state] = args.as_slice() else {
        return Err("HANDFAST DIRECTORY STATE".into());
    };
    let stateless = ClientLifecycleMode::Discover {
        preferred_versions: vec![ProtocolVersion::V_2026_07_28],
    };
    for (name, lifecycle) in [
        ("handshake", ClientLifecycleMode::Initialize),
        ("stateless", stateless),
    ] {
        let mut command = tokio::process::Command::new(handfast);
        command.args(["mcp", "--quiet", "--state", state, directory]);
        let transport = TokioChildProcess::new(command)?;
        let client =
            serve_client_with_lifecycle(ClientConfig::default(), transport, lifecycle).await?;
        let tools = client.list_all_tools().await?;
        assert!(tools.iter().any(|tool| tool.name == "read_text_file"));
        let content = format!("hello from rmcp, {name}");
        let call = |tool: &'static str, arguments: serde_json::Value| {
            let arguments = arguments.as_object().cloned().unwrap_or_default();
            client.call_tool(CallToolRequestParams::new(tool).with_arguments(arguments))
        };
        let path = "from-rust.txt";
        call("write_file", json!({"path": path, "content": content})).await?;
        let read = call("read_text_file", json!({"path": path})).await?;
        let structured = read.structured_content.unwrap_or_default();
        assert_eq!(structured["content"], json!(content));
        assert!(structured["version"].is_string());
        let refused = call("read_text_file", json!({"path": "/etc/passwd"})).await?;
        assert_eq!(refused.is_error, Some(true));
        assert!(call("nope", json!({})).await.is_err());
        let version = client.peer_info().map(|info| info.protocol_version.clone());
        println!(
            "{:44} {}",
            format!("rmcp 3.8.0, stdio, {name}"),
            version.map_or_else(|| "?".to_owned(), |v| v.to_string())
        );
        client.cancel().await?;
    }
    Ok(())
}
