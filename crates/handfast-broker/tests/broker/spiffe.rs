//! Workloads that prove a SPIFFE id.

#[cfg(not(feature = "spiffe"))]
#[test]
fn a_build_without_spiffe_takes_no_bundle() {
    let refused = handfast_broker::TrustBundle::parse("example.org", "handfast", b"{\"keys\":[]}")
        .unwrap_err();
    assert!(refused.contains("feature `spiffe`"), "{refused}");
}

#[cfg(feature = "spiffe")]
mod with {
    use std::time::{SystemTime, UNIX_EPOCH};

    use base64::Engine;
    use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
    use handfast_broker::{
        Acquire, Client, Code, Fence, Rulebook, Running, ServeOptions, TrustBundle, bind_socket,
    };
    use handfast_session::Policy;
    use jsonwebtoken::{Algorithm, EncodingKey, Header, encode};
    use serde_json::{Value, json};

    use crate::stage::{Stage, code};

    /// A key for these tests alone.
    const KEY: &str = "MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgknDfjT2VDLo7NKJDk0K2aF2I2pmKoxXFvY4JhrLL7FehRANCAARsdiucz9tEe+N07nE75C+JKVgcU/JGGZ0kS+JSYk6A7JkPTzlIgMrbL5jj/4OUw6RV+jb17Cb3W5XUpQtvCXWe";
    const X: &str = "bHYrnM_bRHvjdO5xO-QviSlYHFPyRhmdJEviUmJOgOw";
    const Y: &str = "mQ9POUiAytsvmOP_g5TDpFX6NvXsJvdbldSlC28JdZ4";
    const BUILD: &str = "spiffe://example.org/ci/build";

    fn bundle() -> Value {
        json!({ "keys": [
            { "use": "x509-svid", "kty": "EC", "crv": "P-256", "x": X, "y": Y, "x5c": ["AA=="] },
            { "use": "jwt-svid", "kty": "EC", "kid": "one", "crv": "P-256", "x": X, "y": Y },
        ]})
    }

    fn now() -> u64 {
        SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap()
            .as_secs()
    }

    fn claims() -> Value {
        json!({ "sub": BUILD, "aud": ["other", "handfast"], "exp": now() + 600 })
    }

    fn signed(kid: Option<&str>, claims: &Value) -> String {
        let mut header = Header::new(Algorithm::ES256);
        header.kid = kid.map(str::to_owned);
        let key = EncodingKey::from_ec_der(&STANDARD.decode(KEY).unwrap());
        encode(&header, claims, &key).unwrap()
    }

    const POLICY: &str = "version = 1\n[[root]]\nname = \"ws\"\npath = \"ROOT\"\nmount = \"/\"\nmode = \"read-write\"\n\
         [[allow]]\nspiffe_id = \"spiffe://example.org/ci/build\"\nverbs = [\"read\"]\n";

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
        let encoded = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
        let other_body = {
            let mut claims = claims();
            claims["sub"] = json!("spiffe://example.org/admin");
            encoded(&claims)
        };
        let none = encoded(&json!({ "alg": "none", "kid": "one" }));
        // The public key, which everybody knows, as the secret of a symmetric signature.
        let mut header = Header::new(Algorithm::HS256);
        header.kid = Some("one".to_owned());
        let confused = encode(&header, &claims(), &EncodingKey::from_secret(X.as_bytes())).unwrap();
        let mut without = claims();
        without.as_object_mut().unwrap().remove("exp");
        let mut flipped = URL_SAFE_NO_PAD.decode(signature).unwrap();
        flipped[7] ^= 1;
        let flipped = URL_SAFE_NO_PAD.encode(flipped);
        for (what, token) in [
            ("over", changed("exp", json!(now() - 1))),
            ("not yet", changed("nbf", json!(now() + 600))),
            ("for others", changed("aud", json!("somebody"))),
            ("for nobody", changed("aud", json!([]))),
            (
                "of another domain",
                changed("sub", json!("spiffe://example.com/ci/build")),
            ),
            (
                "of a longer domain",
                changed("sub", json!("spiffe://example.org.evil/ci/build")),
            ),
            ("of no path", changed("sub", json!("spiffe://example.org"))),
            (
                "of dots",
                changed("sub", json!("spiffe://example.org/../build")),
            ),
            ("of no id", changed("sub", json!("build"))),
            ("without end", signed(Some("one"), &without)),
            ("of an unknown key", signed(Some("two"), &claims())),
            ("of no key", signed(None, &claims())),
            (
                "with another body",
                format!("{head}.{other_body}.{signature}"),
            ),
            ("without signature", format!("{head}.{body}.")),
            (
                "with a changed signature",
                format!("{head}.{body}.{flipped}"),
            ),
            ("of algorithm none", format!("{none}.{body}.")),
            ("of a symmetric algorithm", confused),
            ("empty", String::new()),
            ("long", "a".repeat(100_000)),
        ] {
            assert_eq!(code(client.identify(&token)), Code::Denied, "{what}");
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
}
