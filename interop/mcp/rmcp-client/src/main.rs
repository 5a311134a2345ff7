//! The Rust SDK's client before the server, in both eras, on standard input and output and by HTTP.
//!
//! `rmcp-client HANDFAST DIRECTORY STATE URL TOKEN`

use std::collections::BTreeSet;

use rmcp::RoleClient;
use rmcp::model::{CallToolRequestParams, ClientConfig, ProtocolVersion};
use rmcp::service::{ClientLifecycleMode, RunningService, serve_client_with_lifecycle};
use rmcp::transport::streamable_http_client::StreamableHttpClientTransportConfig;
use rmcp::transport::{StreamableHttpClientTransport, TokioChildProcess};
use serde_json::{Value, json};

type Failure = Box<dyn std::error::Error>;
type Client = RunningService<RoleClient, ClientConfig>;

/// How many calls are asked at once.
const AT_ONCE: usize = 200;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Failure> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [handfast, directory, state, url, token] = args.as_slice() else {
        return Err("HANDFAST DIRECTORY STATE URL TOKEN".into());
    };
    for era in ["handshake", "stateless"] {
        let mut command = tokio::process::Command::new(handfast);
        command.args(["mcp", "--quiet", "--state", state, directory]);
        let transport = TokioChildProcess::new(command)?;
        let client =
            serve_client_with_lifecycle(ClientConfig::default(), transport, lifecycle(era)).await?;
        talk(&format!("stdio, {era}"), client).await?;

        let config = StreamableHttpClientTransportConfig::with_uri(url.as_str())
            .auth_header(token.as_str())
            .max_concurrent_requests(AT_ONCE);
        let transport = StreamableHttpClientTransport::from_config(config);
        let client =
            serve_client_with_lifecycle(ClientConfig::default(), transport, lifecycle(era)).await?;
        talk(&format!("HTTP, {era}"), client).await?;
    }
    Ok(())
}

fn lifecycle(era: &str) -> ClientLifecycleMode {
    match era {
        "handshake" => ClientLifecycleMode::Initialize,
        _ => ClientLifecycleMode::Discover {
            preferred_versions: vec![ProtocolVersion::V_2026_07_28],
        },
    }
}

fn params(tool: &'static str, arguments: &Value) -> CallToolRequestParams {
    let arguments = arguments.as_object().cloned().unwrap_or_default();
    CallToolRequestParams::new(tool).with_arguments(arguments)
}

async fn talk(name: &str, client: Client) -> Result<(), Failure> {
    let tools = client.list_all_tools().await?;
    assert!(tools.iter().any(|tool| tool.name == "read_text_file"));
    let content = format!("hello from rmcp, {name}");
    let path = "from-rust.txt";
    let write = params("write_file", &json!({"path": path, "content": content}));
    client.call_tool(write).await?;
    let read = client
        .call_tool(params("read_text_file", &json!({"path": path})))
        .await?;
    let structured = read.structured_content.unwrap_or_default();
    assert_eq!(structured["content"], json!(content));
    assert!(structured["version"].is_string());
    let refused = params("read_text_file", &json!({"path": "/etc/passwd"}));
    assert_eq!(client.call_tool(refused).await?.is_error, Some(true));
    assert!(client.call_tool(params("nope", &json!({}))).await.is_err());
    at_once(&client).await?;
    let version = client.peer_info().map(|info| info.protocol_version.clone());
    println!(
        "{:44} {}",
        format!("rmcp 3.8.0, {name}"),
        version.map_or_else(|| "?".to_owned(), |v| v.to_string())
    );
    client.cancel().await?;
    Ok(())
}

/// Every answer is the one to its own question.
async fn at_once(client: &Client) -> Result<(), Failure> {
    let mut calls = tokio::task::JoinSet::new();
    for number in 0..AT_ONCE {
        let peer = client.peer().clone();
        calls.spawn(async move {
            let path = format!("none-{number}");
            let asked = params("get_file_info", &json!({"path": path}));
            let answer = peer.call_tool(asked).await?;
            let text = serde_json::to_value(&answer.content).unwrap_or_default();
            let text = text[0]["text"].as_str().unwrap_or_default().to_owned();
            assert!(text.contains(&format!("{path}'")), "{number}: {text}");
            Ok::<usize, rmcp::ServiceError>(number)
        });
    }
    let mut answered = BTreeSet::new();
    while let Some(done) = calls.join_next().await {
        answered.insert(done??);
    }
    assert_eq!(answered.len(), AT_ONCE);
    Ok(())
}
