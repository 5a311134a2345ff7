//! Workloads that prove a SPIFFE id.

use std::time::{SystemTime, UNIX_EPOCH};

use base64::Engine;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use handfast_broker::{
    Acquire, BundleReader, BundleSource, Client, ClientError, Code, Fence, Rulebook, Running,
    ServeOptions, TrustBundle, X509Svid, bind_socket, serve_bundle,
};
use handfast_session::Policy;
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use serde_json::{Value, json};

use crate::stage::{Stage, code};
use crate::svids::{pem, root, svid};

/// A key for these tests alone.
const KEY: &str = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgknDfjT2VDLo7NKJDk0K2aF2I2pmKoxXFvY4JhrLL7FehRANCAARsdiucz9tEe+N07nE75C+JKVgcU/JGGZ0kS+JSYk6A7JkPTzlIgMrbL5jj/4OUw6RV+jb17Cb3W5XUpQtvCXWe";
const X: &str = "bHYrnM_bRHvjdO5xO-QviSlYHFPyRhmdJEviUmJOgOw";
const Y: &str = "mQ9POUiAytsvmOP_g5TDpFX6NvXsJvdbldSlC28JdZ4";
const BUILD: &str = "spiffe://example.org/ci/build";

pub(crate) fn bundle() -> Value {
    json!({ "keys": [
        { "use": "x509-svid", "kty": "EC", "crv": "P-256", "x": X, "y": Y, "x5c": [root("root")] },
        { "use": "jwt-svid", "kty": "EC", "kid": "one", "crv": "P-256", "x": X, "y": Y },
    ]})
}

fn now() -> u64 {
    SystemTime::now()
        .duration_since(UNIX_EPOCH)
        .unwrap()
        .as_secs()
}

pub(crate) fn claims() -> Value {
    json!({ "sub": BUILD, "aud": ["other", "handfast"], "exp": now() + 600 })
}

fn encoded(value: &Value) -> String {
    URL_SAFE_NO_PAD.encode(value.to_string())
}

pub(crate) fn signed(kid: Option<&str>, claims: &Value) -> String {
    let mut header = json!({ "alg": "ES256", "typ": "JWT" });
    if let Some(kid) = kid {
        header["kid"] = json!(kid);
    }
    signed_under(&header, claims)
}

fn signed_under(header: &Value, claims: &Value) -> String {
    let random = ring::rand::SystemRandom::new();
    let key = STANDARD.decode(KEY).unwrap();
    let key = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &key, &random).unwrap();
    let text = format!("{}.{}", encoded(header), encoded(claims));
    let signature = key.sign(&random, text.as_bytes()).unwrap();
    format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
}

const POLICY: &str = "version = 1\n[[root]]\nname = \"ws\"\npath = \"ROOT\"\nmount = \"/\"\nmode = \"read-write\"\n\
     [[allow]]\nspiffe_id = \"spiffe://example.org/ci/build\"\nverbs = [\"read\", \"write\"]\n";

fn options(stage: &Stage, policy: &str) -> ServeOptions {
    let path = stage.dir.join("policy.toml");
    let root = stage.root("").to_str().unwrap().to_owned();
    let text = policy.replace("ROOT", root.trim_end_matches('/'));
    std::fs::write(&path, &text).unwrap();
    let policy = Policy::read_ambient(&path).unwrap();
    let rulebook = Rulebook::of_policy(&policy, text.as_bytes(), false).unwrap();
    ServeOptions::new(rulebook, stage.dir.join("state")).fence(Fence::Thread)
}

fn start(stage: &Stage, options: ServeOptions) -> Result<Running, String> {
    let listener = bind_socket(&stage.socket(), false).unwrap();
    let started = std::thread::spawn(move || options.start(listener)).join();
    started.unwrap().map_err(|error| error.to_string())
}

/// A broker that knows who proves to be the build.
pub(crate) fn start_with(stage: &Stage, bundle: TrustBundle) -> Running {
    start(stage, options(stage, POLICY).trust_bundle(bundle)).unwrap()
}

fn trusted() -> TrustBundle {
    let text = bundle().to_string();
    TrustBundle::parse("example.org", "handfast", text.as_bytes()).unwrap()
}

#[test]
fn who_proves_its_id_gets_what_the_policy_gives_it_and_no_longer_than_the_proof_lasts() {
    let stage = Stage::prepare(&[]);
    let running = start(&stage, options(&stage, POLICY).trust_bundle(trusted())).unwrap();
    let mut client = Client::connect(stage.socket()).unwrap();
    let wanted = Acquire::new(["**"], ["read"]).bind("user");
    assert_eq!(code(client.acquire(&wanted)), Code::Denied);
    assert_eq!(
        client.identify(&signed(Some("one"), &claims())).unwrap(),
        BUILD
    );
    let id = client.acquire(&wanted).unwrap().lease_id;
    client.open(&id, "top.txt").unwrap();
    // For that connection, not for the process: the token is who it says, not the number.
    let mut other = Client::connect(stage.socket()).unwrap();
    assert_eq!(code(other.open(&id, "top.txt")), Code::Denied);
    // A proof that fails takes nothing away, and gives nothing.
    assert_eq!(code(other.identify("nonsense")), Code::Denied);
    assert_eq!(code(other.open(&id, "top.txt")), Code::Denied);
    // At every use: when the proof is over, the lease is of no use.
    let mut short = claims();
    short["exp"] = json!(now() + 2);
    other.identify(&signed(Some("one"), &short)).unwrap();
    other.open(&id, "top.txt").unwrap();
    crate::stage::until("the end of the proof", || {
        other.open(&id, "top.txt").is_err()
    });
    assert_eq!(code(other.open(&id, "top.txt")), Code::Denied);
    client.open(&id, "top.txt").unwrap();
    drop((client, other));
    running.stop();
    let reader = handfast_ledger::LogReader::open(stage.log_dir()).unwrap();
    let mut text = String::new();
    reader
        .for_each(0, |_, leaf| {
            text.push_str(str::from_utf8(leaf).unwrap());
            Ok(std::ops::ControlFlow::Continue(()))
        })
        .unwrap();
    assert!(
        text.contains(&format!("\"spiffe_id\":\"{BUILD}\"")),
        "{text}"
    );
}

#[test]
fn tokens_that_are_not_good_prove_nothing() {
    let stage = Stage::prepare(&[]);
    let running = start(&stage, options(&stage, POLICY).trust_bundle(trusted())).unwrap();
    let mut client = Client::connect(stage.socket()).unwrap();
    let changed = |key: &str, value: Value| {
        let mut claims = claims();
        claims[key] = value;
        signed(Some("one"), &claims)
    };
    let good = signed(Some("one"), &claims());
    let parts: Vec<&str> = good.split('.').collect();
    let (head, body, signature) = (parts[0], parts[1], parts[2]);
    let other_body = {
        let mut claims = claims();
        claims["sub"] = json!("spiffe://example.org/admin");
        encoded(&claims)
    };
    let none = encoded(&json!({ "alg": "none", "kid": "one" }));
    // The public key, which everybody knows, as the secret of a symmetric signature.
    let symmetric = encoded(&json!({ "alg": "HS256", "kid": "one" }));
    let text = format!("{symmetric}.{}", encoded(&claims()));
    let secret = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, X.as_bytes());
    let tag = ring::hmac::sign(&secret, text.as_bytes());
    let confused = format!("{text}.{}", URL_SAFE_NO_PAD.encode(tag));
    let critical = json!({ "alg": "ES256", "kid": "one", "crit": ["bound"], "bound": "elsewhere" });
    let mut without = claims();
    without.as_object_mut().unwrap().remove("exp");
    let mut flipped = URL_SAFE_NO_PAD.decode(signature).unwrap();
    flipped[7] ^= 1;
    let flipped = URL_SAFE_NO_PAD.encode(flipped);
    for (what, token, why) in [
        ("over", changed("exp", json!(now() - 1)), "ExpiredSignature"),
        (
            "not yet",
            changed("nbf", json!(now() + 600)),
            "ImmatureSignature",
        ),
        (
            "for others",
            changed("aud", json!("somebody")),
            "InvalidAudience",
        ),
        ("for nobody", changed("aud", json!([])), "InvalidAudience"),
        (
            "of another domain",
            changed("sub", json!("spiffe://example.com/ci/build")),
            "trust domain",
        ),
        (
            "of a longer domain",
            changed("sub", json!("spiffe://example.org.evil/ci/build")),
            "trust domain",
        ),
        (
            "of no path",
            changed("sub", json!("spiffe://example.org")),
            "has a path",
        ),
        (
            "of dots",
            changed("sub", json!("spiffe://example.org/../build")),
            "no path of a SPIFFE id",
        ),
        ("of no id", changed("sub", json!("build")), "begins with"),
        ("without end", signed(Some("one"), &without), "exp"),
        (
            "of an unknown key",
            signed(Some("two"), &claims()),
            "a key that is not in",
        ),
        ("of no key", signed(None, &claims()), "names no key"),
        (
            "with another body",
            format!("{head}.{other_body}.{signature}"),
            "InvalidSignature",
        ),
        (
            "without signature",
            format!("{head}.{body}."),
            "InvalidSignature",
        ),
        (
            "with a changed signature",
            format!("{head}.{body}.{flipped}"),
            "InvalidSignature",
        ),
        (
            "of algorithm none",
            format!("{none}.{body}."),
            "it is no JWT",
        ),
        ("of a symmetric algorithm", confused, "InvalidAlgorithm"),
        (
            "that must be understood",
            signed_under(&critical, &claims()),
            "not known here",
        ),
        ("empty", String::new(), "it is no JWT"),
        ("long", "a".repeat(100_000), "too long"),
    ] {
        refused_for(client.identify(&token), why, what);
        let wanted = Acquire::new(["**"], ["read"]);
        assert_eq!(code(client.acquire(&wanted)), Code::Denied, "{what}");
    }
    client.identify(&good).unwrap();
    drop(client);
    running.stop();
}

#[test]
fn a_rule_that_cannot_be_checked_is_refused_at_the_start() {
    let stage = Stage::prepare(&[]);
    let refused = start(&stage, options(&stage, POLICY)).unwrap_err();
    assert!(refused.contains("no trust bundle"), "{refused}");
    let stage = Stage::prepare(&[]);
    let other = POLICY.replace("example.org", "example.com");
    let refused = start(&stage, options(&stage, &other).trust_bundle(trusted())).unwrap_err();
    assert!(refused.contains("trust domain"), "{refused}");
    let parse = |text: &str| TrustBundle::parse("example.org", "handfast", text.as_bytes());
    for bad in [
        "",
        "{}",
        "{\"keys\":[]}",
        "{\"keys\":[{\"use\":\"jwt-svid\"}]}",
        // A symmetric key is no key of a bundle: who may check could sign.
        "{\"keys\":[{\"use\":\"jwt-svid\",\"kty\":\"oct\",\"kid\":\"a\",\"k\":\"AAAA\"}]}",
    ] {
        assert!(parse(bad).is_err(), "{bad}");
    }
    let text = bundle().to_string();
    assert!(TrustBundle::parse("Example.org", "a", text.as_bytes()).is_err());
    assert!(TrustBundle::parse("example.org", "", text.as_bytes()).is_err());
}

/// Asserts that an identity was refused, and why: another reason would hide that the right one is
/// never found.
fn refused_for<T: std::fmt::Debug>(said: Result<T, ClientError>, why: &str, what: &str) {
    let error = said.expect_err(what);
    assert_eq!(error.code(), Some(Code::Denied), "{what}: {error}");
    assert!(error.to_string().contains(why), "{what}: {error}");
}

/// What a broker says to an X.509-SVID, and whether it then gives a lease.
fn proved(client: &mut Client, svid: &X509Svid) -> (Option<Code>, bool) {
    let said = client.identify_x509(svid);
    if let Ok(id) = &said {
        assert_eq!(id, BUILD);
    }
    let wanted = Acquire::new(["**"], ["read"]).bind("user");
    let got = client.acquire(&wanted).is_ok();
    (said.err().and_then(|error| error.code()), got)
}

#[test]
fn b12_an_x509_svid_with_its_key_proves_an_id() {
    let stage = Stage::prepare(&[]);
    let running = start(&stage, options(&stage, POLICY).trust_bundle(trusted())).unwrap();
    for name in ["p256", "p384", "ed25519", "rsa"] {
        let mut client = Client::connect(stage.socket()).unwrap();
        assert_eq!(proved(&mut client, &svid(name)), (None, true), "{name}");
        // For this connection alone.
        let mut other = Client::connect(stage.socket()).unwrap();
        let wanted = Acquire::new(["**"], ["read"]).bind("user");
        assert_eq!(code(other.acquire(&wanted)), Code::Denied, "{name}");
    }
    running.stop();
}

#[test]
fn b12_certificates_that_are_not_good_prove_nothing() {
    let stage = Stage::prepare(&[]);
    let running = start(&stage, options(&stage, POLICY).trust_bundle(trusted())).unwrap();
    let no_key = "was not made with the certificate's key";
    let no_workload = "not for a workload's signatures";
    let refused = |svid: &X509Svid, why: &str, what: &str| {
        let mut client = Client::connect(stage.socket()).unwrap();
        refused_for(client.identify_x509(svid), why, what);
        let wanted = Acquire::new(["**"], ["read"]).bind("user");
        assert_eq!(code(client.acquire(&wanted)), Code::Denied, "{what}");
    };
    for (name, why) in [
        ("foreign", "UnknownIssuer"),
        ("other_domain", "trust domain"),
        ("two_names", "not exactly one URI"),
        ("no_name", "not exactly one URI"),
        ("authority", no_workload),
        ("server_only", "RequiredEkuNotFound"),
        ("signs_others", no_workload),
        ("signs_lists", no_workload),
        ("signs_nothing", no_workload),
        ("over", "CertExpired"),
        ("below_leaf", "EndEntityUsedAsCa"),
        ("below_narrow", "NameConstraintViolation"),
    ] {
        refused(&svid(name), why, name);
    }
    // Without the certificate between it and the root; with another's key.
    let leaf = X509Svid::from_pem(&pem("p256.pem"), &pem("p256.key.pem")).unwrap();
    let stolen = X509Svid::from_pem(&pem("p384.pem"), &pem("p256.key.pem")).unwrap();
    let mixed = X509Svid::from_pem(&pem("ed25519.pem"), &pem("rsa.key.pem")).unwrap();
    refused(&leaf, "UnknownIssuer", "a leaf alone");
    refused(&stolen, no_key, "another's certificate");
    refused(&mixed, no_key, "another kind of key");
    running.stop();
}

/// Asks and answers by hand.
fn identify(client: &mut Client, proof: &Value) -> Option<Code> {
    let said: Result<Value, ClientError> = client.call("Identify", proof);
    said.err().and_then(|error| error.code())
}

/// A proof as the public description says it is made, without this crate's own code.
fn proof(name: &str, said: &Value) -> Value {
    proof_in(
        b"handfast-broker proof of an X.509-SVID, 1\0handfast\0",
        name,
        said,
    )
}

fn proof_in(context: &[u8], name: &str, said: &Value) -> Value {
    let nonce = STANDARD.decode(said["nonce"].as_str().unwrap()).unwrap();
    let mut text = context.to_vec();
    text.extend(nonce);
    let key = crate::svids::der(&pem(&format!("{name}.key.pem")));
    let random = ring::rand::SystemRandom::new();
    let signing = &ring::signature::ECDSA_P384_SHA384_ASN1_SIGNING;
    let key = EcdsaKeyPair::from_pkcs8(signing, &key, &random).unwrap();
    let signature = key.sign(&random, &text).unwrap();
    let chain = [STANDARD.encode(crate::svids::der(&pem(&format!("{name}.pem"))))];
    json!({ "x509_svid": chain, "signature": STANDARD.encode(signature) })
}

#[test]
fn b12_a_signature_is_for_one_nonce_of_one_connection() {
    let stage = Stage::prepare(&[]);
    let running = start(&stage, options(&stage, POLICY).trust_bundle(trusted())).unwrap();
    let mut client = Client::connect(stage.socket()).unwrap();
    let mut other = Client::connect(stage.socket()).unwrap();
    let challenge =
        |client: &mut Client| -> Value { client.call("Challenge", &json!({})).unwrap() };
    // Nobody asked for a nonce.
    let nothing = json!({ "nonce": STANDARD.encode([0; 32]) });
    assert_eq!(
        identify(&mut client, &proof("p384", &nothing)),
        Some(Code::Denied)
    );
    let said = challenge(&mut client);
    assert_ne!(said, challenge(&mut other));
    let good = proof("p384", &said);
    // Another connection's nonce, then the right one, then the same again, then an older one.
    assert_eq!(identify(&mut other, &good), Some(Code::Denied));
    assert_eq!(identify(&mut client, &good), None);
    assert_eq!(identify(&mut client, &good), Some(Code::Denied));
    let older = proof("p384", &challenge(&mut client));
    challenge(&mut client);
    assert_eq!(identify(&mut client, &older), Some(Code::Denied));
    // A try that fails uses the nonce up.
    let said = challenge(&mut client);
    assert_eq!(identify(&mut client, &older), Some(Code::Denied));
    assert_eq!(
        identify(&mut client, &proof("p384", &said)),
        Some(Code::Denied)
    );
    // Signed for something else: for nothing, for another broker, in another version.
    for context in [
        &b""[..],
        b"handfast-broker proof of an X.509-SVID, 1\0another\0",
        b"handfast-broker proof of an X.509-SVID, 2\0handfast\0",
    ] {
        let said = challenge(&mut client);
        let other = proof_in(context, "p384", &said);
        assert_eq!(identify(&mut client, &other), Some(Code::Denied));
    }
    // The certificate alone, and both kinds at once.
    let mut bare = proof("p384", &challenge(&mut client));
    bare["signature"] = json!("");
    assert_eq!(identify(&mut client, &bare), Some(Code::Denied));
    bare.as_object_mut().unwrap().remove("signature");
    assert_eq!(identify(&mut client, &bare), Some(Code::InvalidParameter));
    let mut both = proof("p384", &challenge(&mut client));
    both["svid"] = json!(signed(Some("one"), &claims()));
    assert_eq!(identify(&mut client, &both), Some(Code::InvalidParameter));
    drop((client, other));
    running.stop();
}

/// A broker whose bundle is in a file, and what reads it.
pub(crate) fn with_file(stage: &Stage) -> Running {
    let path = stage.dir.join("bundle.json");
    std::fs::write(&path, bundle().to_string()).unwrap();
    let (ours, theirs) = std::os::unix::net::UnixStream::pair().unwrap();
    std::thread::spawn(move || serve_bundle(theirs, &BundleSource::File(path)));
    let reader = BundleReader::new(ours).unwrap();
    let options = options(stage, POLICY).trust_bundle(trusted());
    start(stage, options.bundle_reader(reader)).unwrap()
}

#[test]
fn b12_a_bundle_that_changes_counts_and_what_left_it_vouches_for_nobody() {
    let stage = Stage::prepare(&[]);
    let running = with_file(&stage);
    let wanted = Acquire::new(["**"], ["read"]).bind("user");
    let mut by_token = Client::connect(stage.socket()).unwrap();
    by_token.identify(&signed(Some("one"), &claims())).unwrap();
    let mut by_root = Client::connect(stage.socket()).unwrap();
    by_root.identify_x509(&svid("p256")).unwrap();
    assert_eq!(running.read_bundle(), Ok(false));
    // Something that is no bundle changes nothing, and is said.
    let path = stage.dir.join("bundle.json");
    for bad in ["", "{\"keys\":[", "nonsense"] {
        std::fs::write(&path, bad).unwrap();
        assert!(running.read_bundle().is_err(), "{bad}");
    }
    by_token.acquire(&wanted).unwrap();
    let lease = by_root.acquire(&wanted).unwrap().lease_id;
    // The root is another one; the key of tokens stays.
    let mut other = bundle();
    other["keys"][0]["x5c"] = json!([root("stranger")]);
    std::fs::write(&path, other.to_string()).unwrap();
    running.read_bundle().unwrap();
    by_token.acquire(&wanted).unwrap();
    assert_eq!(code(by_root.acquire(&wanted)), Code::Denied);
    assert_eq!(code(by_root.open(&lease, "top.txt")), Code::Denied);
    assert_eq!(
        proved(&mut by_root, &svid("p256")),
        (Some(Code::Denied), false)
    );
    assert_eq!(proved(&mut by_root, &svid("foreign")), (None, true));
    by_root.open(&lease, "top.txt").unwrap();
    // By itself, without being asked to.
    other["keys"].as_array_mut().unwrap().pop();
    std::fs::write(&path, other.to_string()).unwrap();
    crate::stage::until("the bundle to be read again", || {
        by_token.acquire(&wanted).is_err()
    });
    assert_eq!(code(by_token.acquire(&wanted)), Code::Denied);
    drop((by_token, by_root));
    running.stop();
}
