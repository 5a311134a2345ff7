//! Open flags and modes, folded from whatever spells them.

use crate::interp::Interp;
use crate::term::{Term, Vid};

/// What an open was asked to do.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct OpenFlags {
    pub(crate) write: bool,
    pub(crate) create: bool,
    pub(crate) truncate: bool,
    pub(crate) exclusive: bool,
    pub(crate) append: bool,
    pub(crate) no_follow: bool,
    pub(crate) non_blocking: bool,
    pub(crate) directory: bool,
    pub(crate) beneath: bool,
    pub(crate) no_symlinks: bool,
    /// Windows' way to open the link itself.
    pub(crate) reparse_point: bool,
    /// Flags that could not be made out.
    pub(crate) unknown: bool,
}

impl OpenFlags {
    pub(crate) fn set(&mut self, name: &str) {
        let name = name.rsplit(['.', ':']).next().unwrap_or(name);
        let short = name.strip_prefix("O_").unwrap_or(name);
        match short {
            "WRONLY" | "RDWR" | "WRITE" | "write" => self.write = true,
            "CREAT" | "CREATE" | "create" => self.create = true,
            "TRUNC" | "TRUNCATE_EXISTING" | "truncate" => self.truncate = true,
            "EXCL" | "create_new" | "excl" | "CREATE_NEW" => {
                self.exclusive = true;
                self.create = true;
            }
            "APPEND" | "append" => self.append = true,
            "NOFOLLOW" | "NOFOLLOW_LINKS" | "nofollow" | "NOFOLLOW_ANY" => {
                self.no_follow = true;
                self.no_symlinks |= short == "NOFOLLOW_ANY";
            }
            "NONBLOCK" | "NDELAY" => self.non_blocking = true,
            "DIRECTORY" | "directory" => self.directory = true,
            "TMPFILE" | "tmpfile" => {
                self.exclusive = true;
                self.create = true;
                self.write = true;
            }
            "RESOLVE_BENEATH" | "BENEATH" | "RESOLVE_IN_ROOT" | "IN_ROOT" | "beneath" => {
                self.beneath = true
            }
            "RESOLVE_NO_SYMLINKS" | "NO_SYMLINKS" | "no_symlinks" => {
                self.no_symlinks = true;
                self.no_follow = true;
            }
            "FILE_FLAG_OPEN_REPARSE_POINT" => self.reparse_point = true,
            _ => {}
        }
    }

    /// A mode in letters: Python, C and Node spell them nearly alike.
    pub(crate) fn set_mode(&mut self, mode: &str) {
        let first = mode.chars().next();
        match first {
            Some('w') => {
                self.write = true;
                self.create = true;
                self.truncate = true;
            }
            Some('x') => {
                self.write = true;
                self.create = true;
                self.exclusive = true;
            }
            Some('a') => {
                self.write = true;
                self.create = true;
                self.append = true;
            }
            _ => {}
        }
        if mode.contains('+') {
            self.write = true;
        }
        if mode.contains('x') {
            self.exclusive = true;
            self.truncate = false;
        }
    }
}

impl Interp<'_> {
    /// Options that stand anywhere among the arguments: `CREATE_NEW`, `Set.of(WRITE, APPEND)`. What
    /// is said replaces what a call does by itself, links apart.
    pub(super) fn fold_options(&self, given: &[Vid], flags: &mut OpenFlags) {
        let mut said = OpenFlags::default();
        let mut pending = given.to_vec();
        while let Some(vid) = pending.pop() {
            match self.terms.get(vid) {
                Term::List(parts) => pending.extend(parts),
                Term::Global { of, .. } => pending.push(*of),
                Term::Config { .. } | Term::Flags(_) => self.fold_flags(vid, &mut said),
                Term::Undefined(name) => said.set(name),
                _ => {}
            }
        }
        if said.write || said.create || said.append {
            said.write = true;
            *flags = said;
        } else {
            flags.no_follow |= said.no_follow;
        }
    }

    /// Folds a value into flags.
    pub(super) fn fold_flags(&self, vid: Vid, flags: &mut OpenFlags) {
        match self.terms.get(vid) {
            Term::Flags(names) => {
                for name in names {
                    flags.set(name);
                }
            }
            Term::Str(mode) => flags.set_mode(mode),
            Term::Global { of, .. } => self.fold_flags(*of, flags),
            Term::Builder { flags: set, .. } => {
                for (name, value) in set {
                    match self.terms.get(*value) {
                        Term::Bool(true) => flags.set(name),
                        Term::Bool(false) => {}
                        _ => self.fold_flags(*value, flags),
                    }
                }
            }
            Term::Config { label, .. } => flags.set(label),
            Term::Object { .. } => {}
            Term::Null | Term::Num(_) => {}
            Term::Phi(parts) => {
                // What holds on every way; writing counts if it may happen.
                let mut all: Option<OpenFlags> = None;
                for part in parts {
                    let mut one = OpenFlags::default();
                    self.fold_flags(*part, &mut one);
                    all = Some(match all {
                        None => one,
                        Some(before) => OpenFlags {
                            write: before.write | one.write,
                            create: before.create | one.create,
                            truncate: before.truncate | one.truncate,
                            append: before.append | one.append,
                            exclusive: before.exclusive & one.exclusive,
                            no_follow: before.no_follow & one.no_follow,
                            non_blocking: before.non_blocking & one.non_blocking,
                            directory: before.directory & one.directory,
                            beneath: before.beneath & one.beneath,
                            no_symlinks: before.no_symlinks & one.no_symlinks,
                            reparse_point: before.reparse_point & one.reparse_point,
                            unknown: before.unknown | one.unknown,
                        },
                    });
                }
                if let Some(all) = all {
                    *flags = OpenFlags {
                        unknown: all.unknown,
                        ..all
                    };
                }
            }
            _ => flags.unknown = true,
        }
    }
}
