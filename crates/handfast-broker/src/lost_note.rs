//! How many answered events no log has, kept beside the leases until a log tells it.

use handfast::{Error, ErrorKind, File, OpenOptions, RelPath, Root, WriteOptions};

const NAME: &str = "log-lost";

/// Digits and the end of the line: always as long, so that a full disk has room for it.
const LENGTH: usize = 21;

/// The number in the state directory. It outlives the broker, however that ends.
#[derive(Debug)]
pub(crate) struct LostNote {
    file: File,
}

impl LostNote {
    /// Opens the note, and makes one that says 0 if there is none. Gives what it says.
    ///
    /// # Errors
    /// If it cannot be opened or made, or is no number.
    pub(crate) fn open(state: &Root) -> Result<(Self, u64), Error> {
        let name = RelPath::parse(NAME)?;
        let text = match state.read_to_limit(&name, 64) {
            Ok(text) => text,
            Err(error) if error.kind() == ErrorKind::NotFound => {
                let private = WriteOptions::new().mode(0o600);
                let _made = state.write_new_with(&name, text_of(0), private)?;
                text_of(0).into_bytes()
            }
            Err(error) => return Err(error),
        };
        let text = String::from_utf8_lossy(&text);
        let count = text.trim().parse().map_err(|_| {
            let why = "it is damaged; if it is removed, nobody knows how many events are missing";
            Error::refused(ErrorKind::Invalid, why)
        })?;
        let file = state.open_with(&name, OpenOptions::new().write(true))?;
        Ok((Self { file }, count))
    }

    /// Notes another number, in the place of the one before.
    pub(crate) fn set(&self, count: u64) {
        let text = text_of(count);
        let noted = self
            .file
            .write_at(text.as_bytes(), 0)
            .and_then(|_| self.file.sync());
        if let Err(error) = noted {
            let what = format!("{count} answered reads are in no log; the note of that: {error}");
            crate::complain(&what);
        }
    }
}

fn text_of(count: u64) -> String {
    format!("{count:0width$}\n", width = LENGTH - 1)
}
