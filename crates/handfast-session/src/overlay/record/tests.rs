//! What is written is read back.

use handfast::Timestamp;

use super::*;

#[test]
fn changes_survive_the_round_trip() {
    let file = |content| NodeEntry {
        was: Was::File("v1.x".into()),
        now: Now::File(FileNode {
            content,
            origin: Some((b"a/b".to_vec(), "v1.y".into())),
        }),
    };
    let times = DirTimes {
        accessed: None,
        modified: Some(Timestamp {
            seconds: -5,
            nanoseconds: 999_999_999,
        }),
    };
    let changes = vec![
        Change::Put {
            path: b"a/\xff".to_vec(),
            entry: file(ContentLocation::Object {
                id: 7,
                sealed: true,
                linked: None,
            }),
        },
        Change::Put {
            path: b"l".to_vec(),
            entry: file(ContentLocation::Object {
                id: 8,
                sealed: false,
                linked: Some(9),
            }),
        },
        Change::Put {
            path: b"s".to_vec(),
            entry: file(ContentLocation::Object {
                id: 8,
                sealed: true,
                linked: Some(10),
            }),
        },
        Change::DirTimes {
            path: b"t".to_vec(),
            times,
        },
        Change::Move {
            from: b"x".to_vec(),
            to: b"y".to_vec(),
            was: Was::Dir(BTreeMap::from([(b"n".to_vec(), Was::Link(b"t".to_vec()))])),
            left: Some(NodeEntry {
                was: Was::Moved(Box::new(Was::Kept)),
                now: Now::Gone,
            }),
        },
        Change::Put {
            path: b"d".to_vec(),
            entry: NodeEntry {
                was: Was::Kept,
                now: Now::Dir(DirNode {
                    id: 3,
                    origin: None,
                    mode: Some(0o700),
                    old_mode: Some(0),
                    times: Some(times),
                    touched: Moment::default(),
                    children: BTreeMap::from([(b"c".to_vec(), file(ContentLocation::Base))]),
                }),
            },
        },
        Change::Seal { but: vec![1, 2] },
        Change::DirMode {
            path: b"m".to_vec(),
            mode: 0o755,
            old: Some(0o1750),
        },
        Change::DirMode {
            path: b"m".to_vec(),
            mode: 0o755,
            old: None,
        },
        Change::Exchange {
            one: b"1".to_vec(),
            other: b"2".to_vec(),
            was_one: Was::Absent,
            was_other: Was::Kept,
        },
        Change::Part {
            path: b"p".to_vec(),
            digest: "00ff".into(),
            undo: None,
        },
        Change::Part {
            path: b"p".to_vec(),
            digest: "00ff".into(),
            undo: Some(8),
        },
        Change::Undo {
            records: vec![UndoMark {
                record: 3,
                commit: 9,
                pack: 0,
                bytes: 7,
            }],
        },
        Change::Settled,
    ];
    assert_eq!(read(&write(&changes)).unwrap(), changes);
}

#[test]
fn a_cut_record_is_an_error_and_never_a_panic() {
    let bytes = write(&[Change::Drop {
        path: b"abc".to_vec(),
    }]);
    for end in 1..bytes.len() {
        assert!(read(&bytes[..end]).is_err());
    }
    assert!(read(&[200]).is_err());
}

#[test]
fn a_tree_comes_in_records_no_longer_than_they_must_be() {
    // Directories of the base that were removed with all that was in them.
    let was = |number: usize| {
        let names = (0..number).map(|n| (format!("{n:05}").into_bytes(), Was::Kept));
        Was::Dir(names.collect())
    };
    let mut tree = Tree::new();
    for number in 0..600 {
        let entry = NodeEntry {
            was: was(if number == 300 { 20_000 } else { 200 }),
            now: Now::Gone,
        };
        let path = format!("{number:03}").into_bytes();
        tree.apply(Change::Put { path, entry }).unwrap();
    }
    let records = of_tree(&tree);
    let longest = records.iter().map(Vec::len).max().unwrap();
    let mut alone = Writer::default();
    write_was(&mut alone, &was(20_000));
    assert!(longest < alone.bytes.len() + 100, "{longest}");
    let mut back = Tree::new();
    for record in &records {
        for change in read(record).unwrap() {
            back.apply(change).unwrap();
        }
    }
    assert_eq!(back, tree);
}
