//! One keep-alive connection.

use anyhow::{Context as _, Result, bail, ensure};
use bytes::{Buf as _, Bytes, BytesMut};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{Account, Request};

// Limit: no answer of ours has a longer head.
const HEAD_BYTES_MAX: usize = 64 << 10;
// Limit: nor one with more headers.
const HEADERS_MAX: usize = 64;
/// Room for what one read may bring.
const READ_BYTES: usize = 16 << 10;

#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: BytesMut,
}

/// An answer as it came: most are asked for one header or none.
#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    head: Bytes,
    pub(crate) body: Bytes,
}

impl Response {
    pub(crate) fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        let head = std::str::from_utf8(&self.head).unwrap_or_default();
        let lines = head.split("\r\n").skip(1);
        lines.filter_map(|line| line.split_once(':')).map(|(name, value)| (name, value.trim()))
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers().find(|(it, _)| it.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    pub(crate) fn is_success(&self) -> bool {
        (200..300).contains(&self.status)
    }

    pub(crate) fn json(&self) -> Result<serde_json::Value> {
        serde_json::from_slice(&self.body).with_context(|| format!("bad JSON: {}", self.text()))
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// The response itself if it succeeded, else an error that shows it.
    pub(crate) fn expect_success(self, what: &str) -> Result<Response> {
        ensure!(self.is_success(), "{what}: {} {}", self.status, self.text());
        Ok(self)
    }
}

impl Connection {
    pub(crate) async fn open(authority: &str) -> Result<Connection> {
        let stream = TcpStream::connect(authority).await.context("cannot connect")?;
        stream.set_nodelay(true)?;
        Ok(Connection { stream, buffer: BytesMut::with_capacity(READ_BYTES) })
    }

    pub(crate) async fn call(&mut self, account: &Account, request: &Request) -> Result<Response> {
        self.send(&request.sign(account)?).await
    }

    /// Sends a whole request and reads the whole answer.
    pub(crate) async fn send(&mut self, request: &[u8]) -> Result<Response> {
        let head = self.exchange(request).await?;
        let text = self.buffer.split_to(head.bytes).freeze();
        let body = self.buffer.split_to(head.body_bytes).freeze();
        Ok(Response { status: head.status, head: text, body })
    }

    /// Like [`Connection::send`], but keeps only the status: for load, where more would be measured too.
    pub(crate) async fn send_for_status(&mut self, request: &[u8]) -> Result<u16> {
        let head = self.exchange(request).await?;
        self.buffer.advance(head.bytes + head.body_bytes);
        Ok(head.status)
    }

    /// Sends a request and reads until all of the answer is in the buffer.
    async fn exchange(&mut self, request: &[u8]) -> Result<Head> {
        self.stream.write_all(request).await.context("cannot send")?;
        let mut head = None;
        loop {
            if head.is_none() {
                head = Head::find(&self.buffer)?;
            }
            if let Some(head) = head
                && self.buffer.len() >= head.bytes + head.body_bytes
            {
                return Ok(head);
            }
            self.buffer.reserve(READ_BYTES);
            let n = self.stream.read_buf(&mut self.buffer).await.context("cannot receive")?;
            ensure!(n > 0, "the server closed the connection");
        }
    }
}

/// Status of the answer at the start of the bytes, and its length with the body; none while its head is incomplete.
pub(crate) fn answer_length(bytes: &[u8]) -> Result<Option<(u16, usize)>> {
    if bytes.is_empty() {
        return Ok(None);
    }
    Ok(Head::find(bytes)?.map(|head| (head.status, head.bytes + head.body_bytes)))
}

#[derive(Debug, Clone, Copy)]
struct Head {
    status: u16,
    bytes: usize,
    body_bytes: usize,
}

impl Head {
    /// Finds a complete head at the start of `bytes`.
    fn find(bytes: &[u8]) -> Result<Option<Head>> {
        let mut headers = [httparse::EMPTY_HEADER; HEADERS_MAX];
        let mut head = httparse::Response::new(&mut headers);
        let httparse::Status::Complete(n_bytes) = head.parse(bytes).context("no head")? else {
            ensure!(bytes.len() <= HEAD_BYTES_MAX, "the head of the answer does not end");
            return Ok(None);
        };
        let status = head.code.context("no status")?;
        let mut body_bytes = None;
        for header in head.headers {
            if header.name.eq_ignore_ascii_case("content-length") {
                let text = std::str::from_utf8(header.value)?;
                body_bytes = Some(text.parse().context("bad content-length")?);
            } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
                bail!("chunked answer");
            }
        }
        let has_body = !matches!(status, 204 | 304);
        let body_bytes = match body_bytes {
            _ if !has_body => 0,
            Some(n) => n,
            None => bail!("answer {status} without content-length"),
        };
        Ok(Some(Head { status, bytes: n_bytes, body_bytes }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_are_found_when_complete() {
        let text = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        let head = Head::find(text).unwrap().unwrap();
        assert_eq!((head.status, head.bytes, head.body_bytes), (200, 38, 5));
        assert!(Head::find(&text[..20]).unwrap().is_none());
    }

    #[test]
    fn answers_without_a_body_need_no_length() {
        let head = Head::find(b"HTTP/1.1 304 Not Modified\r\n\r\n").unwrap().unwrap();
        assert_eq!(head.body_bytes, 0);
        assert!(Head::find(b"HTTP/1.1 200 OK\r\n\r\n").is_err());
    }
}
