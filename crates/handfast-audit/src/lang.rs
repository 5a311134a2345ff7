//! The languages that are understood, and how files name them.

use std::fmt;

/// A source language.
#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub enum Lang {
    /// Python.
    Python,
    /// JavaScript.
    JavaScript,
    /// TypeScript.
    TypeScript,
    /// TypeScript with JSX.
    Tsx,
    /// Go.
    Go,
    /// Rust.
    Rust,
    /// C.
    C,
    /// C++.
    Cpp,
    /// Java.
    Java,
}

impl Lang {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Python,
        Self::JavaScript,
        Self::TypeScript,
        Self::Tsx,
        Self::Go,
        Self::Rust,
        Self::C,
        Self::Cpp,
        Self::Java,
    ];

    /// The language of a file, by its name.
    #[must_use]
    pub fn of_path(path: &str) -> Option<Self> {
        let name = path.rsplit('/').next().unwrap_or(path);
        let (stem, extension) = name.rsplit_once('.')?;
        if stem.is_empty() {
            return None;
        }
        Some(match extension {
            "py" | "pyi" | "pyw" => Self::Python,
            "js" | "mjs" | "cjs" | "jsx" => Self::JavaScript,
            "ts" | "mts" | "cts" => Self::TypeScript,
            "tsx" => Self::Tsx,
            "go" => Self::Go,
            "rs" => Self::Rust,
            "c" | "h" => Self::C,
            "cc" | "cpp" | "cxx" | "hpp" | "hh" | "hxx" | "C" => Self::Cpp,
            "java" => Self::Java,
            _ => return None,
        })
    }

    /// The language of a text: by its name, or by the interpreter that its first line names.
    #[must_use]
    pub fn detect(path: &str, text: &[u8]) -> Option<Self> {
        let by_name = Self::of_path(path);
        let name = path.rsplit('/').next().unwrap_or(path);
        if by_name.is_some() || name.trim_start_matches('.').contains('.') {
            return by_name;
        }
        let line = text
            .strip_prefix(b"#!")?
            .split(|byte| *byte == b'\n')
            .next()?;
        let line = String::from_utf8_lossy(&line[..line.len().min(200)]);
        line.split(['/', ' ', '\t', '\r']).find_map(|word| {
            let word = word.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
            match word {
                "python" | "pypy" => Some(Self::Python),
                "node" | "nodejs" | "bun" => Some(Self::JavaScript),
                "deno" | "ts-node" | "tsx" => Some(Self::TypeScript),
                _ => None,
            }
        })
    }

    /// The language by the name people type: `py`, `typescript`, `c++`.
    #[must_use]
    pub fn of_name(name: &str) -> Option<Self> {
        Some(match name.to_ascii_lowercase().as_str() {
            "python" | "py" => Self::Python,
            "javascript" | "js" | "node" => Self::JavaScript,
            "typescript" | "ts" => Self::TypeScript,
            "tsx" => Self::Tsx,
            "go" | "golang" => Self::Go,
            "rust" | "rs" => Self::Rust,
            "c" => Self::C,
            "c++" | "cpp" | "cxx" => Self::Cpp,
            "java" => Self::Java,
            _ => return None,
        })
    }

    /// The family whose knowledge base it uses: `javascript` for TypeScript, `c` for C++.
    #[must_use]
    pub fn family(self) -> &'static str {
        match self {
            Self::Python => "python",
            Self::JavaScript | Self::TypeScript | Self::Tsx => "javascript",
            Self::Go => "go",
            Self::Rust => "rust",
            Self::C | Self::Cpp => "c",
            Self::Java => "java",
        }
    }

    /// Whether a string parameter or field has a static type, so that only emptiness is open.
    #[must_use]
    pub fn has_static_strings(self) -> bool {
        matches!(
            self,
            Self::Go | Self::Rust | Self::C | Self::Cpp | Self::Java
        )
    }

    /// Whether an absolute right operand of the usual join discards the root.
    #[must_use]
    pub fn absolute_operand_discards_root(self) -> bool {
        matches!(self, Self::Python | Self::Rust | Self::Cpp)
    }

    /// Whether the language has anchored operations (`openat`, `dir_fd`, `os.Root`, …).
    #[must_use]
    pub fn has_anchored_operations(self) -> bool {
        !matches!(
            self,
            Self::JavaScript | Self::TypeScript | Self::Tsx | Self::Java
        )
    }

    /// The grammar.
    pub(crate) fn grammar(self) -> tree_sitter::Language {
        match self {
            Self::Python => tree_sitter_python::LANGUAGE.into(),
            Self::JavaScript => tree_sitter_javascript::LANGUAGE.into(),
            Self::TypeScript => tree_sitter_typescript::LANGUAGE_TYPESCRIPT.into(),
            Self::Tsx => tree_sitter_typescript::LANGUAGE_TSX.into(),
            Self::Go => tree_sitter_go::LANGUAGE.into(),
            Self::Rust => tree_sitter_rust::LANGUAGE.into(),
            Self::C => tree_sitter_c::LANGUAGE.into(),
            Self::Cpp => tree_sitter_cpp::LANGUAGE.into(),
            Self::Java => tree_sitter_java::LANGUAGE.into(),
        }
    }
}

impl fmt::Display for Lang {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Python => "python",
            Self::JavaScript => "javascript",
            Self::TypeScript => "typescript",
            Self::Tsx => "tsx",
            Self::Go => "go",
            Self::Rust => "rust",
            Self::C => "c",
            Self::Cpp => "c++",
            Self::Java => "java",
        })
    }
}
