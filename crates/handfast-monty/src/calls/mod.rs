//! One call, on one path of one mount.

mod look;
mod names;
mod read;
mod write;

use handfast::Files;
use handfast_session::Mode;
use monty_types::{MontyObject, OsFunctionCall};

use crate::error::CallError;
use crate::files::Target;

pub(crate) use look::{about, visible};
pub(crate) use names::rename;

/// Does a call. Scans, renames and the two that only work on text are done elsewhere.
pub(crate) fn act(
    files: &dyn Files,
    call: OsFunctionCall,
    at: Target<'_>,
) -> Result<MontyObject, CallError> {
    if at.below.is_root() && is_for_a_file(&call) && at.mount.mode != Mode::ReadOnly {
        let kind = std::io::ErrorKind::IsADirectory;
        return Err(CallError::failed(kind, "Is a directory", at.asked));
    }
    match call {
        OsFunctionCall::Exists(_) => Ok(look::exists(files, at)),
        OsFunctionCall::IsFile(_) => Ok(look::is_file(files, at)),
        OsFunctionCall::IsDir(_) => Ok(look::is_dir(files, at)),
        OsFunctionCall::IsSymlink(_) => Ok(look::is_symlink(files, at)),
        OsFunctionCall::Stat(_) => look::stat(files, at),
        OsFunctionCall::Iterdir(_) => look::iterdir(files, at),
        OsFunctionCall::ReadText(_) => read::text(files, at),
        OsFunctionCall::ReadBytes(_) => read::bytes(files, at),
        OsFunctionCall::Open(args) => read::open(files, at, args.mode),
        OsFunctionCall::WriteText(args) => write::text(files, at, &args.data),
        OsFunctionCall::WriteBytes(args) => write::bytes(files, at, &args.data),
        OsFunctionCall::AppendText(args) => write::append_text(files, at, &args.data),
        OsFunctionCall::AppendBytes(args) => write::append_bytes(files, at, &args.data),
        OsFunctionCall::Mkdir(args) => names::mkdir(files, at, args.parents, args.exist_ok),
        OsFunctionCall::Unlink(_) => names::unlink(files, at),
        OsFunctionCall::Rmdir(_) => names::rmdir(files, at),
        // A call that a later Monty knows and this crate does not: nobody answers it.
        other => Err(CallError::failed(
            std::io::ErrorKind::Unsupported,
            format!("'{}' is not supported", other.name()),
            at.asked,
        )),
    }
}

/// Whether the call can only mean a file; a mount is none.
fn is_for_a_file(call: &OsFunctionCall) -> bool {
    use OsFunctionCall::{AppendBytes, AppendText, Open, WriteBytes, WriteText};
    matches!(
        call,
        WriteText(_) | WriteBytes(_) | AppendText(_) | AppendBytes(_) | Open(_)
    )
}
