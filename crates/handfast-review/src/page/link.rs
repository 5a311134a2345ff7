//! The way to the keeper: one request at a time.

use std::io;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::sync::Mutex;

use crate::protocol::{KeeperReply, MAX_REPLY, Request, checked_length, frame};

pub(super) struct Link {
    keeper: Mutex<UnixStream>,
}

impl Link {
    pub(super) fn new(keeper: UnixStream) -> Self {
        Self {
            keeper: Mutex::new(keeper),
        }
    }

    /// Asks, in a task of its own: a browser that goes away in between must not leave half a message
    /// behind for the next.
    pub(super) async fn ask(self: std::rc::Rc<Self>, request: Request) -> io::Result<KeeperReply> {
        let asked = tokio::task::spawn_local(async move {
            let mut keeper = self.keeper.lock().await;
            keeper.write_all(&frame(&request)?).await?;
            let mut length = [0; 4];
            keeper.read_exact(&mut length).await?;
            let mut bytes = vec![0; checked_length(length, MAX_REPLY)?];
            keeper.read_exact(&mut bytes).await?;
            Ok(serde_json::from_slice(&bytes)?)
        });
        asked.await.map_err(io::Error::other)?
    }
}
