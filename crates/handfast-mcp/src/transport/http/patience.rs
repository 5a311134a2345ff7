//! How long a request may take as a whole.

use std::io::{self, Read};
use std::net::TcpStream;
use std::time::{Duration, Instant};

/// Reads from a client until a moment, however often it sends a little: there are few connections,
/// and who holds one with a byte now and then would keep others out without knowing the token.
pub(super) struct Patient<'a> {
    stream: &'a TcpStream,
    until: Instant,
}

impl<'a> Patient<'a> {
    pub(super) fn new(stream: &'a TcpStream, patience: Duration) -> Self {
        Self {
            stream,
            until: Instant::now() + patience,
        }
    }
}

impl Read for Patient<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.stream.set_read_timeout(Some(left))?;
        (&mut &*self.stream).read(buffer)
    }
}

#[cfg(test)]
mod tests {
    use super::super::head::Head;
    use super::*;
    use std::io::Write;
    use std::net::TcpListener;

    #[test]
    fn a_head_that_trickles_in_is_not_waited_for() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (stream, _) = listener.accept().unwrap();
        let slow = std::thread::spawn(move || {
            drop(client.write_all(b"POST /mcp HTTP/1.1\r\nX: "));
            while client.write_all(b"x").is_ok() {
                std::thread::sleep(Duration::from_millis(5));
            }
        });
        // A head that is too long would be answered; nobody waits for that here.
        let mut request = Patient::new(&stream, Duration::from_millis(50));
        let head = Head::read(&mut request, &mut Vec::new());
        assert!(matches!(head, Ok(None)));
        drop(stream);
        slow.join().unwrap();
    }
}
