//! The Workload API, played by a server of another making: the HTTP/2 of `h2`, and protobuf by hand.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use handfast_broker::{BundleReader, BundleSource, TrustBundle, X509Svid, serve_bundle};
use serde_json::json;

use crate::stage::Stage;
use crate::svids::{chain, der, pem};

/// What the server answers to a method: a message, or a status.
type Answers = Arc<dyn Fn(&str) -> Result<Vec<u8>, u32> + Send + Sync>;

/// A field of bytes.
fn field(number: u8, bytes: &[u8]) -> Vec<u8> {
    let mut message = vec![number << 3 | 2];
    let mut length = bytes.len();
    while length >= 0x80 {
        message.push((length & 0x7f | 0x80) as u8);
        length >>= 7;
    }
    message.push(length as u8);
    message.extend(bytes);
    message
}

/// An entry of a map from names to bytes.
fn entry(number: u8, name: &str, bytes: &[u8]) -> Vec<u8> {
    let both = [field(1, name.as_bytes()), field(2, bytes)].concat();
    field(number, &both)
}

/// As the agent of a trust domain answers.
fn agent(method: &str) -> Result<Vec<u8>, u32> {
    let domain = "spiffe://example.org";
    let jwks = json!({ "keys": [{
        "kty": "EC", "kid": "one", "crv": "P-256",
        "x": "bHYrnM_bRHvjdO5xO-QviSlYHFPyRhmdJEviUmJOgOw",
        "y": "mQ9POUiAytsvmOP_g5TDpFX6NvXsJvdbldSlC28JdZ4",
    }]});
    match method {
        "/SpiffeWorkloadAPI/FetchX509Bundles" => {
            // Of two domains; ours has two roots, one behind the other.
            let both = [der(&pem("root.pem")), der(&pem("stranger.pem"))].concat();
            let other = entry(2, "spiffe://example.com", &der(&pem("stranger.pem")));
            Ok([other, entry(2, domain, &both)].concat())
        }
        "/SpiffeWorkloadAPI/FetchJWTBundles" => Ok(entry(1, domain, jwks.to_string().as_bytes())),
        "/SpiffeWorkloadAPI/FetchX509SVID" => {
            let svid = [
                field(1, b"spiffe://example.org/ci/build"),
                field(2, &chain("p256").concat()),
                field(3, &der(&pem("p256.key.pem"))),
            ];
            Ok(field(1, &svid.concat()))
        }
        _ => Err(12),
    }
}

/// Serves on a socket, as long as the test runs.
fn serve(dir: &Path, answers: Answers) -> PathBuf {
    let path = dir.join("agent.sock");
    let listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    listener.set_nonblocking(true).unwrap();
    std::thread::spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_io()
            .build()
            .unwrap();
        runtime.block_on(async {
            let listener = tokio::net::UnixListener::from_std(listener).unwrap();
            loop {
                let (stream, _) = listener.accept().await.unwrap();
                tokio::spawn(converse(stream, Arc::clone(&answers)));
            }
        });
    });
    path
}

async fn converse(stream: tokio::net::UnixStream, answers: Answers) {
    let Ok(mut connection) = h2::server::handshake(stream).await else {
        return;
    };
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        let headers = request.headers();
        let may = headers
            .get("workload.spiffe.io")
            .is_some_and(|said| said == "true");
        let answer = match may {
            true => answers(request.uri().path()),
            false => Err(3),
        };
        let head = http::Response::builder().header("content-type", "application/grpc");
        match answer {
            Ok(message) => {
                let mut sending = respond
                    .send_response(head.body(()).unwrap(), false)
                    .unwrap();
                let mut framed = vec![0];
                framed.extend(u32::try_from(message.len()).unwrap().to_be_bytes());
                framed.extend(message);
                // The stream stays open, as that of an agent does, and comes in pieces.
                let (first, rest) = framed.split_at(3);
                sending
                    .send_data(Bytes::copy_from_slice(first), false)
                    .unwrap();
                sending
                    .send_data(Bytes::copy_from_slice(rest), false)
                    .unwrap();
                std::mem::forget(sending);
            }
            Err(status) => {
                let head = head
                    .header("grpc-status", status)
                    .header("grpc-message", "not you");
                drop(respond.send_response(head.body(()).unwrap(), true));
            }
        }
    }
}

fn reader(socket: PathBuf, domain: &str) -> BundleReader {
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    let domain = domain.to_owned();
    let source = BundleSource::WorkloadApi { socket, domain };
    std::thread::spawn(move || serve_bundle(theirs, &source));
    BundleReader::new(ours).unwrap()
}

#[test]
fn b12_bundles_and_svids_come_from_the_workload_api() {
    let stage = Stage::prepare(&[]);
    let socket = serve(&stage.dir, Arc::new(agent));
    let text = reader(socket.clone(), "example.org").read().unwrap();
    let bundle = TrustBundle::parse("example.org", "handfast", &text).unwrap();
    let shown = format!("{bundle:?}");
    assert!(shown.contains("token_keys: 1, x509_roots: 2"), "{shown}");
    // The same bundle is the same text: nothing changed.
    assert_eq!(reader(socket.clone(), "example.org").read().unwrap(), text);
    // An API that answers and knows no key of a domain says that there is none any more.
    let text = reader(socket.clone(), "example.net").read().unwrap();
    let told = TrustBundle::parse("example.net", "handfast", &text).unwrap_err();
    assert!(told.contains("no key"), "{told}");
    // What it gives proves an id to a broker with that bundle.
    let running = crate::spiffe::start_with(&stage, bundle);
    let svid = X509Svid::from_workload_api(&socket).unwrap();
    let mut client = handfast_broker::Client::connect(stage.socket()).unwrap();
    let id = client.identify_x509(&svid).unwrap();
    assert_eq!(id, "spiffe://example.org/ci/build");
    drop(client);
    running.stop();
}

#[test]
fn b12_an_api_that_says_no_or_nonsense_is_said() {
    let refusing = |_: &str| -> Result<Vec<u8>, u32> { Err(7) };
    let garbage = |_: &str| -> Result<Vec<u8>, u32> { Ok(vec![0xff; 40]) };
    let half_empty = |method: &str| match method.contains("X509") {
        true => Ok(Vec::new()),
        false => Err(14),
    };
    let no_der = |_: &str| -> Result<Vec<u8>, u32> {
        Ok(entry(2, "spiffe://example.org", b"no certificate"))
    };
    let cases: [(Answers, &str); 4] = [
        (Arc::new(refusing), "not you (gRPC status 7)"),
        (Arc::new(garbage), "Workload API"),
        (Arc::new(half_empty), "gRPC status 14"),
        (Arc::new(no_der), "no DER"),
    ];
    for (answers, word) in cases {
        let stage = Stage::prepare(&[]);
        let socket = serve(&stage.dir, answers);
        let told = reader(socket.clone(), "example.org").read().unwrap_err();
        assert!(told.contains(word), "{word}: {told}");
        assert!(X509Svid::from_workload_api(&socket).is_err(), "{word}");
    }
    let stage = Stage::prepare(&[]);
    let nobody = reader(stage.dir.join("nobody.sock"), "example.org");
    assert!(nobody.read().unwrap_err().contains("Workload API"));
}

#[test]
fn b12_an_api_that_hangs_is_not_waited_for() {
    let stage = Stage::prepare(&[]);
    let path = stage.dir.join("agent.sock");
    // Nobody accepts; the kernel takes the connection all the same.
    let _listener = std::os::unix::net::UnixListener::bind(&path).unwrap();
    let told = reader(path.clone(), "example.org").read().unwrap_err();
    assert!(told.contains("in time"), "{told}");
    let told = X509Svid::from_workload_api(&path).unwrap_err();
    assert!(told.contains("in time"), "{told}");
}
