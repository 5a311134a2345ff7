//! Certificates for tests, which `tests/svids/make` made.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use handfast_broker::X509Svid;

pub(crate) fn pem(file: &str) -> Vec<u8> {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/svids");
    std::fs::read(std::path::Path::new(path).join(file)).unwrap()
}

/// What is in a PEM file with one object.
pub(crate) fn der(pem: &[u8]) -> Vec<u8> {
    let lines = str::from_utf8(pem).unwrap().lines();
    let body: String = lines.filter(|line| !line.starts_with('-')).collect();
    STANDARD.decode(body).unwrap()
}

/// The certificate of an authority, as a bundle has it.
pub(crate) fn root(name: &str) -> String {
    STANDARD.encode(der(&pem(&format!("{name}.pem"))))
}

/// The certificates between a leaf and its root, with the leaf first.
pub(crate) fn chain(name: &str) -> Vec<Vec<u8>> {
    let between: &[&str] = match name {
        "p256" => &["middle"],
        "below_narrow" => &["narrow"],
        "below_leaf" => &["p256", "middle"],
        _ => &[],
    };
    let all = [name].into_iter().chain(between.iter().copied());
    all.map(|name| der(&pem(&format!("{name}.pem")))).collect()
}

pub(crate) fn svid(name: &str) -> X509Svid {
    let key = der(&pem(&format!("{name}.key.pem")));
    X509Svid::from_der(chain(name), key).unwrap()
}
