//! Container properties: what is completed, what is refused.

use model::Value;

use crate::support::{Answer, Client, value};

const DEFAULT_POLICY: &str = r#"{"indexingMode":"consistent","automatic":true,
    "includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/\"_etag\"/?"}]}"#;

async fn client() -> Client {
    let client = Client::new(1).await;
    client.create("dbs", r#"{"id":"d"}"#).await.expect(201);
    client
}

fn body(extra: &str) -> String {
    let comma = if extra.is_empty() { "" } else { "," };
    format!(
        r#"{{"id":"c","partitionKey":{{"paths":["/pk"],"kind":"Hash","version":2}}{comma}{extra}}}"#
    )
}

#[tokio::test]
async fn a_minimal_container_is_completed() {
    let client = client().await;
    let created = client.create("dbs/d/colls", &body("")).await.expect(201).value;
    let expected = [
        ("indexingPolicy", DEFAULT_POLICY),
        ("partitionKey", r#"{"paths":["/pk"],"kind":"Hash","version":2}"#),
        (
            "conflictResolutionPolicy",
            r#"{"mode":"LastWriterWins","conflictResolutionPath":"/_ts",
          "conflictResolutionProcedure":""}"#,
        ),
        ("geospatialConfig", r#"{"type":"Geography"}"#),
        ("_docs", r#""docs/""#),
        ("_sprocs", r#""sprocs/""#),
        ("_triggers", r#""triggers/""#),
        ("_udfs", r#""udfs/""#),
        ("_conflicts", r#""conflicts/""#),
    ];
    for (name, text) in expected {
        assert_eq!(created.get(name), Some(&value(text)), "{name}");
    }
    for absent in [
        "uniqueKeyPolicy",
        "defaultTtl",
        "computedProperties",
        "vectorEmbeddingPolicy",
        "fullTextPolicy",
        "changeFeedPolicy",
        "clientEncryptionPolicy",
    ] {
        assert_eq!(created.get(absent), None, "{absent}");
    }
}

#[tokio::test]
async fn policies_are_completed_as_the_service_does() {
    #[rustfmt::skip]
    let table = [
        // property, sent, returned
        ("indexingPolicy", "{}", DEFAULT_POLICY),
        ("indexingPolicy", r#"{"includedPaths":[],"excludedPaths":[]}"#, DEFAULT_POLICY),
        ("indexingPolicy", r#"{"indexingMode":"Consistent","automatic":false}"#,
         r#"{"indexingMode":"consistent","automatic":true,"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/\"_etag\"/?"}]}"#),
        ("indexingPolicy", r#"{"indexingMode":"None","automatic":false}"#,
         r#"{"indexingMode":"none","automatic":false,"includedPaths":[],"excludedPaths":[]}"#),
        ("indexingPolicy", r#"{"includedPaths":[{"path":"/*","indexes":[{"kind":"Range","dataType":"Number","precision":-1}]}]}"#, DEFAULT_POLICY),
        ("indexingPolicy", r#"{"includedPaths":[{"path":"/a/?"}],"excludedPaths":[{"path":"/*"}]}"#,
         r#"{"indexingMode":"consistent","automatic":true,"includedPaths":[{"path":"/a/?"}],"excludedPaths":[{"path":"/*"},{"path":"/\"_etag\"/?"}]}"#),
        ("indexingPolicy", r#"{"excludedPaths":[{"path":"/big/*"},{"path":"/_etag/?"}]}"#,
         r#"{"indexingMode":"consistent","automatic":true,"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/big/*"},{"path":"/_etag/?"}]}"#),
        ("indexingPolicy", r#"{"compositeIndexes":[[{"path":"/a"},{"path":"/b","order":"Descending"}]]}"#,
         r#"{"indexingMode":"consistent","automatic":true,"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/\"_etag\"/?"}],
             "compositeIndexes":[[{"path":"/a","order":"ascending"},{"path":"/b","order":"descending"}]]}"#),
        ("indexingPolicy", r#"{"spatialIndexes":[{"path":"/loc/*","types":["point","Polygon"]}]}"#,
         r#"{"indexingMode":"consistent","automatic":true,"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/\"_etag\"/?"}],
             "spatialIndexes":[{"path":"/loc/*","types":["Point","LineString","Polygon","MultiPolygon"]}]}"#),
        ("defaultTtl", "-1", "-1"),
        ("defaultTtl", "60", "60"),
        ("analyticalStorageTtl", "-1", "-1"),
        ("uniqueKeyPolicy", r#"{"uniqueKeys":[{"paths":["/email","/address/zip"]}]}"#, r#"{"uniqueKeys":[{"paths":["/email","/address/zip"]}]}"#),
        ("conflictResolutionPolicy", r#"{"mode":"custom","conflictResolutionProcedure":"dbs/d/colls/c/sprocs/s"}"#,
         r#"{"mode":"Custom","conflictResolutionPath":"","conflictResolutionProcedure":"dbs/d/colls/c/sprocs/s"}"#),
        ("conflictResolutionPolicy", r#"{"conflictResolutionPath":"/rank"}"#,
         r#"{"mode":"LastWriterWins","conflictResolutionPath":"/rank","conflictResolutionProcedure":""}"#),
        ("geospatialConfig", r#"{"type":"geometry"}"#, r#"{"type":"Geometry"}"#),
        ("computedProperties", r#"[{"name":"low","query":"SELECT VALUE LOWER(c.name) FROM c"}]"#,
         r#"[{"name":"low","query":"SELECT VALUE LOWER(c.name) FROM c"}]"#),
        ("changeFeedPolicy", r#"{"retentionDuration":10}"#, r#"{"retentionDuration":10}"#),
        ("vectorEmbeddingPolicy", r#"{"vectorEmbeddings":[{"path":"/v","dataType":"Float32","dimensions":3,"distanceFunction":"cosine"}]}"#,
         r#"{"vectorEmbeddings":[{"path":"/v","dataType":"float32","dimensions":3,"distanceFunction":"cosine"}]}"#),
        ("fullTextPolicy", r#"{"defaultLanguage":"1031","fullTextPaths":[{"path":"/text","language":"1033"}]}"#,
         r#"{"defaultLanguage":"de-DE","fullTextPaths":[{"path":"/text","language":"en-US"}]}"#),
        ("fullTextPolicy", r#"{"fullTextPaths":[{"path":"/text"}]}"#, r#"{"defaultLanguage":"en-US","fullTextPaths":[{"path":"/text"}]}"#),
        ("clientEncryptionPolicy", r#"{"includedPaths":[{"path":"/secret","clientEncryptionKeyId":"k","encryptionType":"randomized","encryptionAlgorithm":"AEAD_AES_256_CBC_HMAC_SHA256"}]}"#,
         r#"{"includedPaths":[{"path":"/secret","clientEncryptionKeyId":"k","encryptionType":"Randomized","encryptionAlgorithm":"AEAD_AES_256_CBC_HMAC_SHA256"}],"policyFormatVersion":1}"#),
    ];
    let client = client().await;
    let key = r#"{"id":"k","encryptionAlgorithm":"AEAD_AES_256_CBC_HMAC_SHA256","wrappedDataEncryptionKey":"AA==","keyWrapMetadata":{}}"#;
    client.create("dbs/d/clientencryptionkeys", key).await.expect(201);
    for (property, sent, returned) in table {
        let sent = body(&format!("\"{property}\":{sent}"));
        let created = client.create("dbs/d/colls", &sent).await.expect(201);
        assert_eq!(created.value.get(property), Some(&value(returned)), "{sent}");
        let read = client.read("dbs/d/colls/c").await.expect(200);
        assert_eq!(read.value, created.value, "{sent}");
        client.delete("dbs/d/colls/c").await.expect(204);
    }
}

#[tokio::test]
async fn wrong_policies_are_refused_with_the_service_words() {
    let embedding = r#""vectorEmbeddingPolicy":{"vectorEmbeddings":[{"path":"/vector1","dataType":"float32","dimensions":256,"distanceFunction":"euclidean"}]}"#;
    let with_embedding = |policy: &str| format!("{embedding},\"indexingPolicy\":{policy}");
    let text = r#""fullTextPolicy":{"defaultLanguage":"en-US","fullTextPaths":[{"path":"/abstract","language":"en-US"}]}"#;
    let with_text = |policy: &str| format!("{text},\"indexingPolicy\":{policy}");
    let embeddings =
        |inner: &str| format!(r#""vectorEmbeddingPolicy":{{"vectorEmbeddings":[{inner}]}}"#);
    #[rustfmt::skip]
    let table: Vec<(String, &str)> = vec![
        (r#""indexingPolicy":{"indexingMode":"eager"}"#.into(), "'indexingMode' value 'eager' is invalid"),
        (r#""indexingPolicy":{"indexingMode":"none","automatic":true}"#.into(), "automatic"),
        (r#""indexingPolicy":{"indexingMode":"none","includedPaths":[{"path":"/a/?"}]}"#.into(), "none"),
        (r#""indexingPolicy":{"includedPaths":[{"path":"/a/?"}]}"#.into(), "special mandatory indexing path \"/\""),
        (r#""indexingPolicy":{"includedPaths":[{"path":"/a"}]}"#.into(), "'/a' could not be accepted"),
        (r#""indexingPolicy":{"includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/*"}]}"#.into(), "'/*'"),
        (r#""indexingPolicy":{"includedPaths":[{"path":"/*","indexes":[{"kind":"Odd"}]}]}"#.into(), "'kind' value 'Odd'"),
        (r#""indexingPolicy":{"compositeIndexes":[[{"path":"/a"}]]}"#.into(), "at least two paths"),
        (r#""indexingPolicy":{"compositeIndexes":[[{"path":"/a/*"},{"path":"/b"}]]}"#.into(), "composite index path '/a/*'"),
        (r#""indexingPolicy":{"compositeIndexes":[[{"path":"/a","order":"up"},{"path":"/b"}]]}"#.into(), "'order' value 'up'"),
        (r#""indexingPolicy":{"spatialIndexes":[{"path":"/p/*","types":[]}]}"#.into(), "The spatial data types array cannot be empty. Assign at least one spatial type for the 'types' array for the path"),
        (r#""indexingPolicy":{"spatialIndexes":[{"path":"/p/*","types":["Circle"]}]}"#.into(), "'types' value 'Circle'"),
        (r#""geospatialConfig":{"type":"Geometry"},"indexingPolicy":{"spatialIndexes":[{"path":"/p/*","types":["Point"]}]}"#.into(), "Geometry type must have a boundingBox"),
        (r#""indexingPolicy":{"spatialIndexes":[{"path":"/p/*","types":["Point"],"boundingBox":{"xmin":0,"ymin":0,"xmax":1,"ymax":1}}]}"#.into(), "Geography type cannot have a boundingBox"),
        (r#""geospatialConfig":{"type":"Sphere"}"#.into(), "'Sphere'"),
        (r#""indexingPolicy":{"vectorIndexes":[{"path":"/vector1","type":"flat"}]}"#.into(), "vector1 not matching in Embedding's path"),
        (with_embedding(r#"{"vectorIndexes":[{"path":"/vector1","type":"notFlat"}]}"#), "Index Type::notFlat is invalid"),
        (with_embedding(r#"{"vectorIndexes":[{"path":"/vector2","type":"flat"}]}"#), "vector2 not matching in Embedding's path"),
        (with_embedding(r#"{"vectorIndexes":[{"path":"/vector1","type":"diskANN","vectorIndexShardKey":["country"]}]}"#), "The Vector Indexing Policy has an invalid Shard Path: country."),
        (with_embedding(r#"{"vectorIndexes":[{"path":"/vector1","type":"diskANN","quantizationByteSize":9000}]}"#), "QuantizationByteSize value :: 9000 is out of range. The allowed range is between 1 and 256."),
        (embeddings(r#"{"path":"/v","dataType":"float64","dimensions":3,"distanceFunction":"cosine"}"#), "Vector Embedding Policy has an invalid DataType"),
        (embeddings(r#"{"path":"/v","dataType":"float32","dimensions":-3,"distanceFunction":"cosine"}"#), "The Vector Embedding Policy has Dimensions:-3"),
        (embeddings(r#"{"path":"/v","dataType":"float32","dimensions":3,"distanceFunction":"handMeasured"}"#), "The Vector Embedding Policy has an invalid DistanceFunction:handMeasured"),
        (r#""fullTextPolicy":{"defaultLanguage":"spa-SPA"}"#.into(), "The Full Text Policy contains an unsupported language spa-SPA. Supported languages are:"),
        (r#""fullTextPolicy":{"fullTextPaths":[{"path":"abstract"}]}"#.into(), "The Full Text Policy contains an invalid Path: abstract"),
        (with_text(r#"{"fullTextIndexes":[{"path":"/path"}]}"#), "The path of the Full Text Index /path does not match the path specified in the Full Text Policy"),
        (with_text(r#"{"fullTextIndexes":[{"path":"abstract"}]}"#), "Full-text index specification at index (0) contains invalid path"),
        (with_text(r#"{"fullTextIndexes":[{"other":"abstract"}]}"#), "Missing path in full-text index specification at index (0)"),
        (with_embedding(r#"{"vectorIndexes":[{"path":"/vector1","type":"diskANN","vectorIndexShardKey":["/a","/b"]}]}"#), "shard paths defined in the Vector Indexing Policy: 2 exceeds the maximum: 1."),
        (embeddings(r#"{"path":"/v","dataType":"float32","dimensions":3,"distanceFunction":"cosine","embeddingSource":{"sourcePaths":["/t"]}}"#), "embeddingSource' is known but not supported"),
        (r#""uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/a"],"filter":{}}]}"#.into(), "filter' is known but not supported"),
        (r#""fullTextPolicy":{"fullTextPaths":[{"path":"/a","addStopWords":["x"]}]}"#.into(), "addStopWords' is known but not supported"),
        (r#""clientEncryptionPolicy":{"policyFormatVersion":2,"includedPaths":[{"path":"/a","clientEncryptionKeyId":"unknownKey","encryptionType":"Randomized","encryptionAlgorithm":"AEAD_AES_256_CBC_HMAC_SHA256"}]}"#.into(), "ClientEncryptionKey with id '[unknownKey]' does not exist."),
        (r#""ttlPropertyPath":"/made""#.into(), "together with a 'defaultTtl'"),
        (r#""defaultTtl":5,"ttlPropertyPath":"made""#.into(), "ttlPropertyPath"),
        (r#""defaultTtl":0"#.into(), "defaultTtl"), (r#""defaultTtl":-2"#.into(), "defaultTtl"),
        (r#""defaultTtl":1.5"#.into(), "defaultTtl"), (r#""defaultTtl":"60""#.into(), "defaultTtl"),
        (r#""uniqueKeyPolicy":{"uniqueKeys":[{"paths":[]}]}"#.into(), "unique key"),
        (r#""uniqueKeyPolicy":{"uniqueKeys":[{"paths":["email"]}]}"#.into(), "unique key path 'email'"),
        (r#""conflictResolutionPolicy":{"mode":"Vote"}"#.into(), "'mode' value 'Vote'"),
        (r#""computedProperties":[{"name":"id","query":"SELECT VALUE 1 FROM c"}]"#.into(), "The system property name 'id' cannot be used as a computed property name."),
        (r#""computedProperties":[{"name":"x","query":"SELECT VALUE 1 FROM c"},{"name":"x","query":"SELECT VALUE 2 FROM c"}]"#.into(), "Computed property name 'x' cannot be used in multiple definitions."),
        (r#""computedProperties":[{"name":"","query":"SELECT VALUE 1 FROM c"}]"#.into(), "Computed property 'name' is either empty or unspecified."),
        (r#""computedProperties":[{"name":"x","query":"SELECT VALUE"}]"#.into(), "Computed property at index (0) has a malformed query: 'SELECT VALUE' Error details: '{"),
        (r#""computedProperties":[{"name":"x","query":"SELECT LOWER(c.a) FROM r"}]"#.into(), r#"Computed property at index (0) has a malformed query: 'SELECT LOWER(c.a) FROM r' Error details: '{"errors":[{"severity":"Error","code":2001,"message":"Identifier 'c' could not be resolved."}]}'"#),
        (r#""computedProperties":[{"name":"y","query":"SELECT VALUE 1 FROM c"},{"name":"x","query":"SELECT LOWER(c.a) FROM c"}]"#.into(), "Required VALUE expression missing from computed property query 'SELECT LOWER(c.a) FROM c' at index (1)."),
        (r#""indexingPolicy":{"spatialIndexes":[{"path":"/x/*","types":["Point"]}]},"computedProperties":[{"name":"x","query":"SELECT VALUE c.a FROM c"}]"#.into(), "Computed property 'x' at index (0) has a spatial index. Remove the spatial index on this path."),
        (r#""computedProperties":[{"name":"x","query":"SELECT VALUE c.a FROM c WHERE c.b"}]"#.into(), "only SELECT VALUE and FROM are allowed"),
        (r#""computedProperties":[{"name":"x"}]"#.into(), "One of the specified inputs is invalid"),
        (r#""changeFeedPolicy":{"retentionDuration":-1}"#.into(), "retentionDuration"),
        (r#""clientEncryptionPolicy":{"policyFormatVersion":3,"includedPaths":[]}"#.into(), "policyFormatVersion 3"),
        (r#""materializedViewDefinition":{"sourceCollectionId":"x"}"#.into(), "not supported"),
        (r#""indexingPolicy":[]"#.into(), "indexingPolicy"),
    ];
    let client = client().await;
    for (extra, message) in table {
        let answer = client.create("dbs/d/colls", &body(&extra)).await.expect(400);
        assert!(answer.message.contains(message), "{extra}\n  {}", answer.message);
    }
    assert_eq!(client.list("dbs/d/colls").await.rows.len(), 0, "nothing was created");
    assert_eq!(client.list("offers").await.rows.len(), 0, "no offer is left behind");
}

#[tokio::test]
async fn partition_keys_are_checked() {
    #[rustfmt::skip]
    let table = [
        (r#"{"paths":["/pk"]}"#, 201, r#"{"paths":["/pk"],"kind":"Hash"}"#),
        (r#"{"paths":["/pk"],"version":1}"#, 201, r#"{"paths":["/pk"],"kind":"Hash","version":1}"#),
        (r#"{"paths":["/a","/b"],"kind":"MultiHash"}"#, 201, r#"{"paths":["/a","/b"],"kind":"MultiHash","version":2}"#),
        (r#"{"paths":["/a","/b","/c"],"kind":"MultiHash","version":2}"#, 201, r#"{"paths":["/a","/b","/c"],"kind":"MultiHash","version":2}"#),
        (r#"{"paths":["/\"a b\"/c"],"kind":"Hash","version":2}"#, 201, r#"{"paths":["/\"a b\"/c"],"kind":"Hash","version":2}"#),
        (r#"{"paths":["/a","/b","/c","/d"],"kind":"MultiHash","version":2}"#, 400, "Too many partition key paths"),
        (r#"{"paths":["/a","/b"],"kind":"Hash","version":2}"#, 400, "Too many partition key paths"),
        (r#"{"paths":["/a","/b"]}"#, 400, "Too many partition key paths"),
        (r#"{"paths":["/a"],"kind":"Odd"}"#, 400, "invalid"),
        (r#"{"paths":["/a"],"version":3}"#, 400, "invalid"),
        (r#"{"paths":["a"]}"#, 400, "invalid"), (r#"{"paths":["/a/?"]}"#, 400, "invalid"),
        (r#"{"paths":[]}"#, 400, "invalid"), ("{}", 400, "invalid"),
    ];
    let client = client().await;
    for (sent, code, expected) in table {
        let body = format!(r#"{{"id":"c","partitionKey":{sent}}}"#);
        let answer = client.create("dbs/d/colls", &body).await.expect(code);
        if code == 201 {
            assert_eq!(answer.value.get("partitionKey"), Some(&value(expected)));
            client.delete("dbs/d/colls/c").await.expect(204);
        } else {
            assert!(answer.message.contains(expected), "{sent}: {}", answer.message);
        }
    }
    let missing = client.create("dbs/d/colls", r#"{"id":"c"}"#).await.expect(400);
    assert!(missing.message.contains("'partitionKey; ' - are missing"));
    for path in ["/a b", "/a*", "/x/y?"] {
        let body = format!(r#"{{"id":"c","partitionKey":{{"paths":["{path}"],"kind":"Hash"}}}}"#);
        let refused = client.create("dbs/d/colls", &body).await.expect(400);
        let words = format!("component definition path '{path}' could not be accepted");
        assert!(refused.message.contains(&words), "{}", refused.message);
    }
    let old = client.with_options(|options| options.api_version = Some("2018-12-31".into()));
    let body = r#"{"id":"c","partitionKey":{"paths":["/a","/b"],"kind":"MultiHash","version":2}}"#;
    let refused = old.create("dbs/d/colls", body).await.expect(400);
    assert!(
        refused.message.contains("The 'kind' value 'MultiHash' specified in the partition key")
    );
}

/// Wire: no time to live is a property that is not there.
#[tokio::test]
async fn a_default_ttl_of_null_is_refused() {
    let client = client().await;
    client.create("dbs/d/colls", &body(r#""defaultTtl":null"#)).await.expect(400);
    client.create("dbs/d/colls", &body(r#""analyticalStorageTtl":null"#)).await.expect(201);
}

/// Version 1 is what a key without one has: naming it, or not, is no change.
#[tokio::test]
async fn a_key_version_that_nobody_named_stays_unnamed() {
    let client = client().await;
    let unnamed = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash"}}"#;
    let named = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":1}}"#;
    client.create("dbs/d/colls", unnamed).await.expect(201);
    for body in [unnamed, named] {
        let replaced = client.replace("dbs/d/colls/c", body).await.expect(200);
        let shown = value(r#"{"paths":["/pk"],"kind":"Hash"}"#);
        assert_eq!(replaced.value.get("partitionKey"), Some(&shown));
    }
    let other = named.replace("\"version\":1", "\"version\":2");
    client.replace("dbs/d/colls/c", &other).await.expect(400);
}

#[tokio::test]
async fn the_root_may_be_written_as_a_slash() {
    let client = client().await;
    let policy =
        r#""indexingPolicy":{"includedPaths":[{"path":"/a/?"}],"excludedPaths":[{"path":"/"}]}"#;
    let created = client.create("dbs/d/colls", &body(policy)).await.expect(201);
    let shown = created.value.get("indexingPolicy").unwrap().get("excludedPaths").unwrap();
    assert_eq!(*shown, value(r#"[{"path":"/*"},{"path":"/\"_etag\"/?"}]"#));
}

#[tokio::test]
async fn kinds_of_indexes_are_shown_to_clients_that_know_them() {
    let client = Client::with_container(1).await;
    let of = |version: &str| {
        client.with_options(|options| options.api_version = Some(version.to_owned()))
    };
    let (old, new) = (of("2018-08-31"), of("2018-12-31"));
    let kinds = r#"[{"kind":"Range","dataType":"String","precision":-1},{"kind":"Hash","dataType":"Number"}]"#;
    let body = format!(
        r#"{{"id":"old","indexingPolicy":{{"includedPaths":[{{"path":"/*","indexes":{kinds}}},{{"path":"/a/?","indexes":[]}}]}}}}"#
    );
    let included = |answer: &Answer| {
        let policy = answer.value.get("indexingPolicy").unwrap();
        policy.get("includedPaths").unwrap().to_text()
    };
    let with = format!(r#"[{{"path":"/*","indexes":{kinds}}},{{"path":"/a/?"}}]"#);
    let without = r#"[{"path":"/*"},{"path":"/a/?"}]"#;
    assert_eq!(included(&old.create("dbs/d/colls", &body).await.expect(201)), with);
    assert_eq!(included(&old.read("dbs/d/colls/old").await.expect(200)), with);
    let listed = old.list("dbs/d/colls").await.expect(200).rows;
    assert!(listed.iter().any(|row| row.to_text().contains(&with)), "{listed:?}");
    let read = new.read("dbs/d/colls/old").await.expect(200);
    assert_eq!(included(&read), without);
    let replaced = new.replace("dbs/d/colls/old", &read.value.to_text()).await.expect(200);
    assert_eq!(included(&replaced), without);
    assert_eq!(included(&old.read("dbs/d/colls/old").await.expect(200)), without);
}

#[tokio::test]
async fn quota_and_statistics_come_on_demand() {
    let client = Client::with_container(2).await;
    client.items().create(r#"{"id":"1","pk":"a"}"#).await.expect(201);
    let plain = client.read("dbs/d/colls/c").await;
    assert_eq!((plain.facts.quota.clone(), plain.value.get("statistics")), (None, None));
    let full = client.with_options(|options| {
        options.wants_quota = true;
        options.wants_partition_statistics = true;
    });
    let answer = full.read("dbs/d/colls/c").await;
    assert!(answer.facts.usage.unwrap().contains("documentsCount=1;"));
    assert!(answer.facts.quota.unwrap().contains("collectionSize=104857600;"));
    assert_eq!(answer.facts.index_progress, Some(100));
    let statistics = answer.value.get("statistics").and_then(Value::as_array).unwrap();
    assert_eq!(statistics.len(), 2);
}

/// The spillover resolver of the first SDKs decides by these, and has no way to ask for them.
#[tokio::test]
async fn old_clients_are_told_quota_usage_and_position_unasked() {
    let client = Client::with_container(1).await;
    client.items().create(r#"{"id":"1","pk":"a"}"#).await.expect(201);
    for (version, is_told) in [("2016-07-11", true), ("2018-09-17", true), ("2018-12-31", false)] {
        let client = client.with_options(|options| options.api_version = Some(version.into()));
        let facts = client.read("dbs/d/colls/c").await.facts;
        let usage = facts.usage.filter(|usage| usage.contains("documentsCount=1;"));
        assert_eq!(usage.is_some(), is_told, "{version}");
        assert_eq!(facts.quota.is_some(), is_told, "{version}");
        assert_eq!(facts.index_progress, is_told.then_some(100), "{version}");
        let session = if version < "2018-06-18" { "0:2" } else { "0:-1#2" };
        assert_eq!(facts.session.unwrap().to_string(), session, "{version}");
    }
}
