//! The SPIFFE Workload API: gRPC over a Unix socket. Each question is asked again; of its stream of
//! answers the first one is taken.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use bytes::Bytes;
use prost::Message;
use serde_json::{Value, json};

/// How long one question may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// The largest answer that is taken.
const MAX_ANSWER: usize = 4 << 20;

#[derive(Clone, Message)]
struct Nothing {}

/// `X509BundlesResponse` and, with another number, `JWTBundlesResponse`.
#[derive(Clone, Message)]
struct X509Bundles {
    #[prost(map = "string, bytes", tag = "2")]
    bundles: HashMap<String, Vec<u8>>,
}

#[derive(Clone, Message)]
struct JwtBundles {
    #[prost(map = "string, bytes", tag = "1")]
    bundles: HashMap<String, Vec<u8>>,
}

#[derive(Clone, Message)]
struct X509Svids {
    #[prost(message, repeated, tag = "1")]
    svids: Vec<X509SvidEntry>,
}

#[derive(Clone, Message)]
struct X509SvidEntry {
    #[prost(bytes = "vec", tag = "2")]
    chain: Vec<u8>,
    #[prost(bytes = "vec", tag = "3")]
    key: Vec<u8>,
}

/// The bundle of a trust domain, as a SPIFFE bundle document.
///
/// # Errors
/// In words, if the API does not say.
pub(super) fn fetch_bundle(socket: &Path, domain: &str) -> Result<Vec<u8>, String> {
    let mut keys = Vec::new();
    // A workload may be entitled to one kind only; what neither gives is an error below.
    let roots: Result<X509Bundles, _> = ask(socket, "FetchX509Bundles");
    let tokens: Result<JwtBundles, _> = ask(socket, "FetchJWTBundles");
    let silent = roots.as_ref().err().or(tokens.as_ref().err()).cloned();
    if roots.is_err() && tokens.is_err() {
        return Err(silent.unwrap_or_default());
    }
    if let Some(der) = roots
        .ok()
        .and_then(|found| of_domain(found.bundles, domain))
    {
        for certificate in split_der(&der)? {
            let x5c = [STANDARD.encode(certificate)];
            keys.push(json!({ "use": "x509-svid", "x5c": x5c }));
        }
    }
    if let Some(set) = tokens
        .ok()
        .and_then(|found| of_domain(found.bundles, domain))
    {
        let set: Value = serde_json::from_slice(&set)
            .map_err(|error| format!("the Workload API's JWT bundle: {error}"))?;
        for key in set
            .get("keys")
            .and_then(Value::as_array)
            .into_iter()
            .flatten()
        {
            let mut key = key.clone();
            // Every key of this set is one; not every server says so.
            key["use"] = json!("jwt-svid");
            keys.push(key);
        }
    }
    // That there is no key is believed of an API that answered both questions: then all were taken back.
    if keys.is_empty()
        && let Some(why) = silent
    {
        return Err(why);
    }
    // In an order of their own: the same keys are the same text.
    keys.sort_by_key(Value::to_string);
    Ok(json!({ "keys": keys }).to_string().into_bytes())
}

/// The first X.509-SVID that this process is entitled to, and its key in PKCS #8.
///
/// # Errors
/// In words, if there is none.
pub(super) fn fetch_svid(socket: &Path) -> Result<(Vec<Vec<u8>>, Vec<u8>), String> {
    let found: X509Svids = ask(socket, "FetchX509SVID")?;
    let first = found.svids.into_iter().next();
    let first = first.ok_or("the Workload API gives this process no X.509-SVID")?;
    let chain = split_der(&first.chain)?;
    Ok((chain.into_iter().map(<[u8]>::to_vec).collect(), first.key))
}

fn of_domain(mut bundles: HashMap<String, Vec<u8>>, domain: &str) -> Option<Vec<u8>> {
    let id = format!("spiffe://{domain}");
    bundles.remove(&id).or_else(|| bundles.remove(domain))
}

/// Certificates that follow one another: each says its length.
fn split_der(mut rest: &[u8]) -> Result<Vec<&[u8]>, String> {
    let mut found = Vec::new();
    while !rest.is_empty() {
        let length = match rest {
            [0x30, short @ 0..=0x7f, ..] => 2 + usize::from(*short),
            [0x30, 0x81, length, ..] => 3 + usize::from(*length),
            [0x30, 0x82, high, low, ..] => 4 + usize::from(u16::from_be_bytes([*high, *low])),
            _ => return Err("the Workload API's certificates are no DER".to_owned()),
        };
        let (one, others) = rest
            .split_at_checked(length)
            .ok_or("the Workload API's certificates are cut")?;
        found.push(one);
        rest = others;
    }
    Ok(found)
}

/// Asks one method, without parameters.
fn ask<T: Message + Default>(socket: &Path, method: &str) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_io()
        .enable_time()
        .build()
        .map_err(|error| format!("the Workload API: {error}"))?;
    let answer = runtime.block_on(async {
        tokio::time::timeout(PATIENCE, first_answer(socket, method))
            .await
            .unwrap_or_else(|_| Err("it does not answer in time".to_owned()))
    });
    let answer = answer.map_err(|why| format!("the Workload API ({method}): {why}"))?;
    T::decode(answer).map_err(|error| format!("the Workload API ({method}): {error}"))
}

async fn first_answer(socket: &Path, method: &str) -> Result<Bytes, String> {
    let words = |error: &dyn std::fmt::Display| error.to_string();
    let stream = tokio::net::UnixStream::connect(socket)
        .await
        .map_err(|error| words(&error))?;
    let (client, connection) = h2::client::handshake(stream)
        .await
        .map_err(|error| words(&error))?;
    let driver = tokio::spawn(connection);
    let asked = converse(client, method).await;
    driver.abort();
    asked
}

async fn converse(client: h2::client::SendRequest<Bytes>, method: &str) -> Result<Bytes, String> {
    let words = |error: h2::Error| error.to_string();
    let mut client = client.ready().await.map_err(words)?;
    let request = http::Request::post(format!("http://localhost/SpiffeWorkloadAPI/{method}"))
        .header("content-type", "application/grpc")
        .header("te", "trailers")
        // The API answers nobody who does not say this: no web page can make a browser say it.
        .header("workload.spiffe.io", "true")
        .body(())
        .map_err(|error| error.to_string())?;
    let (response, mut sending) = client.send_request(request, false).map_err(words)?;
    // Not compressed, no bytes: a message without fields.
    let question = frame(&Nothing {}.encode_to_vec());
    sending.send_data(question, true).map_err(words)?;
    let response = response.await.map_err(words)?;
    status(response.headers())?;
    if response.status() != http::StatusCode::OK {
        return Err(format!("HTTP {}", response.status()));
    }
    let mut body = response.into_body();
    let mut found = Vec::new();
    loop {
        if let Some(message) = first_message(&found)? {
            return Ok(message);
        }
        let Some(data) = body.data().await else { break };
        let data = data.map_err(words)?;
        body.flow_control()
            .release_capacity(data.len())
            .map_err(words)?;
        found.extend_from_slice(&data);
    }
    let trailers = body.trailers().await.map_err(words)?;
    status(&trailers.unwrap_or_default())?;
    Err("it ended without an answer".to_owned())
}

fn frame(message: &[u8]) -> Bytes {
    let mut framed = vec![0];
    framed.extend(
        u32::try_from(message.len())
            .unwrap_or(u32::MAX)
            .to_be_bytes(),
    );
    framed.extend(message);
    framed.into()
}

/// The first message of a body, once all of it is there.
fn first_message(body: &[u8]) -> Result<Option<Bytes>, String> {
    let Some((head, rest)) = body.split_at_checked(5) else {
        return Ok(None);
    };
    let [compressed, size @ ..] = head else {
        return Ok(None);
    };
    if *compressed != 0 {
        return Err("it answers compressed, which was not asked for".to_owned());
    }
    let size = size
        .iter()
        .fold(0, |size, byte| size << 8 | usize::from(*byte));
    if size > MAX_ANSWER {
        return Err("its answer is too large".to_owned());
    }
    Ok(rest.get(..size).map(Bytes::copy_from_slice))
}

/// What a gRPC server says when it says no.
fn status(headers: &http::HeaderMap) -> Result<(), String> {
    let text = |name: &str| {
        headers
            .get(name)
            .map(|value| handfast::escape(value.as_bytes()))
    };
    match text("grpc-status").as_deref() {
        None | Some("0") => Ok(()),
        Some(code) => Err(match text("grpc-message") {
            Some(why) => format!("{why} (gRPC status {code})"),
            None => format!("gRPC status {code}"),
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn certificates_are_split_where_they_say() {
        let one = [&[0x30, 0x03][..], b"abc"].concat();
        let long = [&[0x30, 0x81, 0x80][..], &[7; 0x80]].concat();
        let longer = [&[0x30, 0x82, 0x01, 0x01][..], &[9; 0x101]].concat();
        let all = [&one[..], &long, &longer].concat();
        assert_eq!(split_der(&all).unwrap(), [&one[..], &long, &longer]);
        for bad in [
            &[0x31, 0][..],
            &[0x30],
            &[0x30, 5, 1],
            &[0x30, 0x84, 0, 0, 0, 1],
        ] {
            assert!(split_der(bad).is_err(), "{bad:?}");
        }
    }

    #[test]
    fn a_message_is_whole_or_awaited() {
        let framed = frame(b"hello");
        for cut in 0..framed.len() {
            assert_eq!(first_message(&framed[..cut]).unwrap(), None);
        }
        assert_eq!(first_message(&framed).unwrap().unwrap(), "hello");
        assert!(first_message(&[1, 0, 0, 0, 0]).is_err());
        assert!(first_message(&[0, 255, 255, 255, 255]).is_err());
    }
}
