//! The small language-neutral form that every language is lowered to.
//!
//! Statements are structured, not basic blocks: branches, loops, `try`, scopes and early exits keep
//! their shape, and the interpreter follows each way out of them. What a lowering does not
//! understand becomes [`ExprKind::Opaque`] over the children it found, so that nothing is lost but
//! its meaning.

use std::sync::Arc;

/// An interned-enough name.
pub(crate) type Sym = Arc<str>;

/// Where something stands: a file of the program and a byte offset with its line.
#[derive(Clone, Copy, Debug, Default, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) struct Span {
    pub(crate) file: u32,
    /// 1-based.
    pub(crate) line: u32,
    pub(crate) end_line: u32,
    pub(crate) start: u32,
    pub(crate) end: u32,
}

/// One file, lowered.
#[derive(Debug, Default)]
pub(crate) struct Module {
    /// Local name → what it stands for: `np` → `numpy`, `join` → `os.path.join`.
    pub(crate) imports: Vec<(Sym, Sym)>,
    pub(crate) functions: Vec<Function>,
    /// Names of base classes, by class.
    pub(crate) classes: Vec<Class>,
    /// Index of the function that stands for the module's own statements.
    pub(crate) top: usize,
    pub(crate) damaged: bool,
    /// The function that importing the module as a whole gives.
    pub(crate) default: Option<usize>,
    /// Module-level names that are declared without a value.
    pub(crate) declared: Vec<Sym>,
    /// Other names of types: `type Slug string`.
    pub(crate) named: Vec<Sym>,
}

impl Module {
    /// A module of which nothing is known yet.
    pub(crate) fn empty(file: u32) -> Self {
        let top = Function {
            name: Sym::from("<module>"),
            class: None,
            params: Vec::new(),
            receiver: None,
            body: Vec::new(),
            decorators: Vec::new(),
            span: Span {
                file,
                ..Span::default()
            },
            is_public: false,
            is_ctor: false,
            makes: None,
            is_test: false,
            is_async: false,
            parent: None,
            damaged: false,
            is_macro: false,
        };
        Self {
            functions: vec![top],
            ..Self::default()
        }
    }
}

/// A class, struct or interface.
#[derive(Clone, Debug)]
pub(crate) struct Class {
    pub(crate) name: Sym,
    pub(crate) bases: Vec<Sym>,
    /// Declared fields with the text of their type.
    pub(crate) fields: Vec<(Sym, Sym)>,
}

/// A function, method or closure.
#[derive(Debug)]
pub(crate) struct Function {
    pub(crate) name: Sym,
    pub(crate) class: Option<Sym>,
    pub(crate) params: Vec<Param>,
    /// The name by which the object is known inside: `self`, `this`, a Go receiver.
    pub(crate) receiver: Option<Sym>,
    pub(crate) body: Vec<Stmt>,
    pub(crate) decorators: Vec<Expr>,
    pub(crate) span: Span,
    pub(crate) is_public: bool,
    pub(crate) is_ctor: bool,
    /// The class whose objects a free function makes: Go's `NewStore`.
    pub(crate) makes: Option<Sym>,
    pub(crate) is_test: bool,
    /// It runs when somebody waits for it.
    pub(crate) is_async: bool,
    /// A closure or nested function sees its parent's names.
    pub(crate) parent: Option<usize>,
    /// A syntax error lies inside.
    pub(crate) damaged: bool,
    /// Text that is put in where it is named.
    pub(crate) is_macro: bool,
}

/// A parameter.
#[derive(Clone, Debug)]
pub(crate) struct Param {
    pub(crate) name: Sym,
    /// The text of its type, as written.
    pub(crate) ty: Option<Sym>,
    /// Destructured names take fields of the parameter.
    pub(crate) pattern: Option<Box<Expr>>,
}

/// A statement.
#[derive(Clone, Debug)]
pub(crate) struct Stmt {
    pub(crate) kind: StmtKind,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) enum StmtKind {
    Expr(Expr),
    Assign {
        target: Expr,
        value: Expr,
    },
    If {
        cond: Expr,
        then: Vec<Stmt>,
        otherwise: Vec<Stmt>,
    },
    /// `while`, `loop`, C's `for`: the condition is `None` for an endless one.
    While {
        cond: Option<Expr>,
        step: Vec<Stmt>,
        body: Vec<Stmt>,
        /// The body runs before the first test.
        body_first: bool,
    },
    ForEach {
        target: Expr,
        iter: Expr,
        body: Vec<Stmt>,
        /// The first name of a pair is an index or a key.
        is_pair: bool,
    },
    Return(Option<Expr>),
    Throw(Option<Expr>),
    Break,
    Continue,
    Try {
        body: Vec<Stmt>,
        handlers: Vec<Handler>,
        finally: Vec<Stmt>,
    },
    /// `with`, `using`: each item is entered and surely left.
    With {
        items: Vec<(Expr, Option<Expr>)>,
        body: Vec<Stmt>,
    },
    /// Runs when the function is left, whichever way.
    Defer(Vec<Stmt>),
    /// Binds a nested function's name.
    Bind {
        name: Sym,
        function: usize,
    },
    Block(Vec<Stmt>),
}

/// `except X as e`, `catch (e)`.
#[derive(Clone, Debug)]
pub(crate) struct Handler {
    /// Empty: everything.
    pub(crate) types: Vec<Sym>,
    pub(crate) name: Option<Sym>,
    pub(crate) body: Vec<Stmt>,
    pub(crate) span: Span,
}

/// An expression.
#[derive(Clone, Debug)]
pub(crate) struct Expr {
    pub(crate) kind: ExprKind,
    pub(crate) span: Span,
}

#[derive(Clone, Debug)]
pub(crate) enum ExprKind {
    Name(Sym),
    Str(Sym),
    Num(i64),
    Bool(bool),
    Null,
    /// Pattern and flags.
    Regex(Sym, Sym),
    /// Interpolation, concatenation of adjacent parts.
    Concat(Vec<Expr>),
    Field(Box<Expr>, Sym),
    Index(Box<Expr>, Box<Expr>),
    /// `x[1:]`: a part of a string or list.
    Slice(Box<Expr>, Option<Box<Expr>>, Option<Box<Expr>>),
    Call {
        callee: Box<Expr>,
        args: Vec<Arg>,
        is_new: bool,
    },
    Binary(Operation, Box<Expr>, Box<Expr>),
    Not(Box<Expr>),
    Cond(Box<Expr>, Box<Expr>, Box<Expr>),
    List(Vec<Expr>),
    Dict(Vec<(Expr, Expr)>),
    /// `any(cond for target in iter)` and its kin: element, target, collection, filters.
    Comprehension {
        element: Box<Expr>,
        target: Box<Expr>,
        iter: Box<Expr>,
        filters: Vec<Expr>,
    },
    Lambda(usize),
    Await(Box<Expr>),
    /// Rust's `?`.
    Question(Box<Expr>),
    /// `x as T`, `T(x)` where it changes nothing of the value.
    Cast(Box<Expr>, Sym),
    Assign(Box<Expr>, Box<Expr>),
    /// `&x`, `*x`, parentheses: the same thing for our purposes.
    Ref(Box<Expr>),
    /// Rust `if let P = e`, match arms: variant name and the names it binds.
    IsVariant(Box<Expr>, Sym, Vec<Sym>),
    /// A block used as a value.
    Block(Vec<Stmt>, Option<Box<Expr>>),
    Opaque(Vec<Expr>),
}

#[derive(Clone, Debug)]
pub(crate) struct Arg {
    pub(crate) name: Option<Sym>,
    pub(crate) value: Expr,
}

#[derive(Clone, Copy, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) enum Operation {
    Add,
    Sub,
    Mul,
    /// `/` on numbers.
    Quot,
    /// `%` on numbers.
    Rem,
    /// `/` on paths.
    Div,
    /// `%` on format strings.
    Mod,
    BitOr,
    BitAnd,
    And,
    Or,
    /// `??`, and `or` as a default.
    Coalesce,
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    In,
    NotIn,
    Other,
}

impl Expr {
    pub(crate) fn new(kind: ExprKind, span: Span) -> Self {
        Self { kind, span }
    }

    /// `a.b.c` as text, when it is nothing but names.
    pub(crate) fn dotted(&self) -> Option<String> {
        match &self.kind {
            ExprKind::Name(name) => Some(name.to_string()),
            ExprKind::Field(base, name) => Some(format!("{}.{name}", base.dotted()?)),
            ExprKind::Ref(inner) | ExprKind::Await(inner) => inner.dotted(),
            _ => None,
        }
    }
}
