//! The accept loop, and the end of all connections when the server stops.

use std::{
    io,
    net::SocketAddr,
    pin::pin,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use tokio::{
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::timeout,
};
use tokio_rustls::TlsAcceptor;

use super::{
    connection::Connection,
    connection_table::{ConnectionTable, Refusal, Seat},
    watchdog,
};
use crate::gateway::State;

/// Limit: pauses after failed accepts, e.g. when file descriptors have run out: each is twice as long as the one before.
const ACCEPT_PAUSE_MIN: Duration = Duration::from_millis(10);
const ACCEPT_PAUSE_MAX: Duration = Duration::from_secs(1);

/// Accepts until `shutdown`, then drains.
pub(crate) async fn serve(
    state: &Arc<State>,
    listener: TcpListener,
    shutdown: impl Future<Output = ()> + Send,
) {
    if let Some(observer) = &state.options.observer {
        observer.listens(&listener);
    }
    let table = Arc::new(ConnectionTable::new(state));
    let mut connections = JoinSet::new();
    let serving = async {
        tokio::join!(accept_all(state, &listener, &table, &mut connections), watchdog::run(&table))
    };
    tokio::select! {
        biased;
        () = pin!(shutdown) => {}
        _ = serving => {}
    }
    drop(listener);
    state.is_stopping.store(true, Ordering::Relaxed);
    table.end_all();
    let drained = async { while connections.join_next().await.is_some() {} };
    if timeout(state.options.limits.shutdown_grace, drained).await.is_err() {
        tracing::warn!("some requests did not end in time and are dropped");
    }
    connections.shutdown().await;
}

/// Never returns.
async fn accept_all(
    state: &Arc<State>,
    listener: &TcpListener,
    table: &Arc<ConnectionTable>,
    connections: &mut JoinSet<()>,
) {
    let tls = state.options.tls.clone().map(|config| TlsAcceptor::from(Arc::new(config)));
    let mut pause = ACCEPT_PAUSE_MIN;
    loop {
        let accepted = listener.accept().await;
        // Tasks that have ended are forgotten as we go, so the set holds the open ones.
        while connections.try_join_next().is_some() {}
        match accepted {
            Ok(accepted) => {
                pause = ACCEPT_PAUSE_MIN;
                if let Some((stream, seat)) = admit(table, accepted).await {
                    let connection =
                        Connection { state: Arc::clone(state), tls: tls.clone(), seat };
                    connections.spawn(connection.run(stream));
                }
            }
            Err(error) if is_of_one_client(&error) => {}
            Err(error) => {
                tracing::warn!(%error, "cannot accept a connection");
                table.evict();
                tokio::time::sleep(pause).await;
                pause = (pause * 2).min(ACCEPT_PAUSE_MAX);
            }
        }
    }
}

/// The client left before it was accepted: no reason to pause.
fn is_of_one_client(error: &io::Error) -> bool {
    use io::ErrorKind as Kind;
    matches!(
        error.kind(),
        Kind::ConnectionAborted
            | Kind::ConnectionReset
            | Kind::ConnectionRefused
            | Kind::Interrupted
    )
}

async fn admit(
    table: &Arc<ConnectionTable>,
    (stream, address): (TcpStream, SocketAddr),
) -> Option<(TcpStream, Seat)> {
    match table.admit(address.ip()).await {
        Ok(seat) => Some((stream, seat)),
        Err(Refusal::Address | Refusal::NoPlace) => {
            tracing::debug!(%address, "a connection is refused: its address has too many");
            None
        }
    }
}
