//! A proxy before the engine that can hold what a client has sent: the client is stopped between sending and being heard.

use std::sync::Arc;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;

pub(crate) struct Proxy {
    pub(crate) port: u16,
    is_held: Arc<watch::Sender<bool>>,
}

impl Proxy {
    pub(crate) async fn start(engine: u16) -> Proxy {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let is_held = Arc::new(watch::channel(false).0);
        let held = Arc::clone(&is_held);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(("127.0.0.1", engine)).await.unwrap();
                tokio::spawn(pass(client, server, held.subscribe()));
            }
        });
        Proxy { port, is_held }
    }

    /// From now on nothing that clients send arrives.
    pub(crate) fn hold(&self) {
        self.is_held.send_replace(true);
    }

    /// Everything arrives, also from clients that are gone.
    pub(crate) fn release(&self) {
        self.is_held.send_replace(false);
    }
}

async fn pass(client: TcpStream, server: TcpStream, mut is_held: watch::Receiver<bool>) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = server.into_split();
    tokio::spawn(async move {
        let _ = tokio::io::copy(&mut from_server, &mut to_client).await;
    });
    let mut buffer = vec![0; 64 << 10];
    loop {
        let n = from_client.read(&mut buffer).await.unwrap_or(0);
        // What has come waits, the end of the connection too.
        let _ = is_held.wait_for(|is_held| !is_held).await;
        if n == 0 || to_server.write_all(&buffer[..n]).await.is_err() {
            return;
        }
    }
}
