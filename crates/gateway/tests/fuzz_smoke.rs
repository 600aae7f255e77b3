//! The entry points of the fuzz targets with arbitrary bytes: they may refuse, never panic.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, reason = "tests may panic")]

mod support;

use std::sync::Arc;

use gateway::fuzz;
use proptest::{collection::vec, prelude::*};
use support::{Call, Server};

/// Bytes of any kind, and texts made of the pieces that the grammars are made of.
fn input() -> impl Strategy<Value = Vec<u8>> {
    #[rustfmt::skip]
    let pieces = prop::sample::select(vec![
        "type=", "master", "resource", "aad", "&ver=1.0", "&sig=", "%", "%2F", "%ff", "/", "//", "dbs", "colls", "docs", "offers", "AQAAAA==",
        "[", "]", "{", "}", ":", ",", "\"", "\\", "\\u0000", "null", "true", "-0.0", "1e309", "\"operationType\"", "\"Create\"", "\"Read\"",
        "\"resourceBody\"", "\"id\"", "\"partitionKey\"", "operations", "partitionkeydelete", "é", "\u{0}", "\u{10FFFF}", ".", " ",
    ]);
    prop_oneof![
        vec(any::<u8>(), 0..200),
        vec(pieces, 0..30).prop_map(|pieces| pieces.concat().into_bytes()),
    ]
}

/// A stream that starts as a batch does, so that the decoder gets past its first checks.
fn rows() -> impl Strategy<Value = Vec<u8>> {
    vec(any::<u8>(), 0..60).prop_map(|rest| {
        let mut row = vec![0x81, 0x70, 0x54, 0xE1, 0x7F];
        row.extend(rest);
        let mut stream =
            vec![0x81, 0xF0, 0xD8, 0xFF, 0x7F, 0x01, 0x0A, 0, 0, 0, 0x81, 0xF1, 0xD8, 0xFF, 0x7F];
        stream.extend(i32::try_from(row.len()).unwrap().to_le_bytes());
        stream.extend(crc32fast::hash(&row).to_le_bytes());
        stream.extend(row);
        stream
    })
}

/// A token of direct mode, whole; of kinds that there are and one that there is not.
fn token() -> impl Strategy<Value = Vec<u8>> {
    (0u16..0x105, 0u8..=0x0F, vec(any::<u8>(), 16), 0usize..16).prop_map(|(id, kind, bytes, n)| {
        let mut token = id.to_le_bytes().to_vec();
        token.push(kind);
        let length = u8::try_from(n).unwrap();
        match kind {
            0x07 | 0x0A => token.push(length),
            0x08 | 0x0B => token.extend([length, 0]),
            0x09 | 0x0C => token.extend([length, 0, 0, 0]),
            _ => {}
        }
        let width = match kind {
            0x00 => 1,
            0x01 => 2,
            0x02 | 0x03 | 0x0D => 4,
            0x04 | 0x05 | 0x0E => 8,
            0x06 => 16,
            _ => n,
        };
        token.extend(bytes.iter().take(width));
        token
    })
}

/// Frames of direct mode one behind the other, the last of them cut somewhere.
fn frames() -> impl Strategy<Value = Vec<u8>> {
    let frame = (0u16..0x0A, 0u16..0x26, vec(token(), 0..12), vec(any::<u8>(), 0..20));
    let frame = frame.prop_map(|(resource, operation, tokens, payload)| {
        let mut tokens = tokens.concat();
        tokens.extend([0x02, 0, 0, u8::from(!payload.is_empty())]);
        let mut out = u32::try_from(24 + tokens.len()).unwrap().to_le_bytes().to_vec();
        out.extend([resource.to_le_bytes(), operation.to_le_bytes()].concat());
        out.extend([7; 16]);
        out.extend(tokens);
        if !payload.is_empty() {
            out.extend(u32::try_from(payload.len()).unwrap().to_le_bytes());
            out.extend(payload);
        }
        out
    });
    (vec(frame, 1..4), 0usize..30).prop_map(|(frames, n_cut)| {
        let mut bytes = frames.concat();
        bytes.truncate(bytes.len() - n_cut.min(bytes.len()));
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn foreign_bytes_are_refused_without_a_panic(bytes in input()) {
        fuzz::auth_header(&bytes);
        fuzz::path(&bytes);
        fuzz::partition_key_header(&bytes);
        fuzz::batch_json(&bytes);
        fuzz::hybrid_row(&bytes);
        fuzz::rntbd(&bytes);
    }

    #[test]
    fn frames_with_any_tokens_are_read_or_refused_without_a_panic(bytes in frames()) {
        fuzz::rntbd(&bytes);
    }

    #[test]
    fn damaged_rows_are_refused_without_a_panic(bytes in rows()) {
        fuzz::hybrid_row(&bytes);
    }
}

/// Bodies go through the whole server: patch, batch, create and query must answer, not break.
#[test]
fn foreign_bodies_get_an_answer() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = Arc::new(runtime.block_on(async {
        let server = Server::start().await.with_container().await;
        assert_eq!(server.send(Call::create("a", r#"{"id":"1","pk":"a"}"#)).await.status, 201);
        server
    }));
    proptest!(ProptestConfig::with_cases(150), |(body in prop_oneof![input(), rows()])| {
        runtime.block_on(async {
            let item = "/dbs/d/colls/c/docs/1";
            let patch = Call { body: body.clone().into(), ..Call::new(http::Method::PATCH, item) };
            let batch = Call::create("a", body.clone())
                .header("x-ms-cosmos-is-batch-request", "True")
                .header("x-ms-cosmos-batch-atomic", "True");
            let query = Call::post("/dbs/d/colls/c/docs", body.clone())
                .header("x-ms-documentdb-isquery", "True");
            for call in [patch.key_header("a"), batch, query, Call::create("a", body.clone())] {
                let reply = server.send(call).await;
                prop_assert!(reply.status < 500, "{} for {body:?}", reply.status);
                if reply.status >= 400 {
                    reply.assert_error(reply.status);
                }
            }
            Ok(())
        })?;
    });
    runtime.block_on(server.assert_alive());
}

/// Frames of every kind, with heads of requests that look real in some of them.
fn http2_frames() -> impl Strategy<Value = Vec<u8>> {
    // `:method: POST`, `:path: /`, `:scheme: http`, then a name and a value of the client's own, or broken ones.
    let block = prop_oneof![
        vec(any::<u8>(), 0..40),
        vec(any::<u8>(), 0..20).prop_map(|rest| {
            let mut block = vec![0x83, 0x84, 0x86, 0x41, 1, b'x', 0, 1, b'a'];
            block.push(u8::try_from(rest.len()).unwrap());
            block.extend(rest);
            block
        }),
        Just(vec![0x82, 0x86, 0x41, 1, b'x', 0x04, 6, b'/', b'r', b'e', b'a', b'd', b'y']),
    ];
    let frame =
        (0_u8..11, any::<u8>(), 0_u32..9, block).prop_map(|(kind, flags, stream, block)| {
            let length = u32::try_from(block.len()).unwrap().to_be_bytes();
            let mut frame = [&length[1..], &[kind, flags]].concat();
            frame.extend(stream.to_be_bytes());
            frame.extend(block);
            frame
        });
    let pieces = prop_oneof![9 => frame, 1 => vec(any::<u8>(), 0..30)];
    vec(pieces, 0..25).prop_map(|frames| frames.concat())
}

/// `PROPTEST_CASES` makes it a long run.
#[test]
fn foreign_http2_frames_end_their_connection_and_no_other() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let server = runtime.block_on(Server::start());
    let n_cases = std::env::var("PROPTEST_CASES").map_or(100, |n| n.parse().unwrap());
    proptest!(ProptestConfig::with_cases(n_cases), |(frames in http2_frames())| {
        fuzz::http2(server.address, &frames);
    });
    runtime.block_on(async {
        server.assert_alive().await;
        let text = server.send(Call::get("/metrics").unsigned()).await.text();
        let held = "orrery_memory_used_bytes{part=\"bodies\"} 0";
        assert!(text.lines().any(|line| line == held), "{text}");
    });
}
