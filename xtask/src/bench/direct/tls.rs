//! TLS to the server under test, with its bytes counted below.

use std::io;
use std::path::Path;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use anyhow::{Context as _, Result};
use rustls_pki_types::pem::PemObject as _;
use rustls_pki_types::{CertificateDer, ServerName};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

pub(super) type Stream = TlsStream<Counted>;

/// The one certificate that is trusted, and a counter of all bytes.
#[derive(Debug, Clone)]
pub(super) struct Trust {
    roots: Arc<rustls::RootCertStore>,
    pub(super) n_bytes: Arc<AtomicU64>,
}

impl Trust {
    pub(super) fn in_file(pem: &Path) -> Result<Trust> {
        let mut roots = rustls::RootCertStore::empty();
        roots.add(CertificateDer::from_pem_file(pem).context("the server's certificate")?)?;
        Ok(Trust { roots: Arc::new(roots), n_bytes: Arc::default() })
    }

    pub(super) async fn connect(&self, authority: &str, alpn: Option<&str>) -> Result<Stream> {
        let stream = TcpStream::connect(authority).await.context("cannot connect")?;
        stream.set_nodelay(true)?;
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = rustls::ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()?
            .with_root_certificates(Arc::clone(&self.roots))
            .with_no_client_auth();
        config.alpn_protocols = alpn.iter().map(|it| it.as_bytes().to_vec()).collect();
        let host = authority.rsplit_once(':').map_or(authority, |(host, _)| host);
        let name = ServerName::try_from(host.to_owned())?;
        let counted = Counted { stream, n_bytes: Arc::clone(&self.n_bytes) };
        let connector = tokio_rustls::TlsConnector::from(Arc::new(config));
        connector.connect(name, counted).await.context("no TLS")
    }
}

#[derive(Debug)]
pub(super) struct Counted {
    stream: TcpStream,
    n_bytes: Arc<AtomicU64>,
}

impl AsyncRead for Counted {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let read = Pin::new(&mut self.stream).poll_read(context, buffer);
        self.n_bytes.fetch_add((buffer.filled().len() - before) as u64, Ordering::Relaxed);
        read
    }
}

impl AsyncWrite for Counted {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(&mut self.stream).poll_write(context, bytes);
        if let Poll::Ready(Ok(n)) = written {
            self.n_bytes.fetch_add(n as u64, Ordering::Relaxed);
        }
        written
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.stream).poll_shutdown(context)
    }
}
