//! The tools in one table: names, arguments, hints. What a client is told and what a call is
//! checked against come from here.
//!
//! Names, titles, arguments and hints are the reference server's; the descriptions are our own
//! words. `search_content`, `expectedVersion` and `offset` are additions.

mod check;
mod json;
mod more;

pub(crate) use json::list;
pub(crate) use more::{AUDIT, MORE};

/// What an argument may be.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Kind {
    Text,
    Number,
    /// With the default false.
    Flag,
    /// Texts; at least one.
    SomeTexts,
    /// Texts; the default is none.
    AnyTexts,
    /// `name` or `size`, the default is `name`.
    SortBy,
    /// Pairs of `oldText` and `newText`.
    Edits,
}

/// One argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Argument {
    pub(crate) name: &'static str,
    pub(crate) kind: Kind,
    pub(crate) required: bool,
    pub(crate) about: Option<&'static str>,
}

/// What a tool does to files.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Hints {
    Reads,
    Writes { idempotent: bool, destructive: bool },
}

/// One tool.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Tool {
    pub(crate) name: &'static str,
    pub(crate) title: &'static str,
    pub(crate) about: &'static str,
    pub(crate) arguments: &'static [Argument],
    pub(crate) hints: Hints,
    pub(crate) output: Output,
}

/// What a tool answers.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) enum Output {
    Text,
    /// Media blocks instead of text.
    Media,
    /// A text, and what became of an archive.
    Archive,
}

const fn required(name: &'static str, kind: Kind) -> Argument {
    Argument {
        name,
        kind,
        required: true,
        about: None,
    }
}

const fn optional(name: &'static str, kind: Kind, about: &'static str) -> Argument {
    Argument {
        name,
        kind,
        required: false,
        about: Some(about),
    }
}

const fn described(argument: Argument, about: &'static str) -> Argument {
    Argument {
        about: Some(about),
        ..argument
    }
}

const PATH: Argument = required("path", Kind::Text);
const TAIL: Argument = optional("tail", Kind::Number, "Give only the last N lines");
const HEAD: Argument = optional("head", Kind::Number, "Give only the first N lines");
const OFFSET: Argument = optional(
    "offset",
    Kind::Number,
    "Begin at this byte; a read that was cut says where to go on",
);
const CURSOR: Argument = optional(
    "cursor",
    Kind::Text,
    "Go on where an answer was cut: its `next`",
);
const START_LINE: Argument = optional("startLine", Kind::Number, "Begin at this line, from 1");
const END_LINE: Argument = optional("endLine", Kind::Number, "End with this line");
const LINE_NUMBERS: Argument = optional(
    "lineNumbers",
    Kind::Flag,
    "Put the number of each line before it",
);
const SKIP_IGNORED: Argument = optional(
    "skipIgnored",
    Kind::Flag,
    "Leave out what .gitignore and .ignore name",
);
const EXPECTED: Argument = optional(
    "expectedVersion",
    Kind::Text,
    "Do it only if the file is still this version: the `version` of the answer that showed it",
);
const EXCLUDE: Argument = Argument {
    name: "excludePatterns",
    kind: Kind::AnyTexts,
    required: false,
    about: None,
};

const READ_TEXT: &[Argument] = &[
    PATH,
    TAIL,
    HEAD,
    OFFSET,
    CURSOR,
    START_LINE,
    END_LINE,
    LINE_NUMBERS,
];

const READS: Hints = Hints::Reads;

const fn writes(idempotent: bool, destructive: bool) -> Hints {
    Hints::Writes {
        idempotent,
        destructive,
    }
}

const fn tool(
    name: &'static str,
    title: &'static str,
    about: &'static str,
    arguments: &'static [Argument],
    hints: Hints,
) -> Tool {
    Tool {
        name,
        title,
        about,
        arguments,
        hints,
        output: Output::Text,
    }
}

/// Every tool, in the order in which they are listed.
pub(crate) const TOOLS: &[Tool] = &[
    tool(
        "read_file",
        "Read File (Deprecated)",
        "The old name of read_text_file. Use that one.",
        READ_TEXT,
        READS,
    ),
    tool(
        "read_text_file",
        "Read Text File",
        "Give a file as text: all of it, or with head or tail only its first or last lines, or with \
         startLine and endLine the lines between. Bytes that are not UTF-8 are shown as replacement \
         characters. Works inside the allowed directories only.",
        READ_TEXT,
        READS,
    ),
    Tool {
        output: Output::Media,
        ..tool(
            "read_media_file",
            "Read Media File",
            "Give a file in base64 with its MIME type: pictures and sound as such, everything else \
             as an embedded resource. Works inside the allowed directories only.",
            &[PATH],
            READS,
        )
    },
    tool(
        "read_multiple_files",
        "Read Multiple Files",
        "Give several files as text in one answer, each under its path. A file that cannot be read \
         is named with the reason; the others are given all the same. \
         Works inside the allowed directories only.",
        &[described(
            required("paths", Kind::SomeTexts),
            "The files to read, each inside an allowed directory",
        )],
        READS,
    ),
    tool(
        "write_file",
        "Write File",
        "Create a file, or replace all of its content in one step. Missing directories are not \
         made. Works inside the allowed directories only.",
        &[
            PATH,
            required("content", Kind::Text),
            EXPECTED,
            optional(
                "overwrite",
                Kind::Flag,
                "Replace the file although only a part of it was read",
            ),
        ],
        writes(true, true),
    ),
    tool(
        "edit_file",
        "Edit File",
        "Replace passages of a text file and show what changed as a diff. Each passage must be in \
         the file; blanks at the ends of lines may differ. If one is not found, nothing is changed. \
         Works inside the allowed directories only.",
        &[
            PATH,
            required("edits", Kind::Edits),
            optional("dryRun", Kind::Flag, "Only show the diff, change nothing"),
            optional(
                "replaceAll",
                Kind::Flag,
                "Replace every place that fits, not only the first",
            ),
            EXPECTED,
        ],
        writes(false, true),
    ),
    tool(
        "create_directory",
        "Create Directory",
        "Make a directory and the missing ones above it. One that is there already is fine. \
         Works inside the allowed directories only.",
        &[PATH],
        writes(true, false),
    ),
    tool(
        "list_directory",
        "List Directory",
        "List what a directory holds, one [DIR] or [FILE] a line. \
         Works inside the allowed directories only.",
        &[PATH, CURSOR, SKIP_IGNORED],
        READS,
    ),
    tool(
        "list_directory_with_sizes",
        "List Directory with Sizes",
        "List what a directory holds, with sizes and totals. \
         Works inside the allowed directories only.",
        &[
            PATH,
            optional(
                "sortBy",
                Kind::SortBy,
                "Order by name, or by size with the largest first",
            ),
            CURSOR,
            SKIP_IGNORED,
        ],
        READS,
    ),
    tool(
        "directory_tree",
        "Directory Tree",
        "Give a directory with everything below it as JSON: name, type, and for directories their \
         children. Works inside the allowed directories only.",
        &[
            PATH,
            EXCLUDE,
            optional("depth", Kind::Number, "Enter no more levels than this"),
            SKIP_IGNORED,
        ],
        READS,
    ),
    tool(
        "move_file",
        "Move File",
        "Move or rename a file or a directory. Nothing is replaced: a destination that exists is \
         an error. Works inside the allowed directories only.",
        &[
            required("source", Kind::Text),
            required("destination", Kind::Text),
            EXPECTED,
        ],
        writes(false, true),
    ),
    tool(
        "search_files",
        "Search Files",
        "Find files and directories below a directory whose relative path fits a glob pattern, such \
         as *.md for the top or **/*.md for all levels. Gives full paths. \
         Works inside the allowed directories only.",
        &[
            PATH,
            required("pattern", Kind::Text),
            EXCLUDE,
            CURSOR,
            SKIP_IGNORED,
        ],
        READS,
    ),
    tool(
        "get_file_info",
        "Get File Info",
        "Tell size, times, type and permissions of a file or directory, without its content. \
         Works inside the allowed directories only.",
        &[PATH],
        READS,
    ),
    tool(
        "list_allowed_directories",
        "List Allowed Directories",
        "Tell which directories can be reached. Everything below them can be too.",
        &[],
        READS,
    ),
    tool(
        "search_content",
        "Search Content",
        "Find lines that fit a regular expression in a file, or in the files below a directory, as \
         path:line:text. Skips binary files and what ignore files name. \
         Works inside the allowed directories only.",
        &[
            PATH,
            described(
                required("pattern", Kind::Text),
                "A regular expression; (?i) at its beginning ignores case",
            ),
            optional(
                "include",
                Kind::Text,
                "Look only at files whose relative path fits this glob",
            ),
            EXCLUDE,
            optional(
                "maxResults",
                Kind::Number,
                "Stop after this many matches; 200 otherwise",
            ),
            optional(
                "contextLines",
                Kind::Number,
                "Show this many lines before and after each match, as path-line-text",
            ),
            optional(
                "multiline",
                Kind::Flag,
                "Let a match reach over several lines: `.` fits their ends, `^` and `$` each line",
            ),
            optional(
                "includeIgnored",
                Kind::Flag,
                "Look also into what ignore files name",
            ),
            CURSOR,
        ],
        READS,
    ),
];

/// Which tools a server offers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Offer {
    /// None that changes files; such a tool is known, and refused.
    pub(crate) read_only: bool,
    pub(crate) audit: bool,
    /// Changes are kept in an overlay.
    pub(crate) overlay: bool,
    pub(crate) delete: bool,
    /// A proposal may be committed.
    pub(crate) commits: bool,
    /// Switched off by name.
    pub(crate) without: Vec<String>,
}

impl Offer {
    /// The tool of a name.
    pub(crate) fn find(&self, name: &str) -> Option<&'static Tool> {
        self.all().find(|tool| tool.name == name)
    }

    fn all(&self) -> impl Iterator<Item = &'static Tool> {
        TOOLS
            .iter()
            .chain(MORE.iter())
            .chain(self.audit.then_some(&AUDIT))
            .filter(|tool| match tool.name {
                "delete_file" => self.delete,
                "list_changes" | "propose_changes" => self.overlay,
                _ => true,
            })
            .filter(|tool| !self.without.iter().any(|name| name == tool.name))
    }
}

/// Whether there is a tool of this name in any server.
pub(crate) fn exists(name: &str) -> bool {
    let mut all = TOOLS.iter().chain(MORE.iter()).chain([&AUDIT]);
    all.any(|tool| tool.name == name)
}

impl Tool {
    /// Whether it changes files.
    pub(crate) fn changes(&self) -> bool {
        self.hints != Hints::Reads
    }
}
