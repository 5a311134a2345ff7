//! The way to the keeper: one request at a time. News comes between the answers.

use std::io;
use std::rc::Rc;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::UnixStream;
use tokio::net::unix::{OwnedReadHalf, OwnedWriteHalf};
use tokio::sync::{Mutex, mpsc};

use super::news::News;
use crate::protocol::{
    KeeperMessage, KeeperReply, MAX_REPLY, MAX_REQUEST, Request, checked_length, frame,
};

pub(super) struct Link {
    keeper: Mutex<(OwnedWriteHalf, mpsc::Receiver<KeeperReply>)>,
}

impl Link {
    /// Begins to listen to the keeper, in a task of its own.
    pub(super) fn new(keeper: UnixStream, news: Rc<News>) -> Self {
        let (from, to) = keeper.into_split();
        let (sender, replies) = mpsc::channel(1);
        // Its end is the end of every question.
        tokio::task::spawn_local(async move { listen(from, sender, news).await });
        Self {
            keeper: Mutex::new((to, replies)),
        }
    }

    /// Asks, in a task of its own: a browser that goes away in between must not leave half a message, or
    /// an answer that nobody took, behind for the next.
    pub(super) async fn ask(self: Rc<Self>, request: Request) -> io::Result<KeeperReply> {
        let asked = tokio::task::spawn_local(async move {
            let message = frame(&request)?;
            // The keeper would take it for an attack, and end.
            if message.len() > MAX_REQUEST {
                return Err(io::ErrorKind::InvalidInput.into());
            }
            let mut keeper = self.keeper.lock().await;
            let (to, replies) = &mut *keeper;
            to.write_all(&message).await?;
            let reply = replies.recv().await;
            reply.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof))
        });
        asked.await.map_err(io::Error::other)?
    }
}

async fn listen(
    mut from: OwnedReadHalf,
    replies: mpsc::Sender<KeeperReply>,
    news: Rc<News>,
) -> io::Result<()> {
    loop {
        let mut length = [0; 4];
        from.read_exact(&mut length).await?;
        let mut bytes = vec![0; checked_length(length, MAX_REPLY)?];
        from.read_exact(&mut bytes).await?;
        match serde_json::from_slice(&bytes)? {
            KeeperMessage::News(topic, stamp) => news.publish(&topic, stamp),
            KeeperMessage::Reply(reply) => {
                drop(bytes);
                if replies.send(reply).await.is_err() {
                    return Ok(());
                }
            }
        }
    }
}
