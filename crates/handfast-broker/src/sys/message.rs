//! One `recvmsg`: bytes, descriptors, and who sent them.

use std::io;
use std::mem::size_of;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

/// `SCM_PIDFD`: a pidfd of the sender of this message (Linux 6.5).
const SCM_PIDFD: libc::c_int = 4;

/// How many descriptors a message may bring. The kernel closes what has no room, and says so.
const MOST: usize = 4;

/// What one call brought.
#[derive(Debug, Default)]
pub(crate) struct Received {
    /// How many bytes; none means that the other side is done.
    pub(crate) bytes: usize,
    /// Descriptors, close-on-exec.
    pub(crate) fds: Vec<OwnedFd>,
    /// The process that sent the message, where the socket was told to say so.
    pub(crate) sender: Option<OwnedFd>,
    /// Its number, where the socket was told to say that; 0 for one of another pid namespace.
    pub(crate) sender_pid: Option<u32>,
    /// There were more descriptors than anybody may send.
    pub(crate) too_many: bool,
}

/// Room for control messages, aligned as the kernel wants it.
#[repr(C, align(8))]
struct ControlMessages([u8; 128]);

/// Receives bytes and what came with them.
///
/// # Errors
/// What the system says; an interrupted call is made again.
pub(crate) fn receive(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<Received> {
    const {
        let sender = cmsg_space(4) + cmsg_space(size_of::<libc::ucred>());
        assert!(cmsg_space(MOST * size_of::<RawFd>()) + sender <= 128);
    };
    let mut control = ControlMessages([0; 128]);
    let mut part = libc::iovec {
        iov_base: buffer.as_mut_ptr().cast(),
        iov_len: buffer.len(),
    };
    // SAFETY: all-zero is a valid `msghdr`: null pointers with zero lengths.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = &raw mut part;
    header.msg_iovlen = 1;
    header.msg_control = control.0.as_mut_ptr().cast();
    header.msg_controllen = control.0.len() as _;
    let got = loop {
        // SAFETY: `header` points to `part` and `control`, which live until after the call, with
        // their true lengths; the kernel writes within them.
        let got =
            unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, libc::MSG_CMSG_CLOEXEC) };
        if got >= 0 {
            break got.cast_unsigned();
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    };
    let mut received = Received {
        bytes: got,
        too_many: header.msg_flags & libc::MSG_CTRUNC != 0,
        ..Received::default()
    };
    // SAFETY: the header was filled by the kernel and its control buffer is unchanged since.
    let mut at = unsafe { libc::CMSG_FIRSTHDR(&raw const header) };
    while !at.is_null() {
        // SAFETY: `at` is a control message header inside the buffer, as the macros found it.
        let (level, kind, length) =
            unsafe { ((*at).cmsg_level, (*at).cmsg_type, (*at).cmsg_len as usize) };
        if level == libc::SOL_SOCKET && (kind == libc::SCM_RIGHTS || kind == SCM_PIDFD) {
            // SAFETY: the data of this header starts there.
            let data = unsafe { libc::CMSG_DATA(at) };
            // SAFETY: pure arithmetic.
            let count = (length - unsafe { libc::CMSG_LEN(0) } as usize) / size_of::<RawFd>();
            for index in 0..count {
                // SAFETY: the kernel wrote `count` descriptors there; they need not be aligned.
                let raw: RawFd = unsafe { data.cast::<RawFd>().add(index).read_unaligned() };
                if raw < 0 {
                    continue;
                }
                // SAFETY: the kernel installed this descriptor for us in this very call, and
                // nothing else knows its number.
                let fd = unsafe { OwnedFd::from_raw_fd(raw) };
                if kind == SCM_PIDFD {
                    received.sender = Some(fd);
                } else {
                    received.fds.push(fd);
                }
            }
        }
        if level == libc::SOL_SOCKET && kind == libc::SCM_CREDENTIALS {
            // SAFETY: the kernel wrote a `ucred` behind this header; it need not be aligned.
            let credentials: libc::ucred =
                unsafe { libc::CMSG_DATA(at).cast::<libc::ucred>().read_unaligned() };
            received.sender_pid = Some(u32::try_from(credentials.pid).unwrap_or(0));
        }
        // SAFETY: as for CMSG_FIRSTHDR; `at` is a header of this buffer.
        at = unsafe { libc::CMSG_NXTHDR(&raw const header, at) };
    }
    Ok(received)
}

/// `CMSG_SPACE`, as a constant.
const fn cmsg_space(length: usize) -> usize {
    // SAFETY: pure arithmetic.
    (unsafe { libc::CMSG_SPACE(length as u32) }) as usize
}
