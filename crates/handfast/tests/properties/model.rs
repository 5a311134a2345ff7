//! What a filesystem below a root is, in memory: a tree of names, files with several names, links
//! as text; and how paths are resolved in it.

use std::collections::BTreeMap;

use handfast::{ErrorKind, Links};

/// As many links as the kernel follows.
const MAX_LINKS: u32 = 40;

pub type Entries = BTreeMap<String, Node>;

#[derive(Clone, Debug)]
pub enum Node {
    /// Which file; names of one file share it.
    File(usize),
    Dir(Entries),
    Link(String),
}

/// Every error that explains a refusal: a call with two things wrong may name either.
pub type Refused = Vec<ErrorKind>;

#[derive(Clone, Debug)]
pub struct Model {
    pub links: Links,
    /// Whether a link may be made that leads out.
    pub any_target: bool,
    top: Entries,
    files: Vec<Vec<u8>>,
}

/// Where a path leads.
#[derive(Clone, Debug)]
pub struct Place {
    /// The directory, by its real names from the top.
    pub dir: Vec<String>,
    /// The name in it; none if the path leads to the directory itself.
    pub name: Option<String>,
    /// The last component was a link that was followed.
    pub through_link: bool,
}

enum Step {
    Name(String),
    Up,
    Stay,
}

impl Model {
    pub fn new(links: Links) -> Self {
        Self {
            links,
            any_target: false,
            top: Entries::new(),
            files: Vec::new(),
        }
    }

    /// Resolves a path; a link at its end is followed or is itself the place.
    pub fn resolve(&self, path: &[String], follow: bool) -> Result<Place, ErrorKind> {
        let mut pending: Vec<Step> = path.iter().rev().cloned().map(Step::Name).collect();
        let (mut dir, mut links, mut through_link) = (Vec::new(), 0, false);
        while let Some(step) = pending.pop() {
            let name = match step {
                Step::Stay => continue,
                Step::Up => match dir.pop() {
                    Some(_) => continue,
                    None => return Err(ErrorKind::Escape),
                },
                Step::Name(name) => name,
            };
            let is_last = pending.is_empty();
            match self.entries(&dir).get(&name) {
                Some(Node::Link(target)) if follow || !is_last => {
                    links += 1;
                    if self.links == Links::Refuse || links > MAX_LINKS {
                        return Err(ErrorKind::Link);
                    }
                    through_link |= is_last;
                    pending.extend(target.split('/').rev().map(|step| match step {
                        "." | "" => Step::Stay,
                        ".." => Step::Up,
                        name => Step::Name(name.to_owned()),
                    }));
                }
                _ if is_last => {
                    return Ok(Place {
                        dir,
                        name: Some(name),
                        through_link,
                    });
                }
                Some(Node::Dir(_)) => dir.push(name),
                Some(_) => return Err(ErrorKind::NotADirectory),
                None => return Err(ErrorKind::NotFound),
            }
        }
        Ok(Place {
            dir,
            name: None,
            through_link,
        })
    }

    /// The entries of a directory that is there.
    pub fn entries(&self, dir: &[String]) -> &Entries {
        dir.iter()
            .fold(&self.top, |entries, name| match &entries[name] {
                Node::Dir(below) => below,
                other => panic!("{name} is {other:?}"),
            })
    }

    pub fn entries_mut(&mut self, dir: &[String]) -> &mut Entries {
        dir.iter()
            .fold(&mut self.top, |entries, name| match entries.get_mut(name) {
                Some(Node::Dir(below)) => below,
                other => panic!("{name} is {other:?}"),
            })
    }

    /// What is at a place; a directory that is the place itself as such.
    pub fn at(&self, place: &Place) -> Option<Node> {
        match &place.name {
            Some(name) => self.entries(&place.dir).get(name).cloned(),
            None => Some(Node::Dir(self.entries(&place.dir).clone())),
        }
    }

    /// Puts something at a place that has a name.
    pub fn put(&mut self, place: &Place, node: Node) {
        let name = place.name.clone().expect("a place with a name");
        self.entries_mut(&place.dir).insert(name, node);
    }

    pub fn take(&mut self, place: &Place) -> Option<Node> {
        let name = place.name.as_ref()?;
        self.entries_mut(&place.dir).remove(name)
    }

    pub fn new_file(&mut self, content: &[u8]) -> Node {
        self.files.push(content.to_vec());
        Node::File(self.files.len() - 1)
    }

    pub fn content(&self, file: usize) -> &[u8] {
        &self.files[file]
    }

    pub fn content_mut(&mut self, file: usize) -> &mut Vec<u8> {
        &mut self.files[file]
    }

    /// How many names a file has.
    pub fn names_of(&self, file: usize) -> usize {
        count(&self.top, file)
    }

    /// One line for each entry, as the real tree is listed.
    pub fn listing(&self) -> Vec<String> {
        let mut lines = Vec::new();
        self.list(&self.top, "", &mut lines);
        lines.sort();
        lines
    }

    fn list(&self, entries: &Entries, above: &str, lines: &mut Vec<String>) {
        for (name, node) in entries {
            let path = format!("{above}/{name}");
            match node {
                Node::Link(target) => lines.push(format!("{path} link {target}")),
                Node::File(file) => lines.push(format!(
                    "{path} file {} {}",
                    self.names_of(*file),
                    handfast::escape(&self.files[*file])
                )),
                Node::Dir(below) => {
                    lines.push(format!("{path} dir"));
                    self.list(below, &path, lines);
                }
            }
        }
    }
}

fn count(entries: &Entries, file: usize) -> usize {
    entries
        .values()
        .map(|node| match node {
            Node::File(other) => usize::from(*other == file),
            Node::Dir(below) => count(below, file),
            Node::Link(_) => 0,
        })
        .sum()
}
