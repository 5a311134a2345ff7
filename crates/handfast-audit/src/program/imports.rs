//! Which file an import means, and which files are connected by imports.

use std::collections::HashMap;

use super::Program;

impl Program {
    /// Whether every part of a module's name fits the path of a file; one part alone fits only nearby.
    fn is_meant(&self, from: u32, module: &str, there: u32) -> bool {
        let (here, there) = (self.file(from), self.file(there));
        let wanted: Vec<&str> = module
            .split(['.', '/'])
            .filter(|part| !part.is_empty())
            .collect();
        if let [_] = wanted.as_slice() {
            let (a, b) = (here.dir(), there.dir());
            return a.starts_with(b) || b.starts_with(a);
        }
        let mut parts: Vec<&str> = there.dir().split('/').collect();
        if wanted.last() == Some(&there.stem()) {
            parts.push(there.stem());
        }
        let fits = wanted.iter().rev().zip(parts.iter().rev());
        fits.take_while(|(a, b)| a == b).count() == wanted.len().min(parts.len())
    }

    fn find_imported(&self, file: u32) -> Vec<u32> {
        let mut out: Vec<u32> = Vec::new();
        for (_, target) in &self.file(file).module.imports {
            let outer = target.rsplit_once('.').map(|(module, _)| module);
            for module in std::iter::once(&**target).chain(outer) {
                let found = self.module_file(file, module);
                out.extend(found.filter(|there| self.is_meant(file, module, *there)));
            }
        }
        out.sort_unstable();
        out.dedup();
        out
    }

    /// The file that a module's name leads to.
    pub(crate) fn module_file(&self, from: u32, module: &str) -> Option<u32> {
        if module.is_empty() {
            return None;
        }
        let Some(known) = self.found.get(from as usize) else {
            return self.find_module(from, module);
        };
        let lock = || {
            known
                .lock()
                .unwrap_or_else(std::sync::PoisonError::into_inner)
        };
        if let Some(found) = lock().modules.get(module) {
            return *found;
        }
        let found = self.find_module(from, module);
        lock().modules.insert(module.to_owned(), found);
        found
    }

    fn find_module(&self, from: u32, module: &str) -> Option<u32> {
        let here = self.file(from);
        let family = here.lang.family();
        let wanted: Vec<&str> = module
            .split(['.', '/'])
            .filter(|part| !part.is_empty())
            .collect();
        let last = *wanted.last()?;
        let mut best = None;
        let candidates = self
            .modules
            .get(last)
            .map(Vec::as_slice)
            .unwrap_or_default();
        for index in candidates {
            let there = self.file(*index);
            if there.lang.family() != family || there.is_test && !here.is_test {
                continue;
            }
            let mut parts: Vec<&str> = there.path.split('/').collect();
            let name = parts.pop().unwrap_or("");
            let stem = name.split('.').next().unwrap_or(name);
            match (family, stem) {
                (_, "__init__" | "index" | "mod") => {}
                ("go", _) => {}
                _ => parts.push(stem),
            }
            if parts.last() != Some(&last) {
                continue;
            }
            let fits = wanted.iter().rev().zip(parts.iter().rev());
            let fits = fits.take_while(|(a, b)| a == b).count();
            // Of two that fit alike the nearer one is meant.
            let shared = here.path.split('/').zip(there.path.split('/'));
            let shared = shared.take_while(|(a, b)| a == b).count();
            let score = (fits, there.dir() == here.dir(), shared);
            if best.is_none_or(|(known, _)| score > known) {
                best = Some((score, *index));
            }
        }
        best.map(|(_, file)| file)
    }

    /// Files that no chain of imports connects have nothing to do with each other, whatever their
    /// names have in common: several trees can be looked at in one run. Only where imports name
    /// files; elsewhere a directory or a whole program is one unit without them.
    pub(super) fn connect(&mut self) {
        let count = self.files.len();
        self.imported = (0..count)
            .filter_map(|file| u32::try_from(file).ok())
            .map(|file| self.find_imported(file))
            .collect();
        let mut units = Units::new(count);
        let mut first: HashMap<&'static str, usize> = HashMap::new();
        for (file, source) in self.files.iter().enumerate() {
            let family = source.lang.family();
            if !matches!(family, "python" | "javascript") {
                let one = *first.entry(family).or_insert(file);
                units.join(one, file);
            }
            for there in &self.imported[file] {
                units.join(file, *there as usize);
            }
        }
        for file in 0..count {
            let near = u32::try_from(file).map_or(&[][..], |file| self.siblings(file));
            if let Some(there) = near.first() {
                units.join(file, *there as usize);
            }
        }
        self.units = (0..count).map(|file| units.of(file)).collect();
    }

    /// Whether imports connect two files.
    pub(crate) fn connected(&self, one: u32, two: u32) -> bool {
        self.unit(one) == self.unit(two)
    }

    /// A number that connected files share.
    pub(crate) fn unit(&self, file: u32) -> usize {
        self.units[file as usize]
    }

    /// The files that a file imports something from, in order.
    pub(crate) fn imported_files(&self, file: u32) -> &[u32] {
        &self.imported[file as usize]
    }
}

/// Sets of files that grow together.
struct Units(Vec<usize>);

impl Units {
    fn new(count: usize) -> Self {
        Self((0..count).collect())
    }

    fn of(&mut self, mut file: usize) -> usize {
        while self.0[file] != file {
            self.0[file] = self.0[self.0[file]];
            file = self.0[file];
        }
        file
    }

    fn join(&mut self, one: usize, two: usize) {
        let (one, two) = (self.of(one), self.of(two));
        self.0[one.max(two)] = one.min(two);
    }
}
