//! One keep-alive connection.

use anyhow::{Context as _, Result, bail, ensure};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use super::{Account, Request};

// Limit: no answer of ours has a longer head.
const HEAD_BYTES_MAX: usize = 64 << 10;

#[derive(Debug)]
pub(crate) struct Connection {
    stream: TcpStream,
    buffer: Vec<u8>,
    filled: usize,
}

#[derive(Debug)]
pub(crate) struct Response {
    pub(crate) status: u16,
    /// As it came: most answers are asked for one header or none.
    head: String,
    pub(crate) body: Vec<u8>,
}

impl Response {
    pub(crate) fn headers(&self) -> impl Iterator<Item = (&str, &str)> {
        let lines = self.head.split("\r\n").skip(1);
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
        Ok(Connection { stream, buffer: vec![0; 16 << 10], filled: 0 })
    }

    pub(crate) async fn call(&mut self, account: &Account, request: &Request) -> Result<Response> {
        self.send(&request.sign(account)?).await
    }

    /// Sends a whole request and reads the whole answer.
    pub(crate) async fn send(&mut self, request: &[u8]) -> Result<Response> {
        let head = self.exchange(request).await?;
        let text = std::str::from_utf8(&self.buffer[..head.bytes]).context("head is not text")?;
        let text = text.to_owned();
        let body = self.buffer[head.bytes..head.bytes + head.body_bytes].to_vec();
        self.forget(head);
        Ok(Response { status: head.status, head: text, body })
    }

    /// Like [`Connection::send`], but keeps only the status: for load, where copies would be measured too.
    pub(crate) async fn send_for_status(&mut self, request: &[u8]) -> Result<u16> {
        let head = self.exchange(request).await?;
        self.forget(head);
        Ok(head.status)
    }

    async fn exchange(&mut self, request: &[u8]) -> Result<Head> {
        self.stream.write_all(request).await.context("cannot send")?;
        let mut head = None;
        loop {
            if head.is_none() {
                head = Head::find(&self.buffer[..self.filled])?;
            }
            if let Some(head) = head
                && self.filled >= head.bytes + head.body_bytes
            {
                return Ok(head);
            }
            if self.filled == self.buffer.len() {
                self.buffer.resize(self.buffer.len() * 2, 0);
            }
            let n = self
                .stream
                .read(&mut self.buffer[self.filled..])
                .await
                .context("cannot receive")?;
            ensure!(n > 0, "the server closed the connection");
            self.filled += n;
        }
    }

    fn forget(&mut self, head: Head) {
        let used = head.bytes + head.body_bytes;
        self.buffer.copy_within(used..self.filled, 0);
        self.filled -= used;
    }
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
        let Some(end) = bytes.windows(4).position(|it| it == b"\r\n\r\n") else {
            ensure!(bytes.len() <= HEAD_BYTES_MAX, "the head of the answer does not end");
            return Ok(None);
        };
        let text = std::str::from_utf8(&bytes[..end]).context("head is not text")?;
        let mut lines = text.split("\r\n");
        let status: u16 = lines
            .next()
            .and_then(|it| it.split(' ').nth(1))
            .and_then(|it| it.parse().ok())
            .context("no status line")?;
        let mut body_bytes = None;
        for line in lines {
            let Some((name, value)) = line.split_once(':') else { continue };
            if name.eq_ignore_ascii_case("content-length") {
                body_bytes = Some(value.trim().parse().context("bad content-length")?);
            } else if name.eq_ignore_ascii_case("transfer-encoding") {
                bail!("chunked answer");
            }
        }
        let has_body = !matches!(status, 204 | 304);
        let body_bytes = match body_bytes {
            _ if !has_body => 0,
            Some(n) => n,
            None => bail!("answer {status} without content-length"),
        };
        Ok(Some(Head { status, bytes: end + 4, body_bytes }))
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
