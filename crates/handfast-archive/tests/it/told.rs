//! What a log hears of an archive.

use std::sync::Mutex;

use handfast::{Decision, ErrorKind, Event, Phase, RecordError, Recorder, RelPath};
use handfast_archive::{Input, Options, Target, Telling, extract};
use sha2::Digest as _;

use crate::support::Place;
use crate::tar_bytes::Bytes;

/// Keeps what it hears, and says no to one phase if it was told to.
#[derive(Default)]
struct Log {
    heard: Mutex<Vec<Heard>>,
    refuses: Option<Phase>,
}

#[derive(Debug)]
struct Heard {
    id: u64,
    phase: Phase,
    destination: Option<String>,
    refused: Option<ErrorKind>,
    entries: Vec<String>,
}

impl Recorder for Log {
    fn record(&self, event: &Event<'_>) -> Result<(), RecordError> {
        if self.refuses == Some(event.phase) {
            return Err(RecordError::Refused("no".to_owned()));
        }
        assert_eq!(event.verb.name(), "extract");
        assert_eq!(event.path.to_string(), "out");
        assert_eq!(event.actor, Some("somebody"));
        let entries = event.entries.iter();
        self.heard.lock().unwrap().push(Heard {
            id: event.op_id,
            phase: event.phase,
            destination: event.destination.map(ToString::to_string),
            refused: match &event.decision {
                Decision::Allowed => None,
                Decision::Refused { kind, .. } => Some(*kind),
            },
            entries: entries
                .map(|entry| String::from_utf8(entry.path.clone()).unwrap())
                .collect(),
        });
        Ok(())
    }
}

fn told(place: &Place, archive: &[u8], log: &Log) -> Result<bool, handfast::Error> {
    let out = RelPath::parse("out").unwrap();
    let mut options = Options::new();
    options.telling = Some(Telling {
        recorder: log,
        actor: Some("somebody"),
    });
    let target = Target::new_dir(&place.root, &out);
    extract(Input::new(archive, &place.scratch), &target, options).map(|report| report.extracted)
}

fn many() -> (Vec<u8>, Vec<String>) {
    let names: Vec<String> = (0..600).map(|number| format!("d/{number}")).collect();
    let archive = names
        .iter()
        .fold(Bytes::new(), |bytes, name| bytes.file(name, b""));
    (archive.end(), names)
}

#[test]
fn an_archive_is_one_operation_with_its_digest_and_its_paths() {
    let (place, log) = (Place::new(), Log::default());
    let (archive, names) = many();
    assert!(told(&place, &archive, &log).unwrap());
    let heard = log.heard.into_inner().unwrap();
    let phases: Vec<Phase> = heard.iter().map(|it| it.phase).collect();
    let entries = Phase::Entries;
    assert_eq!(
        phases,
        [Phase::Intent, entries, entries, entries, Phase::Result]
    );
    let digest = sha2::Sha256::digest(&archive);
    let hex: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
    for it in &heard {
        assert_eq!(it.id, heard[0].id);
        assert_eq!(it.destination, Some(format!("sha256:{hex}")));
        assert_eq!(it.refused, None);
        assert!(it.entries.len() <= 256);
    }
    let all: Vec<String> = heard.into_iter().flat_map(|it| it.entries).collect();
    assert_eq!(all, names);
}

#[test]
fn a_refused_archive_is_one_refusal() {
    let (place, log) = (Place::new(), Log::default());
    let archive = Bytes::new().file("a", b"").file("../b", b"").end();
    assert!(!told(&place, &archive, &log).unwrap());
    let cut = Log::default();
    assert!(!told(&place, &archive[..700], &cut).unwrap());
    for (log, kind, has_digest) in [
        (log, ErrorKind::Escape, true),
        (cut, ErrorKind::Invalid, false),
    ] {
        let heard = log.heard.into_inner().unwrap();
        assert_eq!(heard.len(), 1, "{heard:?}");
        assert_eq!(heard[0].refused, Some(kind));
        assert_eq!(heard[0].destination.is_some(), has_digest);
    }
    assert!(place.is_untouched());
}

#[test]
fn what_cannot_be_told_is_not_extracted() {
    let (archive, _) = many();
    for phase in [Phase::Intent, Phase::Entries] {
        let place = Place::new();
        let log = Log {
            refuses: Some(phase),
            ..Log::default()
        };
        let error = told(&place, &archive, &log).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Denied);
        assert!(place.is_untouched(), "{phase:?}");
    }
}
