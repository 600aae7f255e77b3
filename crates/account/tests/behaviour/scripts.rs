//! Stored procedures, triggers, functions and encryption keys: kept, validated, returned. `script_runs.rs` runs them.

use crate::support::Client;

#[tokio::test]
async fn scripts_are_kept_as_sent() {
    let client = Client::with_container(1).await;
    for (feed, body) in [
        ("sprocs", r#"{"id":"s","body":"function () { /* é */ }"}"#),
        // Wire: the service compiles a body when it runs, and SDK suites keep some that never do.
        (
            "triggers",
            r#"{"id":"s","body":"serverScript() { var x = 10; }function","triggerType":"Pre","triggerOperation":"All"}"#,
        ),
        ("udfs", r#"{"id":"s","body":"function (x) { return x }"}"#),
        (
            "triggers",
            r#"{"id":"s","body":"function () {}","triggerType":"pre","triggerOperation":"ALL"}"#,
        ),
    ] {
        let path = format!("dbs/d/colls/c/{feed}");
        let created = client.create(&path, body).await.expect(201);
        client.create(&path, body).await.expect(409);
        let sent = crate::support::value(body);
        for property in ["body", "triggerType", "triggerOperation"] {
            assert_eq!(created.value.get(property), sent.get(property), "shown as it was written");
        }
        let changed = body.replace("function", "async function");
        client.replace(&format!("{path}/s"), &changed).await.expect(200);
        client.create_or_upsert(&path, body, true).await.expect(200);
        assert_eq!(client.list(&path).await.ids(), ["s"]);
        client.delete(&format!("{path}/s")).await.expect(204);
        client.delete(&format!("{path}/s")).await.expect(404);
    }
}

#[tokio::test]
async fn incomplete_scripts_are_refused() {
    let client = Client::with_container(1).await;
    #[rustfmt::skip]
    let table = [
        ("sprocs", r#"{"id":"s"}"#, "'body; ' - are missing"),
        ("sprocs", r#"{"body":"x"}"#, "'id; ' - are missing"),
        ("sprocs", r#"{"id":"s","body":7}"#, "body"),
        ("udfs", r#"{"id":"s"}"#, "'body; ' - are missing"),
        ("triggers", r#"{"id":"s","body":"x","triggerOperation":"All"}"#, "'triggerType; ' - are missing"),
        ("triggers", r#"{"id":"s","body":"x","triggerType":"Pre"}"#, "'triggerOperation; ' - are missing"),
        ("triggers", r#"{"id":"s","body":"x","triggerType":"During","triggerOperation":"All"}"#, "'During'"),
        ("triggers", r#"{"id":"s","body":"x","triggerType":"Pre","triggerOperation":"Read"}"#, "'Read'"),
    ];
    for (feed, body, message) in table {
        let answer = client.create(&format!("dbs/d/colls/c/{feed}"), body).await.expect(400);
        assert!(answer.message.contains(message), "{body}: {}", answer.message);
    }
}

#[tokio::test]
async fn encryption_keys_are_kept_as_sent() {
    let client = Client::with_container(1).await;
    let path = "dbs/d/clientencryptionkeys";
    let body = r#"{"id":"k","encryptionAlgorithm":"AEAD_AES_256_CBC_HMAC_SHA256","wrappedDataEncryptionKey":"AAEC",
        "keyWrapMetadata":{"type":"t","name":"n","value":"v","algorithm":"RSA-OAEP"}}"#;
    let created = client.create(path, body).await.expect(201);
    let sent = crate::support::value(body);
    for name in ["encryptionAlgorithm", "wrappedDataEncryptionKey", "keyWrapMetadata"] {
        assert_eq!(created.value.get(name), sent.get(name));
    }
    let etag = created.text("_etag");
    let guarded = client.with_options(|options| options.if_match = Some(etag));
    guarded.replace(&format!("{path}/k"), &body.replace("AAEC", "AAED")).await.expect(200);
    guarded.replace(&format!("{path}/k"), body).await.expect(412);
    assert_eq!(client.list(path).await.ids(), ["k"]);
    client.create(path, &body.replace("AEAD_AES_256_CBC_HMAC_SHA256", "ROT13")).await.expect(400);
    client
        .create(path, r#"{"id":"x","encryptionAlgorithm":"AEAD_AES_256_CBC_HMAC_SHA256"}"#)
        .await
        .expect(400);
    client.create_or_upsert(path, body, true).await.expect(405);
}
