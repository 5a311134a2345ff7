//! What errors look like to programs.

use super::*;

#[test]
fn every_kind_has_its_own_name_and_sentence() {
    let names: std::collections::BTreeSet<_> =
        ErrorKind::ALL.iter().map(|kind| kind.name()).collect();
    let sentences: std::collections::BTreeSet<_> =
        ErrorKind::ALL.iter().map(|kind| kind.sentence()).collect();
    assert_eq!(names.len(), ErrorKind::ALL.len());
    assert_eq!(sentences.len(), ErrorKind::ALL.len());
}

#[test]
fn l4_no_error_looks_like_an_interrupted_call() {
    for kind in ErrorKind::ALL {
        assert_ne!(kind.io_kind(), io::ErrorKind::Interrupted, "{kind}");
    }
}

#[test]
fn l4_retry_is_advised_only_where_nothing_was_changed() {
    for kind in ErrorKind::ALL {
        for effect in [Effect::None, Effect::Visible, Effect::Unknown] {
            let error = Error::new(Verb::Read, "a", Fault::rule(kind, "").with_effect(effect));
            let passes = matches!(kind, ErrorKind::Raced | ErrorKind::Busy);
            assert_eq!(error.can_retry(), passes && effect == Effect::None);
        }
    }
}

#[cfg(supported)]
#[test]
fn the_source_is_what_the_system_said() {
    use std::error::Error as _;
    let fault = Fault::sys("openat", rustix::io::Errno::ACCESS);
    let error = Error::new(Verb::Read, "a", fault);
    let source = error
        .source()
        .and_then(|source| source.downcast_ref::<io::Error>());
    assert_eq!(
        source.map(io::Error::kind),
        Some(io::ErrorKind::PermissionDenied)
    );
    let error = Error::new(Verb::Read, "a", Fault::rule(ErrorKind::Kind, ""));
    assert!(error.source().is_none());
}

#[test]
fn io_error_keeps_the_kind_and_the_text() {
    let error = Error::new(Verb::Read, "a/b", Fault::rule(ErrorKind::Escape, ""));
    let text = error.to_string();
    let io: io::Error = error.into();
    assert_eq!(io.kind(), io::ErrorKind::PermissionDenied);
    assert_eq!(io.to_string(), text);
    let back = io
        .get_ref()
        .and_then(|inner| inner.downcast_ref::<Error>())
        .map(Error::kind);
    assert_eq!(back, Some(ErrorKind::Escape));
    // And it comes back whole.
    assert_eq!(Error::from(io).to_string(), text);
}

#[cfg(supported)]
#[test]
fn what_a_stream_said_becomes_an_error() {
    let full = io::Error::from(rustix::io::Errno::NOSPC);
    assert_eq!(Error::from(full).kind(), ErrorKind::Quota);
    let other = io::Error::other("no");
    assert_eq!(Error::from(other).kind(), ErrorKind::Io);
}
