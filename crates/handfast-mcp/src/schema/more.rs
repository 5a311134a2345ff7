//! The tools that the reference server does not have, but for `search_content`.

use super::{
    Argument, CURSOR, EXCLUDE, EXPECTED, Kind, Output, PATH, READS, Tool, optional, required, tool,
    writes,
};

/// What users of the reference ask for, and it does not have.
pub(crate) const MORE: &[Tool] = &[
    tool(
        "append_file",
        "Append to File",
        "Add text to the end of a file, which is made if it is missing. \
         Works inside the allowed directories only.",
        &[PATH, required("content", Kind::Text)],
        writes(false, false),
    ),
    tool(
        "copy_file",
        "Copy File",
        "Copy a file with its permissions. Nothing is replaced: a destination that exists is an \
         error. Works inside the allowed directories only.",
        &[
            required("source", Kind::Text),
            required("destination", Kind::Text),
        ],
        writes(false, false),
    ),
    Tool {
        output: Output::Archive,
        ..tool(
            "extract_archive",
            "Extract Archive",
            "Extract a tar (also in gzip, bzip2, xz or zstd) or a zip. The archive is judged to its \
             end first, and one refused member refuses all of it unless leaveOutRefused is true; the \
             answer lists what was refused and why. Without merge, the destination is a new directory \
             that appears whole. Works inside the allowed directories only.",
            &[
                required("source", Kind::Text),
                required("destination", Kind::Text),
                optional(
                    "stripComponents",
                    Kind::Number,
                    "Take this many leading segments off every name",
                ),
                Argument {
                    name: "only",
                    kind: Kind::AnyTexts,
                    required: false,
                    about: Some("Extract only these members and what is below them"),
                },
                optional(
                    "keepLinks",
                    Kind::Flag,
                    "Make links that stay inside; otherwise links are refused",
                ),
                optional(
                    "merge",
                    Kind::Flag,
                    "Extract into a directory that is there; names that are taken are refused",
                ),
                optional(
                    "replace",
                    Kind::Flag,
                    "With merge: replace files that are there",
                ),
                optional(
                    "leaveOutRefused",
                    Kind::Flag,
                    "Leave refused members out and extract the others",
                ),
                optional("dryRun", Kind::Flag, "Only tell what would be refused"),
            ],
            writes(false, true),
        )
    },
    tool(
        "delete_file",
        "Delete File",
        "Delete a file, or a link itself. Directories are not deleted. \
         Works inside the allowed directories only.",
        &[PATH, EXPECTED],
        writes(false, true),
    ),
    tool(
        "list_changes",
        "List Changes",
        "List what was changed in the overlay and is not on disk yet, one change a line.",
        &[CURSOR],
        READS,
    ),
    tool(
        "propose_changes",
        "Propose Changes",
        "Say that what was changed in the overlay is ready for the person who decides, and get an id \
         for it. The person may be asked in the client: the answer says what came of it. With the id, ask \
         whether it still waits.",
        &[optional(
            "id",
            Kind::Text,
            "The id of an earlier proposal: tells whether it waits, was decided or is another one now",
        )],
        READS,
    ),
];

/// Only where the operator asks for it.
pub(crate) const AUDIT: Tool = tool(
    "audit_paths",
    "Audit Paths",
    "Look at source files below a path, or at one file, for places where a path from outside \
     reaches a file operation, and answer which guards are there and which are missing, each with \
     its file and line. Nothing is executed. Works inside the allowed directories only.",
    &[PATH, EXCLUDE],
    READS,
);
