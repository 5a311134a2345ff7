// expect: F3=yes B3=yes C2=yes D2=yes
use handfast::{OpenOptions, Root};
use std::io::Read;

pub struct Reader {
    root: Root,
}

impl Reader {
    pub fn new(root: Root) -> Reader {
        Reader { root }
    }

    pub fn read(&self, name: &str) -> handfast::Result<Vec<u8>> {
        if !name.bytes().all(|b| b.is_ascii_lowercase()) {
            return Err(handfast::Error::invalid("name"));
        }
        self.root.read(name)
    }
}
