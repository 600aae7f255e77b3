//! gzip: request bodies are decoded within the body limit; answers are compressed by option only.
//!
//! Wire: the hosted service never compresses, and every client takes identity, so that is the default.

use std::io::{Read, Write};

use bytes::Bytes;
use flate2::{Compression, read::MultiGzDecoder, write::GzEncoder};
use http::{HeaderValue, Response, StatusCode, header};
use http_body_util::Full;

use crate::error::{Error, excerpt};

/// Limit: smaller answers fit a packet or two anyway.
const BYTES_MIN: usize = 1024;

/// Undoes the content encoding of a request body.
pub(crate) fn decode(
    body: Bytes,
    encoding: Option<&str>,
    bytes_max: usize,
) -> Result<Bytes, Error> {
    match encoding.map(str::trim) {
        None | Some("") => Ok(body),
        Some(encoding) if encoding.eq_ignore_ascii_case("identity") => Ok(body),
        Some(encoding)
            if encoding.eq_ignore_ascii_case("gzip") || encoding.eq_ignore_ascii_case("x-gzip") =>
        {
            inflate(&body, bytes_max)
        }
        Some(encoding) => Err(Error::BodyEncoding { encoding: excerpt(encoding) }),
    }
}

fn inflate(body: &[u8], bytes_max: usize) -> Result<Bytes, Error> {
    // One byte more than allowed shows that there is more; nothing beyond it is inflated.
    let limit = u64::try_from(bytes_max).unwrap_or(u64::MAX).saturating_add(1);
    let mut out = Vec::with_capacity((body.len() * 4).min(bytes_max));
    MultiGzDecoder::new(body)
        .take(limit)
        .read_to_end(&mut out)
        .map_err(|error| Error::BodyInvalid { reason: format!("gzip: {error}") })?;
    if out.len() > bytes_max {
        return Err(Error::BodyTooLarge { bytes_max });
    }
    Ok(out.into())
}

/// Says whether an `Accept-Encoding` takes gzip.
pub(crate) fn is_accepted(header: &str) -> bool {
    header.split(',').any(|one| {
        let (name, parameters) = one.split_once(';').unwrap_or((one, ""));
        let is_off = matches!(parameters.trim(), "q=0" | "q=0.0" | "q=0.00" | "q=0.000");
        name.trim().eq_ignore_ascii_case("gzip") && !is_off
    })
}

/// Compresses a successful answer, if that is worth it.
pub(crate) fn encode(response: Response<Full<Bytes>>, body: &Bytes) -> Response<Full<Bytes>> {
    let is_success =
        response.status() == StatusCode::OK || response.status() == StatusCode::CREATED;
    if !is_success || body.len() < BYTES_MIN {
        return response;
    }
    let Some(smaller) = deflate(body, Compression::fast()) else { return response };
    let (mut parts, _) = response.into_parts();
    parts.headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    parts.headers.append(header::VARY, HeaderValue::from_static("accept-encoding"));
    Response::from_parts(parts, Full::new(smaller))
}

/// Compresses what is sent again and again; `None` if that makes it no smaller.
pub(crate) fn deflate_best(body: &[u8]) -> Option<Bytes> {
    deflate(body, Compression::best())
}

fn deflate(body: &[u8], level: Compression) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::with_capacity(body.len() / 2), level);
    encoder.write_all(body).ok()?;
    let smaller = encoder.finish().ok()?;
    (smaller.len() < body.len()).then(|| smaller.into())
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt;

    use super::*;

    fn gzip(body: &[u8]) -> Bytes {
        deflate(body, Compression::fast()).unwrap()
    }

    #[test]
    fn request_bodies_are_decoded_within_the_limit() {
        let plain = Bytes::from(vec![b'a'; 10_000]);
        let packed = gzip(&plain);
        assert_eq!(decode(packed.clone(), Some("gzip"), 10_000).unwrap(), plain);
        assert_eq!(decode(plain.clone(), Some("identity"), 1).unwrap(), plain);
        assert!(matches!(
            decode(packed.clone(), Some("GZIP"), 9_999),
            Err(Error::BodyTooLarge { .. })
        ));
        assert!(matches!(decode(packed, Some("br"), 10_000), Err(Error::BodyEncoding { .. })));
        assert!(matches!(decode(plain, Some("gzip"), 10_000), Err(Error::BodyInvalid { .. })));
    }

    #[test]
    fn a_bomb_is_stopped_at_the_limit() {
        let bomb = gzip(&vec![0; 50 << 20]);
        assert!(matches!(decode(bomb, Some("gzip"), 4 << 20), Err(Error::BodyTooLarge { .. })));
    }

    #[test]
    fn acceptance_follows_the_header() {
        #[rustfmt::skip]
        let table = [("gzip", true), ("gzip, deflate", true), ("br, GZIP;q=0.5", true), ("gzip;q=0", false), ("deflate", false), ("", false)];
        for (header, expected) in table {
            assert_eq!(is_accepted(header), expected, "{header}");
        }
    }

    #[tokio::test]
    async fn only_large_successes_are_compressed() {
        let body = Bytes::from("{\"a\":1}".repeat(1000));
        let response = |code: u16, body: &Bytes| {
            let mut response = Response::new(Full::new(body.clone()));
            *response.status_mut() = StatusCode::from_u16(code).unwrap();
            encode(response, body)
        };
        let packed = response(200, &body);
        assert_eq!(packed.headers()[header::CONTENT_ENCODING], "gzip");
        let bytes = packed.into_body().collect().await.unwrap().to_bytes();
        assert_eq!(decode(bytes, Some("gzip"), 10_000).unwrap(), body);
        assert!(!response(400, &body).headers().contains_key(header::CONTENT_ENCODING));
        let small = Bytes::from_static(b"{}");
        assert!(!response(200, &small).headers().contains_key(header::CONTENT_ENCODING));
    }
}
