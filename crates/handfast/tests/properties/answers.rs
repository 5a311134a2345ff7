//! What the documentation says of each verb, done to the model.

use handfast::{ErrorKind, Links, RenameMode};

use super::model::{Entries, Model, Node, Place, Refused};
use super::verbs::Step;

impl Model {
    /// Does a step, or nothing.
    pub fn answer(&mut self, step: &Step) -> Result<String, Refused> {
        let before = self.clone();
        let answer = self.act(step);
        let published = matches!(step, Step::WriteIfStale(..));
        if answer.is_err() && !published {
            *self = before;
        }
        answer
    }

    fn act(&mut self, step: &Step) -> Result<String, Refused> {
        let done = Ok(String::new());
        match step {
            Step::Read(path) => {
                let file = self.file(path)?;
                Ok(handfast::escape(self.content(file)))
            }
            Step::Kind(path) => self.kind(path, true),
            Step::KindItself(path) => self.kind(path, false),
            Step::ReadLink(path) => match self.entry(path)?.1 {
                Node::Link(target) => Ok(target),
                _ => refuse(ErrorKind::Kind),
            },
            Step::List(path) => match self.followed(path)?.1 {
                Node::Dir(entries) => Ok(entries.into_keys().collect::<Vec<_>>().join(" ")),
                _ => refuse(ErrorKind::NotADirectory),
            },
            Step::Write(path, data) => {
                let place = self.writable(path)?;
                let file = self.new_file(data);
                self.put(&place, file);
                done
            }
            Step::WriteNew(path, data) => {
                let place = self.free(path)?;
                let file = self.new_file(data);
                self.put(&place, file);
                done
            }
            Step::WriteIf(path, data) => {
                self.file(path)?;
                self.act(&Step::Write(path.clone(), data.clone()))
            }
            Step::WriteIfStale(path, data) => {
                self.file(path)?;
                self.act(&Step::Write(path.clone(), data.clone()))?;
                refuse(ErrorKind::Stale)
            }
            Step::Append(path, data) => {
                let place = self.writable(path)?;
                match self.at(&place) {
                    // An overlay adds to its own copy, under all names.
                    Some(Node::File(file)) if self.names_of(file) > 1 && !self.any_target => {
                        return refuse(ErrorKind::HardLink);
                    }
                    Some(Node::File(file)) => self.content_mut(file).extend_from_slice(data),
                    _ => {
                        let file = self.new_file(data);
                        self.put(&place, file);
                    }
                }
                done
            }
            Step::CreateDir(path) => {
                let place = self.free(path)?;
                self.put(&place, Node::Dir(Entries::new()));
                done
            }
            Step::CreateDirAll(path) => self.create_all(path).map_err(|kind| vec![kind]),
            Step::Rename(from, to, mode) => self.rename(from, to, *mode),
            Step::RemoveFile(path) => match self.entry(path)? {
                (_, Node::Dir(_)) => refuse(ErrorKind::IsADirectory),
                (place, _) => self.removed(&place),
            },
            Step::RemoveDir(path) => match self.entry(path)? {
                (place, Node::Dir(entries)) if entries.is_empty() => self.removed(&place),
                (_, Node::Dir(_)) => refuse(ErrorKind::NotEmpty),
                _ => refuse(ErrorKind::NotADirectory),
            },
            Step::RemoveTree(path) => {
                let (place, _) = self.entry(path)?;
                self.removed(&place)
            }
            Step::Symlink(target, path) => {
                let place = self.resolve(path, false).map_err(|kind| vec![kind])?;
                let taken = self.at(&place).map(|_| ErrorKind::Exists);
                let is_kept = self.any_target && taken.is_none();
                let leaves = !is_kept && leaves(target, place.dir.len());
                let leaves = leaves.then_some(ErrorKind::Escape);
                refuse_any(taken.into_iter().chain(leaves))?;
                self.put(&place, Node::Link(target.clone()));
                done
            }
            Step::HardLink(from, to) => {
                let source = match self.entry(from) {
                    Ok((_, Node::File(file))) => Ok(file),
                    Ok((_, Node::Dir(_))) => refuse(ErrorKind::IsADirectory),
                    Ok((_, Node::Link(_))) => refuse(ErrorKind::Link),
                    Err(kinds) => Err(kinds),
                };
                let (file, place) = both(source, self.free(to))?;
                self.put(&place, Node::File(file));
                done
            }
            Step::Copy(from, to) => {
                let (file, place) = both(self.file(from), self.writable(to))?;
                let content = self.content(file).to_vec();
                let copy = self.new_file(&content);
                self.put(&place, copy);
                done
            }
            Step::CopyTree(from, to) => self.copy_tree(from, to),
        }
    }

    fn removed(&mut self, place: &Place) -> Result<String, Refused> {
        self.take(place);
        Ok(String::new())
    }

    /// The entry itself.
    fn entry(&self, path: &[String]) -> Result<(Place, Node), Refused> {
        let place = self.resolve(path, false).map_err(|kind| vec![kind])?;
        match self.at(&place) {
            Some(node) => Ok((place, node)),
            None => refuse(ErrorKind::NotFound),
        }
    }

    /// What the path leads to.
    fn followed(&self, path: &[String]) -> Result<(Place, Node), Refused> {
        let place = self.resolve(path, true).map_err(|kind| vec![kind])?;
        match self.at(&place) {
            Some(node) => Ok((place, node)),
            None => refuse(ErrorKind::NotFound),
        }
    }

    fn kind(&self, path: &[String], follow: bool) -> Result<String, Refused> {
        let (_, node) = match follow {
            true => self.followed(path)?,
            false => self.entry(path)?,
        };
        Ok(match node {
            Node::File(_) => "file",
            Node::Dir(_) => "dir",
            Node::Link(_) => "symlink",
        }
        .to_owned())
    }

    fn file(&self, path: &[String]) -> Result<usize, Refused> {
        match self.followed(path)?.1 {
            Node::File(file) => Ok(file),
            _ => refuse(ErrorKind::IsADirectory),
        }
    }

    /// A name that nobody has.
    fn free(&self, path: &[String]) -> Result<Place, Refused> {
        let place = self.resolve(path, false).map_err(|kind| vec![kind])?;
        match self.at(&place) {
            Some(_) => refuse(ErrorKind::Exists),
            None => Ok(place),
        }
    }

    /// Where a write goes: nothing is ever created through a link.
    fn writable(&self, path: &[String]) -> Result<Place, Refused> {
        let is_link = matches!(self.entry(path), Ok((_, Node::Link(_))));
        let place = match self.resolve(path, true) {
            Err(ErrorKind::NotFound) if is_link => return refuse(ErrorKind::Link),
            place => place.map_err(|kind| vec![kind])?,
        };
        match self.at(&place) {
            Some(Node::Dir(_)) => refuse(ErrorKind::IsADirectory),
            None if place.through_link => refuse(ErrorKind::Link),
            _ => Ok(place),
        }
    }

    fn create_all(&mut self, path: &[String]) -> Result<String, ErrorKind> {
        for end in 1..=path.len() {
            let prefix = &path[..end];
            let itself = self.resolve(prefix, false)?;
            let is_link = matches!(self.at(&itself), Some(Node::Link(_)));
            let place = match self.resolve(prefix, true) {
                Err(ErrorKind::NotFound) if is_link => return Err(ErrorKind::Link),
                place => place?,
            };
            match self.at(&place) {
                Some(Node::Dir(_)) => {}
                Some(_) => return Err(ErrorKind::NotADirectory),
                None if is_link => return Err(ErrorKind::Link),
                None => self.put(&place, Node::Dir(Entries::new())),
            }
        }
        Ok(String::new())
    }

    fn rename(
        &mut self,
        from: &[String],
        to: &[String],
        mode: RenameMode,
    ) -> Result<String, Refused> {
        let target = self.resolve(to, false).map_err(|kind| vec![kind]);
        let ((source, node), target) = both(self.entry(from), target)?;
        let old = self.at(&target);
        let (here, there) = (whole(&source), whole(&target));
        let into_itself = there.len() > here.len() && there.starts_with(&here);
        let onto_above = here.len() > there.len() && here.starts_with(&there);
        if mode == RenameMode::NoReplace && old.is_some() {
            return Err(vec![ErrorKind::Exists, ErrorKind::Invalid]);
        }
        if mode == RenameMode::Exchange && old.is_none() {
            return Err(vec![ErrorKind::NotFound, ErrorKind::Invalid]);
        }
        if into_itself || (mode == RenameMode::Exchange && onto_above) {
            return refuse(ErrorKind::Invalid);
        }
        if here == there {
            return Ok(String::new());
        }
        if mode == RenameMode::Replace {
            match (&node, &old) {
                // Two names of one file: nothing is done.
                (Node::File(one), Some(Node::File(other))) if one == other => {
                    return Ok(String::new());
                }
                (Node::Dir(_), Some(Node::Dir(entries))) if entries.is_empty() => {}
                (Node::Dir(_), Some(Node::Dir(_))) => return refuse(ErrorKind::NotEmpty),
                (Node::Dir(_), Some(_)) => return refuse(ErrorKind::NotADirectory),
                (_, Some(Node::Dir(_))) => return refuse(ErrorKind::IsADirectory),
                _ => {}
            }
        }
        self.take(&source);
        match old {
            Some(old) if mode == RenameMode::Exchange => {
                self.put(&source, old);
                self.put(&target, node);
            }
            _ => self.put(&target, node),
        }
        Ok(String::new())
    }

    fn copy_tree(&mut self, from: &[String], to: &[String]) -> Result<String, Refused> {
        let source = match self.followed(from) {
            Ok((place, Node::Dir(entries))) => Ok((place, entries)),
            Ok(_) => refuse(ErrorKind::NotADirectory),
            Err(kinds) => Err(kinds),
        };
        let target = match self.entry(to) {
            Ok((_, Node::Dir(_))) => refuse(ErrorKind::IsADirectory),
            Ok(_) => refuse(ErrorKind::Exists),
            Err(_) => self.free(to),
        };
        // The spelling may say that it lies inside, or the way there.
        let is_inside = to.starts_with(from)
            || source
                .as_ref()
                .is_ok_and(|(source, _)| self.leads_through(to, &whole(source)));
        let ((source, entries), target) = both(source, target).map_err(|mut kinds| {
            kinds.extend(is_inside.then_some(ErrorKind::Invalid));
            kinds
        })?;
        if is_inside || target.dir.starts_with(&whole(&source)) {
            return refuse(ErrorKind::Invalid);
        }
        let copy = self.copy_entries(&entries, target.dir.len() + 1)?;
        self.put(&target, Node::Dir(copy));
        Ok(String::new())
    }

    /// Whether the way to a path's parent leads through a directory, the top included.
    fn leads_through(&self, path: &[String], directory: &[String]) -> bool {
        directory.is_empty()
            || (1..path.len()).any(|end| {
                self.resolve(&path[..end], true)
                    .is_ok_and(|place| whole(&place).starts_with(directory))
            })
    }

    fn copy_entries(&mut self, entries: &Entries, depth: usize) -> Result<Entries, Refused> {
        let mut copy = Entries::new();
        for (name, node) in entries {
            let node = match node {
                Node::Dir(below) => Node::Dir(self.copy_entries(below, depth + 1)?),
                Node::File(file) => {
                    let content = self.content(*file).to_vec();
                    self.new_file(&content)
                }
                // Which of several the copy meets first depends on the directory's order.
                Node::Link(target)
                    if self.links == Links::Refuse
                        || (!self.any_target && leaves(target, depth)) =>
                {
                    return Err(vec![ErrorKind::Link, ErrorKind::Escape]);
                }
                link => link.clone(),
            };
            copy.insert(name.clone(), node);
        }
        Ok(copy)
    }
}

fn refuse<T>(kind: ErrorKind) -> Result<T, Refused> {
    Err(vec![kind])
}

fn refuse_any(kinds: impl Iterator<Item = ErrorKind>) -> Result<(), Refused> {
    let kinds: Vec<_> = kinds.collect();
    if kinds.is_empty() { Ok(()) } else { Err(kinds) }
}

/// Both, or what is wrong with either.
fn both<A, B>(one: Result<A, Refused>, other: Result<B, Refused>) -> Result<(A, B), Refused> {
    match (one, other) {
        (Ok(one), Ok(other)) => Ok((one, other)),
        (Err(mut kinds), Err(more)) => {
            kinds.extend(more);
            Err(kinds)
        }
        (Err(kinds), _) | (_, Err(kinds)) => Err(kinds),
    }
}

fn whole(place: &Place) -> Vec<String> {
    place.dir.iter().chain(&place.name).cloned().collect()
}

/// Whether a link's text climbs above the top from a directory that lies so deep.
fn leaves(target: &str, depth: usize) -> bool {
    let (mut depth, mut named) = (depth, false);
    for step in target.split('/') {
        match step {
            "." | "" => {}
            // After a name, which may be a link, nobody knows where it leads up from.
            ".." if named || depth == 0 => return true,
            ".." => depth -= 1,
            _ => named = true,
        }
    }
    false
}
