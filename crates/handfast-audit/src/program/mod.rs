//! All files of one audit, and how names in them find each other.

mod bound;
pub(crate) mod changed;
mod imports;

use std::collections::{HashMap, HashSet};
use std::sync::{Mutex, OnceLock};

use crate::ir::{Class, Function, Module, Span, Sym};
use crate::lang::Lang;
use crate::quick::Quick;
use crate::term::FnId;

/// One file: as read, and lowered.
#[derive(Debug)]
pub(crate) struct SourceFile {
    /// Relative, with `/`, escaped for display.
    pub(crate) path: String,
    pub(crate) lang: Lang,
    pub(crate) text: String,
    pub(crate) module: Module,
    /// It is a test by its place or name.
    pub(crate) is_test: bool,
}

impl SourceFile {
    /// The text of one line, 1-based, without its end.
    pub(crate) fn line(&self, line: u32) -> &str {
        self.text
            .lines()
            .nth(line.saturating_sub(1) as usize)
            .unwrap_or_default()
    }

    pub(crate) fn stem(&self) -> &str {
        let name = self.path.rsplit('/').next().unwrap_or(&self.path);
        name.split('.').next().unwrap_or(name)
    }

    pub(crate) fn dir(&self) -> &str {
        self.path.rsplit_once('/').map_or("", |(dir, _)| dir)
    }
}

/// So many classes are tried in the place of the one that a method was written for.
const MAX_HEIRS: usize = 3;

/// What was found by the names that a file uses.
#[derive(Debug, Default)]
struct FoundNames {
    modules: HashMap<String, Option<u32>, Quick>,
    functions: HashMap<String, Option<FnId>, Quick>,
}

/// The files and an index over their functions.
#[derive(Debug, Default)]
pub(crate) struct Program {
    pub(crate) files: Vec<SourceFile>,
    functions: HashMap<Sym, Vec<FnId>, Quick>,
    classes: HashMap<Sym, Vec<(u32, usize)>, Quick>,
    /// Classes by the last part of the name of each of their bases.
    heirs: HashMap<String, Vec<(u32, Sym)>, Quick>,
    imports: Vec<HashMap<Sym, Sym, Quick>>,
    /// Names that the own statements of each file bind.
    tops: Vec<HashSet<Sym, Quick>>,
    /// Constructors by class, files by the last part of their module's name, files by directory.
    ctors: HashMap<Sym, Vec<FnId>, Quick>,
    modules: HashMap<String, Vec<u32>, Quick>,
    dirs: HashMap<String, Vec<u32>, Quick>,
    /// For each file, the files it imports from, and a number that connected files share.
    imported: Vec<Vec<u32>>,
    units: Vec<usize>,
    /// What names of each file mean, as far as somebody asked.
    found: Vec<Mutex<FoundNames>>,
    /// Files that register handlers, once somebody asked.
    registrars: OnceLock<Vec<u32>>,
    /// What the C files change, once somebody asked.
    changed: OnceLock<changed::Changed>,
}

impl Program {
    pub(crate) fn new(files: Vec<SourceFile>) -> Self {
        let mut program = Self::default();
        for (file, source) in files.iter().enumerate() {
            let file = u32::try_from(file).unwrap_or(u32::MAX);
            for (index, function) in source.module.functions.iter().enumerate() {
                let index = u32::try_from(index).unwrap_or(u32::MAX);
                let own = function.class.as_ref().filter(|_| function.is_ctor);
                if let Some(class) = own.or(function.makes.as_ref()) {
                    program
                        .ctors
                        .entry(class.clone())
                        .or_default()
                        .push((file, index));
                }
                program
                    .functions
                    .entry(function.name.clone())
                    .or_default()
                    .push((file, index));
            }
            for (index, class) in source.module.classes.iter().enumerate() {
                for base in &class.bases {
                    let last = base.rsplit(['.', ':']).next().unwrap_or(base);
                    let heirs = program.heirs.entry(last.to_owned()).or_default();
                    heirs.push((file, class.name.clone()));
                }
                program
                    .classes
                    .entry(class.name.clone())
                    .or_default()
                    .push((file, index));
            }
            program
                .imports
                .push(source.module.imports.iter().cloned().collect());
            let mut bound = HashSet::default();
            bound::bound_in(&source.module.functions[source.module.top].body, &mut bound);
            program.tops.push(bound);
        }
        for (file, source) in files.iter().enumerate() {
            let file = u32::try_from(file).unwrap_or(u32::MAX);
            program
                .dirs
                .entry(source.dir().to_owned())
                .or_default()
                .push(file);
            let last = source.dir().rsplit('/').next().unwrap_or("").to_owned();
            for name in [source.stem().to_owned(), last] {
                program.modules.entry(name).or_default().push(file);
            }
        }
        program.files = files;
        program.connect();
        let count = program.files.len();
        program.found.resize_with(count, Mutex::default);
        program
    }

    pub(crate) fn file(&self, file: u32) -> &SourceFile {
        &self.files[file as usize]
    }

    pub(crate) fn function(&self, id: FnId) -> &Function {
        &self.files[id.0 as usize].module.functions[id.1 as usize]
    }

    /// Files that tell a framework by name which functions answer requests.
    pub(crate) fn registrars(&self) -> &[u32] {
        const WORDS: [&str; 6] = [
            "urlpatterns",
            "add_url_rule",
            "add_route",
            "add_view",
            "re_path(",
            "add_api_route",
        ];
        self.registrars.get_or_init(|| {
            let count = u32::try_from(self.files.len()).unwrap_or(u32::MAX);
            (0..count)
                .filter(|file| {
                    let text = &self.file(*file).text;
                    WORDS.iter().any(|word| text.contains(word))
                })
                .collect()
        })
    }

    /// `path/file.py:12`.
    pub(crate) fn place(&self, at: Span) -> String {
        format!("{}:{}", self.file(at.file).path, at.line)
    }

    /// What a local name stands for, when it was imported.
    pub(crate) fn import(&self, file: u32, name: &str) -> Option<&Sym> {
        self.imports.get(file as usize)?.get(name)
    }

    /// Everything imported with a star.
    pub(crate) fn star_imports(&self, file: u32) -> impl Iterator<Item = &Sym> {
        let imports = &self.files[file as usize].module.imports;
        imports
            .iter()
            .filter(|(name, _)| &**name == "*")
            .map(|(_, target)| target)
    }

    /// Replaces the first part of a dotted name by what it was imported as.
    pub(crate) fn qualify(&self, file: u32, dotted: &str) -> String {
        let (first, rest) = dotted
            .split_once('.')
            .map_or((dotted, None), |(a, b)| (a, Some(b)));
        match (self.import(file, first), rest) {
            (Some(target), Some(rest)) => format!("{target}.{rest}"),
            (Some(target), None) => target.to_string(),
            (None, _) => dotted.to_owned(),
        }
    }

    /// Whether a module's own statements, or functions of it, can give a name a value.
    pub(crate) fn may_set_at_top(&self, file: u32, name: &str) -> bool {
        let module = &self.file(file).module;
        module.declared.iter().any(|known| **known == *name)
            || self.tops[file as usize].contains(name)
    }

    pub(crate) fn class(&self, file: u32, name: &str) -> Option<(u32, &Class)> {
        let name = name.rsplit(['.', ':']).next().unwrap_or(name);
        let found = self.classes.get(name)?;
        let best = found
            .iter()
            .find(|(of, _)| *of == file)
            .or_else(|| found.iter().find(|(of, _)| self.same_program(file, *of)))?;
        Some((best.0, &self.file(best.0).module.classes[best.1]))
    }

    /// Classes that inherit a method and put something else in the place of what it calls.
    pub(crate) fn overriding(&self, id: FnId) -> Vec<Sym> {
        let function = self.function(id);
        let heirs = function
            .class
            .as_ref()
            .and_then(|class| self.heirs.get(&**class));
        let Some(heirs) = heirs.filter(|_| !function.is_ctor && function.receiver.is_some()) else {
            return Vec::new();
        };
        let mut called: Vec<Sym> = Vec::new();
        crate::calls::each_call(
            &function.body,
            &mut |callee, _| match &callee.kind {
                crate::ir::ExprKind::Name(name) => called.push(name.clone()),
                crate::ir::ExprKind::Field(base, name)
                    if base.dotted().as_deref() == function.receiver.as_deref() =>
                {
                    called.push(name.clone());
                }
                _ => {}
            },
            &mut |_| {},
        );
        let has_own = |class: &Sym, name: &str| {
            let all = self
                .functions
                .get(name)
                .map(Vec::as_slice)
                .unwrap_or_default();
            all.iter().any(|of| {
                self.function(*of).class.as_ref() == Some(class) && self.same_program(id.0, of.0)
            })
        };
        let heirs = heirs
            .iter()
            .filter(|(file, _)| self.same_program(id.0, *file));
        let heirs = heirs.map(|(_, class)| class);
        let heirs = heirs.filter(|class| {
            !has_own(class, &function.name) && called.iter().any(|name| has_own(class, name))
        });
        heirs.take(MAX_HEIRS).cloned().collect()
    }

    /// Whether a class has another one among its bases, directly or not.
    pub(crate) fn derives(&self, file: u32, class: &str, base: &str) -> bool {
        let mut pending = vec![class.to_owned()];
        for _ in 0..24 {
            let Some(class) = pending.pop() else {
                return false;
            };
            let Some((_, known)) = self.class(file, &class) else {
                continue;
            };
            for of in &known.bases {
                let last = of.rsplit(['.', ':']).next().unwrap_or(of);
                if last == base {
                    return true;
                }
                pending.push(last.to_owned());
            }
        }
        false
    }

    /// A method of a class or one of its bases.
    pub(crate) fn method(&self, file: u32, class: &str, name: &str) -> Option<FnId> {
        let mut class = class.rsplit(['.', ':']).next().unwrap_or(class).to_owned();
        for _ in 0..6 {
            let candidates = self
                .functions
                .get(name)
                .map(Vec::as_slice)
                .unwrap_or_default();
            let fits = |id: &&FnId| {
                self.function(**id).class.as_deref() == Some(class.as_str())
                    && self.same_program(file, id.0)
            };
            let found = candidates.iter().filter(fits).min_by_key(|id| id.0 != file);
            if let Some(id) = found {
                return Some(*id);
            }
            let (_, known) = self.class(file, &class)?;
            class = known.bases.first()?.rsplit('.').next()?.to_owned();
        }
        None
    }

    /// The declared type of a field of a class or of one of its bases, and the file that declares it.
    pub(crate) fn field_type(&self, file: u32, class: &str, name: &str) -> Option<(u32, &Sym)> {
        let mut class = class.to_owned();
        for _ in 0..6 {
            let (of, known) = self.class(file, &class)?;
            if let Some((_, ty)) = known.fields.iter().find(|(field, _)| **field == *name) {
                return Some((of, ty));
            }
            class = known.bases.first()?.to_string();
        }
        None
    }

    /// A method of any class of a file.
    pub(crate) fn method_in_file(&self, file: u32, name: &str) -> Option<FnId> {
        let all = self.functions.get(name)?;
        all.iter().find(|id| id.0 == file).copied()
    }

    /// Of several functions with the same name in one class, the one that takes so many arguments.
    pub(crate) fn overload(&self, id: FnId, count: usize) -> FnId {
        let function = self.function(id);
        if function.params.len() == count || function.class.is_none() {
            return id;
        }
        let all = self.functions.get(&function.name);
        let fits = |other: &&FnId| {
            let one = self.function(**other);
            other.0 == id.0 && one.class == function.class && one.params.len() == count
        };
        all.into_iter().flatten().find(fits).copied().unwrap_or(id)
    }

    /// Another name of a type, in a file or beside it.
    pub(crate) fn is_named_type(&self, file: u32, name: &Sym) -> bool {
        let has = |file: u32| self.file(file).module.named.contains(name);
        has(file) || self.siblings(file).iter().any(|beside| has(*beside))
    }

    /// The constructor of a class.
    pub(crate) fn constructors(&self, file: u32, class: &str) -> Vec<FnId> {
        let found = self.ctors.get(class).map(Vec::as_slice).unwrap_or_default();
        let mut out: Vec<FnId> = found
            .iter()
            .copied()
            .filter(|id| self.same_program(file, id.0))
            .collect();
        out.sort_by_key(|id| (id.0 != file, *id));
        out
    }

    /// Names in two files can mean the same: of one language, and connected.
    fn same_program(&self, one: u32, two: u32) -> bool {
        self.file(one).lang.family() == self.file(two).lang.family() && self.connected(one, two)
    }

    /// A free function by a name as written in a file, following imports and re-exports.
    pub(crate) fn free_function(&self, file: u32, dotted: &str) -> Option<FnId> {
        let Some(known) = self.found.get(file as usize) else {
            return self.find_function(file, dotted);
        };
        let lock = || {
            known
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
        };
        if let Some(found) = lock().functions.get(dotted) {
            return *found;
        }
        let found = self.find_function(file, dotted);
        lock().functions.insert(dotted.to_owned(), found);
        found
    }

    fn find_function(&self, file: u32, dotted: &str) -> Option<FnId> {
        let mut file = file;
        let mut dotted = dotted.to_owned();
        for _ in 0..4 {
            let last = dotted.rsplit('.').next().unwrap_or(&dotted).to_owned();
            let is_plain = last == dotted;
            let source = self.file(file);
            if is_plain && let Some(id) = self.local(file, &last) {
                return Some(id);
            }
            let target = self.qualify(file, &dotted);
            // What a module gives as a whole: `module.exports = function …`.
            if is_plain
                && self.import(file, &last).is_some()
                && let Some(next) = self.module_file(file, &target)
                && let Some(index) = self.file(next).module.default
            {
                return Some((next, u32::try_from(index).unwrap_or(u32::MAX)));
            }
            let (module, name) = target.rsplit_once('.').unwrap_or(("", target.as_str()));
            if let Some(next) = self.module_file(file, module) {
                if let Some(id) = self.local(next, name) {
                    return Some(id);
                }
                // Re-exported: look again from there.
                let again = self.import(next, name).map(|target| target.to_string());
                if let Some(again) = again {
                    let direct = again.rsplit_once('.');
                    if let Some((module, name)) = direct
                        && let Some(there) = self.module_file(next, module)
                        && let Some(id) = self.local(there, name)
                    {
                        return Some(id);
                    }
                }
                let star = self.star_imports(next).find_map(|target| {
                    let there = self.module_file(next, target)?;
                    self.local(there, name)
                });
                if star.is_some() {
                    return star;
                }
            }
            if target == dotted {
                // One unit without imports: the same directory, or the whole of a C program.
                if is_plain && matches!(source.lang.family(), "go" | "c" | "rust") {
                    return self.nearby(file, &last);
                }
                if source.lang.family() == "rust" {
                    let module = dotted.rsplit('.').nth(1).unwrap_or("");
                    return self.in_module(file, module, &last);
                }
                return None;
            }
            let _ = &mut file;
            dotted = target;
        }
        None
    }

    fn local(&self, file: u32, name: &str) -> Option<FnId> {
        let candidates = self.functions.get(name)?;
        candidates
            .iter()
            .find(|id| {
                id.0 == file
                    && self.function(**id).class.is_none()
                    && self
                        .function(**id)
                        .parent
                        .is_none_or(|p| p == self.file(file).module.top)
            })
            .copied()
    }

    fn nearby(&self, file: u32, name: &str) -> Option<FnId> {
        let here = self.file(file);
        let mut found = self.functions.get(name)?.iter().filter(|id| {
            let there = self.file(id.0);
            there.lang.family() == here.lang.family()
                && self.function(**id).class.is_none()
                && (here.lang.family() == "c" || there.dir() == here.dir())
        });
        found.next().copied()
    }

    fn in_module(&self, file: u32, module: &str, name: &str) -> Option<FnId> {
        let here = self.file(file);
        self.functions
            .get(name)?
            .iter()
            .find(|id| {
                let there = self.file(id.0);
                there.lang.family() == here.lang.family()
                    && self.function(**id).class.is_none()
                    && (there.stem() == module
                        || there.dir().rsplit('/').next() == Some(module)
                        || module == "self"
                        || module == "super"
                        || module == "crate")
            })
            .copied()
    }

    /// Whether a file has a function of this name.
    pub(crate) fn defines(&self, file: u32, name: &str) -> bool {
        let of = self.functions.get(name);
        of.is_some_and(|all| all.iter().any(|id| id.0 == file))
    }

    /// The functions that a plain name can stand for in a call.
    pub(crate) fn plain_targets(&self, file: u32, name: &Sym) -> Vec<FnId> {
        let Some(candidates) = self.functions.get(name) else {
            return self.free_function(file, name).into_iter().collect();
        };
        let mut out: Vec<FnId> = candidates
            .iter()
            .copied()
            .filter(|id| id.0 == file)
            .collect();
        out.extend(self.free_function(file, name));
        out
    }

    /// All files of the directory of a file.
    pub(crate) fn siblings(&self, file: u32) -> &[u32] {
        self.dirs
            .get(self.file(file).dir())
            .map(Vec::as_slice)
            .unwrap_or_default()
    }

    /// The only method of this name in the language, if there is just one.
    pub(crate) fn unique_method(&self, file: u32, name: &str) -> Option<FnId> {
        let mut found = self.functions.get(name)?.iter().filter(|id| {
            self.same_program(file, id.0)
                && self.function(**id).class.is_some()
                && !self.file(id.0).is_test
        });
        let first = found.next()?;
        found.next().is_none().then_some(*first)
    }
}
