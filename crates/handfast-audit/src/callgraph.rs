//! Who calls whom, by name: which functions are entries, and which can reach a path operation.

use std::collections::{BTreeMap, HashMap, HashSet};

use crate::calls::{Called, calls_in_statement};
use crate::ir::{Expr, ExprKind, Stmt, StmtKind, Sym};
use crate::kb::{Family, Knowledge};
use crate::program::Program;
use crate::quick::Quick;
use crate::term::FnId;

/// Calls of a whole program, by the last part of their names.
#[derive(Debug, Default)]
pub(crate) struct CallGraph {
    /// Functions that some other function surely calls.
    called: HashSet<FnId, Quick>,
    /// Functions from which a path operation can be reached, by file.
    reaching: Vec<Vec<bool>>,
}

type ByName = BTreeMap<&'static str, HashMap<Sym, Vec<FnId>, Quick>>;

/// Which functions a call can mean.
enum Targets {
    These(Vec<FnId>),
    /// A method of the class around it, or of one that is related to it.
    Own,
    /// Anything of that name that can be in sight.
    Any,
}

/// Who calls what, until it is known who reaches an operation.
#[derive(Default)]
struct Callers {
    /// By the function that is surely meant.
    exact: HashMap<FnId, Vec<FnId>, Quick>,
    /// By the name of a method of something, per family.
    by_name: ByName,
    /// By the name of a method of the same object.
    own: ByName,
    /// Functions that call an operation themselves.
    found: Vec<FnId>,
}

impl CallGraph {
    pub(crate) fn new(program: &Program, knowledge: &Knowledge) -> Self {
        let mut graph = Self::default();
        let mut callers = Callers::default();
        let methods = methods_in_use(program, knowledge);
        for (file, source) in program.files.iter().enumerate() {
            let file = u32::try_from(file).unwrap_or(u32::MAX);
            let family = source.lang.family();
            let known = Operations {
                rows: knowledge.family(source.lang),
                methods: &methods[&(family, unit(&source.path))],
            };
            for (index, function) in source.module.functions.iter().enumerate() {
                let id = (file, u32::try_from(index).unwrap_or(u32::MAX));
                let is_code = !source.is_test && !function.is_test;
                graph.calls_of(program, &known, id, is_code, &mut callers);
            }
            let count = source.module.functions.len();
            graph.reaching.push(vec![false; count]);
        }
        graph.spread(program, callers);
        graph
    }

    fn calls_of(
        &mut self,
        program: &Program,
        known: &Operations<'_>,
        id: FnId,
        is_code: bool,
        callers: &mut Callers,
    ) {
        let function = program.function(id);
        let family = program.file(id.0).lang.family();
        let mut reaches = false;
        let mut seen: HashSet<String, Quick> = HashSet::default();
        let mut pending: Vec<&Stmt> = function.body.iter().collect();
        while let Some(statement) = pending.pop() {
            let mut tell = |call: Called<'_>| {
                reaches = reaches
                    || known.has(program, id.0, &call)
                    || known.is_given(program, id.0, &call);
                // A function that is handed over may be called by any code that gets it.
                for arg in call.given {
                    held_function(program, id, &arg.value, callers);
                }
                if is_from_table(program, id, &call) {
                    let top = program.file(id.0).module.top;
                    let top = (id.0, u32::try_from(top).unwrap_or(u32::MAX));
                    callers.exact.entry(top).or_default().push(id);
                }
                if family == "java" && is_functional(program, id.0, &call) {
                    for (index, function) in program.file(id.0).module.functions.iter().enumerate()
                    {
                        if &*function.name == "<closure>" {
                            let closure = (id.0, u32::try_from(index).unwrap_or(u32::MAX));
                            callers.exact.entry(closure).or_default().push(id);
                        }
                    }
                }
                let written = call.callee.dotted();
                if !seen.insert(written.unwrap_or_else(|| format!(".{}", call.last))) {
                    return;
                }
                match targets(program, id, &call) {
                    Targets::These(all) => {
                        for target in all {
                            if is_code && target != id {
                                self.called.insert(target);
                            }
                            callers.exact.entry(target).or_default().push(id);
                        }
                    }
                    Targets::Own => {
                        let own = callers.own.entry(family).or_default();
                        own.entry(call.last).or_default().push(id);
                    }
                    Targets::Any => {
                        let by_name = callers.by_name.entry(family).or_default();
                        by_name.entry(call.last).or_default().push(id);
                    }
                }
            };
            calls_in_statement(statement, &mut pending, &mut tell, &mut |_| {});
        }
        // Functions in tables and lists are called by the code that looks them up.
        let mut tables: Vec<&Expr> = Vec::new();
        let mut pending: Vec<&Stmt> = function.body.iter().collect();
        while let Some(statement) = pending.pop() {
            // `run = remove;`: what the name is called for later.
            if let StmtKind::Assign { value, .. } = &statement.kind
                && is_plain_name(value)
            {
                held_function(program, id, value, callers);
            }
            calls_in_statement(statement, &mut pending, &mut |_| {}, &mut |expr| {
                if matches!(expr.kind, ExprKind::List(_) | ExprKind::Dict(_)) {
                    tables.push(expr);
                }
            });
        }
        for table in tables {
            match &table.kind {
                ExprKind::List(parts) => {
                    for part in parts {
                        held_function(program, id, part, callers);
                    }
                }
                ExprKind::Dict(pairs) => {
                    for (_, value) in pairs {
                        held_function(program, id, value, callers);
                    }
                }
                _ => {}
            }
        }
        if reaches {
            callers.found.push(id);
        }
    }

    /// From the functions that call a path operation themselves to all that call those.
    fn spread(&mut self, program: &Program, callers: Callers) {
        let Callers {
            exact,
            by_name,
            own,
            mut found,
        } = callers;
        while let Some(id) = found.pop() {
            let known = &mut self.reaching[id.0 as usize][id.1 as usize];
            if std::mem::replace(known, true) {
                continue;
            }
            let function = program.function(id);
            let family = program.file(id.0).lang.family();
            found.extend(exact.get(&id).into_iter().flatten());
            let named = by_name.get(family).and_then(|by| by.get(&function.name));
            let is_only = program.unique_method(id.0, &function.name) == Some(id);
            for caller in named.into_iter().flatten() {
                let in_sight =
                    is_only && program.connected(caller.0, id.0) || sees(program, caller.0, id.0);
                if !self.reaches(*caller) && in_sight {
                    found.push(*caller);
                }
            }
            let mine = own.get(family).and_then(|by| by.get(&function.name));
            for caller in mine.into_iter().flatten() {
                if is_related(program, *caller, id) {
                    if *caller != id {
                        self.called.insert(id);
                    }
                    if !self.reaches(*caller) {
                        found.push(*caller);
                    }
                }
            }
            // What happens in a closure happens in the function around it.
            if let Some(parent) = function.parent {
                found.push((id.0, u32::try_from(parent).unwrap_or(u32::MAX)));
            }
        }
    }

    /// Whether some other function surely calls this one.
    pub(crate) fn is_called(&self, id: FnId) -> bool {
        self.called.contains(&id)
    }

    pub(crate) fn reaches(&self, id: FnId) -> bool {
        self.reaching[id.0 as usize][id.1 as usize]
    }

    /// Some function of the file reaches a path operation.
    pub(crate) fn any_reaches(&self, file: u32) -> bool {
        self.reaching[file as usize].contains(&true)
    }
}

/// A function as a value may be called by the code that holds it.
fn held_function(program: &Program, id: FnId, value: &Expr, callers: &mut Callers) {
    match &value.kind {
        ExprKind::Name(name) => {
            for target in program.plain_targets(id.0, name) {
                callers.exact.entry(target).or_default().push(id);
            }
        }
        ExprKind::Field(_, name) => {
            let family = program.file(id.0).lang.family();
            let by_name = callers.by_name.entry(family).or_default();
            by_name.entry(name.clone()).or_default().push(id);
        }
        ExprKind::Ref(inner) | ExprKind::Cast(inner, _) => {
            held_function(program, id, inner, callers);
        }
        _ => {}
    }
}

/// The one method of a function as an object: `command.run(x)`, `names.apply(x)`.
fn is_functional(program: &Program, file: u32, call: &Called<'_>) -> bool {
    const NAMES: [&str; 8] = [
        "apply", "accept", "test", "run", "call", "handle", "get", "execute",
    ];
    matches!(call.callee.kind, ExprKind::Field(..))
        && call.args <= 2
        && (NAMES.contains(&&*call.last) && &*call.last != "get"
            || program
                .file(file)
                .module
                .functions
                .iter()
                .any(|function| function.name == call.last && function.body.is_empty()))
}

fn is_plain_name(value: &Expr) -> bool {
    match &value.kind {
        ExprKind::Name(_) => true,
        ExprKind::Ref(inner) | ExprKind::Cast(inner, _) => is_plain_name(inner),
        _ => false,
    }
}

/// `routes[i](x)`, `route.run(x)` where `run` is a field: one of the functions that the module holds.
fn is_from_table(program: &Program, id: FnId, call: &Called<'_>) -> bool {
    match &call.callee.kind {
        ExprKind::Index(..) => true,
        ExprKind::Field(_, name) => {
            let classes = &program.file(id.0).module.classes;
            classes
                .iter()
                .flat_map(|class| &class.fields)
                .any(|(field, ty)| field == name && ty.contains("func"))
        }
        _ => false,
    }
}

fn targets(program: &Program, id: FnId, call: &Called<'_>) -> Targets {
    let ExprKind::Field(base, _) = &call.callee.kind else {
        let mut found = program.plain_targets(id.0, &call.last);
        // A module-level name that holds what some function made: `thumbnail = cached(draw)`.
        if found.is_empty() && program.may_set_at_top(id.0, &call.last) {
            let top = program.file(id.0).module.top;
            found.push((id.0, u32::try_from(top).unwrap_or(u32::MAX)));
        }
        return Targets::These(found);
    };
    let Some(of) = base.dotted() else {
        return Targets::Any;
    };
    let function = program.function(id);
    let is_own = function.receiver.as_deref() == Some(&of) || matches!(&*of, "self" | "this");
    if is_own {
        return Targets::Own;
    }
    let last = of.rsplit('.').next().unwrap_or(&of);
    if last.starts_with(char::is_uppercase) {
        let class = match (last, &function.class) {
            ("Self", Some(class)) => class.to_string(),
            _ => program.qualify(id.0, &of),
        };
        let found = program.method(id.0, &class, &call.last);
        let found = found.or_else(|| program.free_function(id.0, &format!("{of}.{}", call.last)));
        return Targets::These(found.into_iter().collect());
    }
    let first = of.split('.').next().unwrap_or(&of);
    let Some(target) = program.import(id.0, first) else {
        return Targets::Any;
    };
    // A function of a module, or a method of something that a module of the program has.
    match program.free_function(id.0, &format!("{of}.{}", call.last)) {
        Some(found) => Targets::These(vec![found]),
        None => {
            let (module, _) = target.rsplit_once('.').unwrap_or((target, ""));
            let is_ours = program.module_file(id.0, target).is_some()
                || program.module_file(id.0, module).is_some();
            if is_ours {
                Targets::Any
            } else {
                Targets::These(Vec::new())
            }
        }
    }
}

/// Two methods whose objects can be the same: of one class, or of a class and one it is made from.
fn is_related(program: &Program, one: FnId, two: FnId) -> bool {
    let class = |mut id: FnId| loop {
        let function = program.function(id);
        match (&function.class, function.parent) {
            (Some(class), _) => return Some(class.clone()),
            // A closure speaks of the object of the method around it.
            (None, Some(parent)) => id.1 = u32::try_from(parent).unwrap_or(u32::MAX),
            (None, None) => return None,
        }
    };
    match (class(one), class(two)) {
        (Some(a), Some(b)) => {
            program.connected(one.0, two.0) && a == b
                || program.derives(one.0, &a, &b)
                || program.derives(two.0, &b, &a)
        }
        // Methods that are put on objects one by one have no class that is written down.
        _ => one.0 == two.0,
    }
}

/// Whether a file can have objects from another: it imports it, or something that does.
fn sees(program: &Program, from: u32, to: u32) -> bool {
    if from == to {
        return true;
    }
    let near = match program.file(from).lang.family() {
        "c" | "java" => true,
        "go" | "rust" => {
            let (here, there) = (program.file(from).dir(), program.file(to).dir());
            here == there || here.starts_with(there) || there.starts_with(here)
        }
        _ => false,
    };
    let imports = |file: u32| program.imported_files(file);
    near || imports(from).binary_search(&to).is_ok()
        || imports(from)
            .iter()
            .any(|next| imports(*next).binary_search(&to).is_ok())
}

/// The names of path operations, temporary files and handles of one family.
struct Operations<'k> {
    rows: &'k Family,
    /// Those that are called on objects which the program can have.
    methods: &'k HashMap<&'k str, Receiver>,
}

impl Operations<'_> {
    /// Whether a call can be one of an operation. A function of a module or a type has to be called
    /// by its name; for a method the receiver may be anything.
    fn has(&self, program: &Program, file: u32, call: &Called<'_>) -> bool {
        let last = call.last.strip_suffix("Sync").unwrap_or(&call.last);
        let ExprKind::Field(base, _) = &call.callee.kind else {
            return self.has_plain(program, file, &call.last, last);
        };
        if !self.rows.is_sink_word(last) {
            return false;
        }
        let on_type = match &base.kind {
            ExprKind::Name(name) | ExprKind::Field(_, name) => name.starts_with(char::is_uppercase),
            _ => false,
        };
        // Replacing text takes two arguments, replacing a file one.
        let is_text = last == "replace" && call.args > 1;
        // What is saved without a place is a record.
        let is_text = is_text || last == "save" && call.args == 0;
        let is_method = match self.methods.get(last) {
            Some(Receiver::Any) => true,
            Some(Receiver::Path) => names_paths(&program.file(file).text),
            None => false,
        };
        !on_type && !is_text && is_method
            || call.callee.dotted().is_some_and(|dotted| {
                self.rows.is_sink(&dotted) || self.rows.is_sink(&program.qualify(file, &dotted))
            })
    }

    /// An operation is handed over as a value: `to_thread(open, name)`, `open.call(fs, name)`.
    fn is_given(&self, program: &Program, file: u32, call: &Called<'_>) -> bool {
        let through = match &call.callee.kind {
            ExprKind::Field(base, name) if matches!(&**name, "call" | "bind" | "apply") => {
                Some(&**base)
            }
            _ => None,
        };
        let given = call.given.iter().map(|arg| &arg.value);
        given.chain(through).any(|value| {
            let Some(dotted) = value.dotted() else {
                return false;
            };
            let full = program.qualify(file, &dotted);
            let full = full.replace(".promises.", ".");
            let bare = full.strip_suffix("Sync").unwrap_or(&full);
            self.rows.is_sink(&full) || self.rows.is_sink(bare)
        })
    }

    /// A plain name: imported, built in, or a variable that holds an operation.
    fn has_plain(&self, program: &Program, file: u32, name: &Sym, last: &str) -> bool {
        if let Some(target) = program.import(file, name) {
            return self.rows.is_sink(target);
        }
        if !self.rows.is_sink_word(last) || program.defines(file, name) {
            return false;
        }
        let is_javascript = program.file(file).lang.family() == "javascript";
        self.rows.is_sink(last) || is_javascript && self.rows.is_sink(&format!("fs.{last}"))
    }
}

/// The part of a tree that is built together, as far as a path tells: a crate, else all.
fn unit(path: &str) -> &str {
    path.rsplit_once("/src/").map_or("", |(unit, _)| unit)
}

/// What a method has to be called on to be an operation.
#[derive(Clone, Copy, Debug)]
enum Receiver {
    Any,
    /// A path object of Python; other objects have methods of the same name.
    Path,
}

/// A path object has a type that is named, or is kept in a constant.
fn names_paths(text: &str) -> bool {
    ["pathlib", "Path(", "_DIR", "_ROOT", "tmp_path"]
        .iter()
        .any(|word| text.contains(word))
}

/// Methods on types of packages that nothing imports cannot be meant.
fn methods_in_use<'p, 'k>(
    program: &'p Program,
    knowledge: &'k Knowledge,
) -> BTreeMap<(&'static str, &'p str), HashMap<&'k str, Receiver>> {
    let mut packages: BTreeMap<(&'static str, &str), HashSet<&str>> = BTreeMap::new();
    let mut out = BTreeMap::new();
    for source in &program.files {
        let of = (source.lang.family(), unit(&source.path));
        let of = packages.entry(of).or_default();
        for (_, target) in &source.module.imports {
            of.insert(target.split(['.', '/']).next().unwrap_or(target));
        }
    }
    for source in &program.files {
        let of = (source.lang.family(), unit(&source.path));
        out.entry(of).or_insert_with(|| {
            let there = |ty: &str| match ty.split_once('.') {
                Some(("pathlib", _)) | None => true,
                Some((package, _)) => packages[&of].contains(package),
            };
            let methods = knowledge.family(source.lang).sink_methods();
            methods
                .filter(|(_, types)| types.iter().any(|ty| there(ty)))
                .map(|(last, types)| {
                    let on_path = types.iter().all(|ty| ty.starts_with("pathlib."));
                    let on = if on_path {
                        Receiver::Path
                    } else {
                        Receiver::Any
                    };
                    (last, on)
                })
                .collect()
        });
    }
    out
}
