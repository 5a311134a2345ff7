//! Gives the one question about the platform a short name: `cfg(supported)`.
//!
//! Elsewhere the crate is empty or answers `Unsupported`. `HANDFAST_UNSUPPORTED=1` makes that build on
//! Linux, so that it can be checked there. Every crate that asks has this file; a test compares them.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=HANDFAST_UNSUPPORTED");
    println!("cargo::rustc-check-cfg=cfg(supported)");
    let linux = std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux");
    let refused = std::env::var_os("HANDFAST_UNSUPPORTED").is_some();
    if linux && !refused {
        println!("cargo::rustc-cfg=supported");
    }
}
