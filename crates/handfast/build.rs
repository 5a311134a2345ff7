//! Gives the one question about the platform a short name: `cfg(supported)`.
//!
//! Elsewhere the crate builds to the parser, the types, and a root that answers `Unsupported`.
//! `--cfg handfast_unsupported` makes that build on Linux, so that it can be checked there.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rustc-check-cfg=cfg(supported)");
    let linux = std::env::var("CARGO_CFG_TARGET_OS").is_ok_and(|os| os == "linux");
    let refused = std::env::var_os("CARGO_CFG_HANDFAST_UNSUPPORTED").is_some();
    if linux && !refused {
        println!("cargo::rustc-cfg=supported");
    }
}
