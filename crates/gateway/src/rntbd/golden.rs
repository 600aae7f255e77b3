//! Golden frames: what the official SDKs sent to a server, byte for byte, and the request that each of them is.
//!
//! A file has, for each frame, what it does, its bytes in hexadecimal digits, and the request without signature and date.

use bytes::BytesMut;

use super::{Decoded, Decoder, Frame, context, request};

const FILES: [(&str, &str); 2] = [
    ("Java 4.83.0", include_str!("../../tests/data/direct/java.txt")),
    (".NET 3.64.0", include_str!("../../tests/data/direct/dotnet.txt")),
];

struct Golden<'a> {
    title: &'a str,
    bytes: BytesMut,
    expected: Vec<&'a str>,
}

fn parse(text: &str) -> Vec<Golden<'_>> {
    let mut all: Vec<Golden<'_>> = Vec::new();
    for line in text.lines().filter(|line| !line.is_empty()) {
        if let Some(title) = line.strip_prefix("# ") {
            all.push(Golden { title, bytes: BytesMut::new(), expected: Vec::new() });
            continue;
        }
        let golden = all.last_mut().unwrap();
        match line.strip_prefix("  ") {
            Some(digits) => {
                for pair in digits.as_bytes().chunks(2) {
                    let pair = std::str::from_utf8(pair).unwrap();
                    golden.bytes.extend_from_slice(&[u8::from_str_radix(pair, 16).unwrap()]);
                }
            }
            None => golden.expected.push(line),
        }
    }
    all
}

/// The request of a frame as lines of text.
fn described(frame: &Frame) -> Vec<String> {
    if (frame.resource, frame.operation) == (0, 0) {
        return vec![format!("API version {}", context::answer(frame).unwrap().version.unwrap())];
    }
    let asked = request::to_http(frame, "2020-07-15").unwrap();
    let http = asked.http.unwrap();
    let mut lines = vec![format!("{} {}", http.method(), http.uri())];
    let mut headers: Vec<String> = http
        .headers()
        .iter()
        .filter(|(name, _)| !["authorization", "x-ms-date"].contains(&name.as_str()))
        .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
        .collect();
    headers.sort();
    lines.extend(headers);
    lines.push(format!("{} bytes of payload", frame.payload.len()));
    lines
}

#[test]
fn frames_of_the_sdks_are_the_requests_that_they_mean() {
    for (sdk, text) in FILES {
        let all = parse(text);
        assert_eq!(all.len(), 10, "{sdk}");
        for mut golden in all {
            let decoded = Decoder::new(1 << 20).next(&mut golden.bytes).unwrap();
            let Decoded::Frame(frame) = decoded else { panic!("{decoded:?}") };
            assert!(golden.bytes.is_empty(), "{sdk} {}: nothing is left over", golden.title);
            let found = described(&frame);
            assert_eq!(found, golden.expected, "{sdk} {}:\n{}", golden.title, found.join("\n"));
        }
    }
}

/// Whatever is cut off, no frame comes of it, and nothing breaks.
#[test]
fn the_beginning_of_a_frame_is_no_frame() {
    for golden in FILES.iter().flat_map(|(_, text)| parse(text)) {
        for end in 0..golden.bytes.len() {
            let mut start = BytesMut::from(&golden.bytes[..end]);
            let decoded = Decoder::new(1 << 20).next(&mut start);
            assert_eq!(decoded, Ok(Decoded::Incomplete), "{} cut at {end}", golden.title);
        }
    }
}

/// One byte of a frame changed to anything: it is read, or refused, and nothing breaks.
#[test]
fn a_frame_with_one_wrong_byte_is_read_or_refused() {
    for golden in FILES.iter().flat_map(|(_, text)| parse(text)) {
        for at in 0..golden.bytes.len() {
            for bits in [0x01, 0x80, 0xFF] {
                let mut wrong = golden.bytes.clone();
                wrong[at] ^= bits;
                super::fuzz(&wrong);
            }
        }
    }
}
