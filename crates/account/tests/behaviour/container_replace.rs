//! What a replace of a container may change.

use crate::support::{Client, value};

const BASE: &str = r#""id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},
    "uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/email"]}]},"defaultTtl":60,
    "vectorEmbeddingPolicy":{"vectorEmbeddings":[{"path":"/v","dataType":"float32","dimensions":3,"distanceFunction":"cosine"}]}"#;
const UNIQUE: &str = r#""uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/email"]}]}"#;
const EMBEDDING: &str =
    r#"{"path":"/v","dataType":"float32","dimensions":3,"distanceFunction":"cosine"}"#;

#[tokio::test]
async fn immutable_properties_stay() {
    let key = r#""partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}"#;
    let rest = format!(r#"{UNIQUE},"vectorEmbeddingPolicy":{{"vectorEmbeddings":[{EMBEDDING}]}}"#);
    #[rustfmt::skip]
    let table: Vec<(String, u16, &str)> = vec![
        (format!("{{{BASE}}}"), 200, ""),
        (format!(r#"{{"id":"c",{key},{rest}}}"#), 200, "TTL may go"),
        (format!(r#"{{"id":"c",{key},{rest},"defaultTtl":5,"indexingPolicy":{{"automatic":false}}}}"#), 200, ""),
        (format!(r#"{{"id":"c",{key},{rest},"computedProperties":[{{"name":"x","query":"SELECT VALUE c.a FROM c"}}]}}"#), 200, ""),
        (format!(r#"{{"id":"c",{key},{UNIQUE},"vectorEmbeddingPolicy":{{"vectorEmbeddings":[{EMBEDDING},{{"path":"/w","dataType":"int8","dimensions":2,"distanceFunction":"euclidean"}}]}}}}"#), 200, "may be added"),
        (format!(r#"{{"id":"c",{key},{UNIQUE}}}"#), 400, "Paths in existing embedding policy cannot be modified in Collection Replace"),
        (format!(r#"{{"id":"other",{key},{rest}}}"#), 400, "'id' cannot be changed"),
        (format!(r#"{{"id":"c","partitionKey":{{"paths":["/other"],"kind":"Hash","version":2}},{rest}}}"#), 400, "Document collection partition key cannot be changed"),
        (format!(r#"{{"id":"c",{rest}}}"#), 400, "'partitionKey; ' - are missing"),
        (format!("{{{key},{rest}}}"), 400, "'id; ' - are missing"),
        (format!(r#"{{"id":"c",{key},"vectorEmbeddingPolicy":{{"vectorEmbeddings":[{EMBEDDING}]}}}}"#), 403, "The unique index cannot be modified"),
        (format!(r#"{{"id":"c",{key},{},"vectorEmbeddingPolicy":{{"vectorEmbeddings":[{EMBEDDING}]}}}}"#, UNIQUE.replace("email", "phone")), 403, "The unique index cannot be modified"),
        (format!(r#"{{"id":"c",{key},{rest},"conflictResolutionPolicy":{{"mode":"Custom"}}}}"#), 400, "'conflictResolutionPolicy' cannot be changed"),
        (format!(r#"{{"id":"c",{key},{rest},"geospatialConfig":{{"type":"Geometry"}}}}"#), 200, "planes and spheres may be exchanged"),
        (format!(r#"{{"id":"c",{key},{rest},"clientEncryptionPolicy":{{"includedPaths":[]}}}}"#), 400, "'clientEncryptionPolicy' cannot be changed as part of collection replace operation."),
        (format!(r#"{{"id":"c",{key},{rest},"defaultTtl":0}}"#), 400, "defaultTtl"),
    ];
    for (body, code, message) in table {
        let client = Client::new(1).await;
        client.create("dbs", r#"{"id":"d"}"#).await.expect(201);
        let created = client.create("dbs/d/colls", &format!("{{{BASE}}}")).await.expect(201);
        let answer = client.replace("dbs/d/colls/c", &body).await;
        assert_eq!(answer.status.code, code, "{body}: {}", answer.message);
        let read = client.read("dbs/d/colls/c").await.expect(200);
        assert_eq!(read.text("_rid"), created.text("_rid"));
        if code == 200 {
            assert_ne!(read.text("_etag"), created.text("_etag"));
        } else {
            assert!(answer.message.contains(message), "{body}: {}", answer.message);
            assert_eq!(read.value, created.value, "nothing changed");
        }
    }
}

#[tokio::test]
async fn a_vector_index_keeps_its_type_and_may_go() {
    let client = Client::new(1).await;
    client.create("dbs", r#"{"id":"d"}"#).await.expect(201);
    let body =
        |indexes: &str| format!(r#"{{{BASE},"indexingPolicy":{{"vectorIndexes":[{indexes}]}}}}"#);
    let flat = body(r#"{"path":"/v","type":"flat"}"#);
    let graph = body(r#"{"path":"/v","type":"diskANN"}"#);
    client.create("dbs/d/colls", &flat).await.expect(201);
    let refused = client.replace("dbs/d/colls/c", &graph).await.expect(400);
    assert!(
        refused.message.contains("Paths in existing vector indexing policy cannot be modified"),
        "{}",
        refused.message
    );
    client.replace("dbs/d/colls/c", &body("")).await.expect(200);
    client.replace("dbs/d/colls/c", &graph).await.expect(200);
}

#[tokio::test]
async fn the_base_of_expiry_can_be_set_and_taken_away() {
    let client = Client::with_container(1).await;
    let key = r#""partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}"#;
    let with = format!(r#"{{"id":"c",{key},"defaultTtl":60,"ttlPropertyPath":"/made"}}"#);
    let shown = client.replace("dbs/d/colls/c", &with).await.expect(200);
    assert_eq!(shown.text("ttlPropertyPath"), "/made");
    let items = client.items().key(r#"["a"]"#);
    let made = crate::support::START_MS / 1000 - 60;
    items.create(&format!(r#"{{"id":"1","pk":"a","made":{made}}}"#)).await.expect(201);
    items.read("1").await.expect(404);
    let without = format!(r#"{{"id":"c",{key},"defaultTtl":60}}"#);
    let shown = client.replace("dbs/d/colls/c", &without).await.expect(200);
    assert_eq!(shown.value.get("ttlPropertyPath"), None);
    items.read("1").await.expect(200);
}

#[tokio::test]
async fn queries_after_a_replace_know_what_is_new() {
    let client = Client::with_container(1).await;
    client.items().create(r#"{"id":"1","pk":"a","name":"B"}"#).await.expect(201);
    let rows = async || client.items().query("SELECT VALUE c.low FROM c").await.expect(200).rows;
    assert!(rows().await.is_empty());
    let computed = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},
        "computedProperties":[{"name":"low","query":"SELECT VALUE LOWER(c.name) FROM c"}]}"#;
    client.replace("dbs/d/colls/c", computed).await.expect(200);
    assert_eq!(rows().await, [value("\"b\"")]);
}

#[tokio::test]
async fn omitted_optional_properties_are_reset_and_take_effect() {
    let client = Client::with_container(1).await;
    let key = r#""partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}"#;
    let with_ttl = format!(r#"{{"id":"c",{key},"defaultTtl":60}}"#);
    client.replace("dbs/d/colls/c", &with_ttl).await.expect(200);
    let items = client.items().key(r#"["a"]"#);
    items.create(r#"{"id":"1","pk":"a"}"#).await.expect(201);
    client.env.advance(std::time::Duration::from_secs(61));
    items.read("1").await.expect(404);
    let replaced = client.replace("dbs/d/colls/c", crate::support::CONTAINER).await.expect(200);
    assert_eq!(replaced.value.get("defaultTtl"), None);
    items.create(r#"{"id":"2","pk":"a"}"#).await.expect(201);
    client.env.advance(std::time::Duration::from_secs(1_000_000));
    items.read("2").await.expect(200);
}

#[tokio::test]
async fn what_was_read_can_be_written_back() {
    let client = Client::with_container(1).await;
    let read = client.read("dbs/d/colls/c").await;
    let replaced = client.replace("dbs/d/colls/c", &read.value.to_text()).await.expect(200);
    assert_eq!(replaced.value.get("indexingPolicy"), read.value.get("indexingPolicy"));
    assert_eq!(value(&replaced.value.to_text()), replaced.value);
}
