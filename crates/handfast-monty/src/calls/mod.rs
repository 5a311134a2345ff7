//! One call, on one path of one mount.

mod look;
mod names;
mod read;
mod write;

use handfast_session::{Mode, Session};
use monty_types::{MontyObject, OsFunctionCall};

use crate::error::CallError;
use crate::files::Target;

pub(crate) use look::{about, visible};
pub(crate) use names::rename;

/// Does a call. Scans, renames and the two that only work on text are done elsewhere.
pub(crate) fn act(
    session: &Session,
    call: OsFunctionCall,
    at: Target<'_>,
) -> Result<MontyObject, CallError> {
    if at.below.is_empty() && is_for_a_file(&call) && at.mount.mode != Mode::ReadOnly {
        let kind = std::io::ErrorKind::IsADirectory;
        return Err(CallError::failed(kind, "Is a directory", at.asked));
    }
    match call {
        OsFunctionCall::Exists(_) => Ok(look::exists(session, at)),
        OsFunctionCall::IsFile(_) => Ok(look::is_file(session, at)),
        OsFunctionCall::IsDir(_) => Ok(look::is_dir(session, at)),
        OsFunctionCall::IsSymlink(_) => Ok(look::is_symlink(session, at)),
        OsFunctionCall::Stat(_) => look::stat(session, at),
        OsFunctionCall::Iterdir(_) => look::iterdir(session, at),
        OsFunctionCall::ReadText(_) => read::text(session, at),
        OsFunctionCall::ReadBytes(_) => read::bytes(session, at),
        OsFunctionCall::Open(args) => read::open(session, at, args.mode),
        OsFunctionCall::WriteText(args) => write::text(session, at, &args.data),
        OsFunctionCall::WriteBytes(args) => write::bytes(session, at, &args.data),
        OsFunctionCall::AppendText(args) => write::append_text(session, at, &args.data),
        OsFunctionCall::AppendBytes(args) => write::append_bytes(session, at, &args.data),
        OsFunctionCall::Mkdir(args) => names::mkdir(session, at, args.parents, args.exist_ok),
        OsFunctionCall::Unlink(_) => names::unlink(session, at),
        OsFunctionCall::Rmdir(_) => names::rmdir(session, at),
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
