//! The languages that have colours, as far as colours go.

/// How a language looks, as far as colours go.
#[derive(Debug)]
pub(in crate::page) struct Language {
    /// Ends of file names, without the dot; or whole names. Between spaces.
    pub(super) names: &'static str,
    pub(super) line: &'static [&'static str],
    pub(super) block: Option<(&'static str, &'static str)>,
    pub(super) quotes: &'static [char],
    /// Quotes of texts that go on over lines.
    pub(super) long: &'static [&'static str],
    pub(super) keywords: &'static str,
    /// Whether `'a` may be something else than the beginning of a text.
    pub(super) has_lifetimes: bool,
}

const C_LIKE: &str = "abstract as async await bool boolean break case catch char class const continue default defer \
    delete do double else enum export extends extern false final finally float for func function \
    go goto if implements import in instanceof int interface let long map namespace new nil null \
    of override package private protected public range return select short signed sizeof static \
    struct super switch template this throw true try type typedef typeof undefined union unsigned \
    using val var virtual void volatile while yield";
const RUST: &str = "as async await break const continue crate dyn else enum extern false fn for if impl in let \
    loop match mod move mut pub ref return self Self static struct super trait true type unsafe \
    use where while";
const PYTHON: &str = "and as assert async await break class continue def del elif else except False finally for from \
    global if import in is lambda None nonlocal not or pass raise return True try while with yield";
const SHELL: &str = "begin case class def do done elif else end esac export false fi for function if in local \
    module nil null return set then true unless until while";
const SQL: &str = "and as by create delete drop from function group if insert into join local not null on or \
    order return select set table then update values where AND AS BY CREATE DELETE DROP FROM GROUP \
    INSERT INTO JOIN NOT NULL ON OR ORDER SELECT SET TABLE UPDATE VALUES WHERE";

/// Every language that has colours.
pub(super) const LANGUAGES: &[Language] = &[
    Language {
        names: "rs",
        line: &["//"],
        block: Some(("/*", "*/")),
        quotes: &[],
        long: &["\""],
        keywords: RUST,
        has_lifetimes: true,
    },
    Language {
        names: "c h cc cpp hpp js mjs cjs jsx ts tsx go java kt cs swift scala dart proto zig json css scss \
    php",
        line: &["//"],
        block: Some(("/*", "*/")),
        quotes: &['"', '\''],
        long: &["`"],
        keywords: C_LIKE,
        has_lifetimes: false,
    },
    Language {
        names: "py pyi",
        line: &["#"],
        block: None,
        quotes: &['"', '\''],
        long: &["\"\"\"", "'''"],
        keywords: PYTHON,
        has_lifetimes: false,
    },
    Language {
        names: "sh bash zsh fish rb toml yml yaml mk conf cfg ini pl nix tf Makefile Dockerfile .gitignore \
    .gitattributes .envrc .bashrc .zshrc",
        line: &["#"],
        block: None,
        quotes: &['"', '\''],
        long: &[],
        keywords: SHELL,
        has_lifetimes: false,
    },
    Language {
        names: "sql lua hs elm",
        line: &["--"],
        block: None,
        quotes: &['"', '\''],
        long: &[],
        keywords: SQL,
        has_lifetimes: false,
    },
    Language {
        names: "html xml svg vue md",
        line: &[],
        block: Some(("<!--", "-->")),
        quotes: &[],
        long: &[],
        keywords: "",
        has_lifetimes: false,
    },
];
