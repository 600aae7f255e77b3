//! Queries: scopes, fan-out, refusals, plans, metadata.

use std::collections::BTreeSet;

use account::{ItemAction, QueryText, Scan};
use model::{PartitionKey, Value};

use crate::support::{Client, link};

async fn filled(n_ranges: u32) -> Client {
    let client = Client::with_container(n_ranges).await;
    for n in 0..30 {
        let body = format!(r#"{{"id":"{n}","pk":"k{}","n":{n}}}"#, n % 6);
        client.items().create(&body).await.expect(201);
    }
    client
}

#[tokio::test]
async fn plain_queries_are_served_over_all_ranges() {
    for n_ranges in [1, 5] {
        let client = filled(n_ranges).await;
        let rows = client.items().query_all("SELECT VALUE c.id FROM c WHERE c.n >= 10").await;
        let ids: BTreeSet<&str> = rows.iter().map(|row| row.as_str().unwrap()).collect();
        assert_eq!((rows.len(), ids.len()), (20, 20));
        let none = client.items().query("SELECT c.id FROM c WHERE c.n > 99").await.expect(200);
        assert!(none.facts.scan.is_some() && none.facts.query_metrics.is_some());
        assert!(none.facts.charge.hundredths() >= 250 * u64::from(n_ranges));
        let mut ids = BTreeSet::new();
        let (mut continuation, mut n_pages) = (None, 0);
        loop {
            let page = client.with_options(|options| {
                options.items_max = Some(4);
                options.continuation = continuation.take();
            });
            let page = page.items().query("SELECT VALUE c.n FROM c").await.expect(200);
            ids.extend(page.rows.iter().map(|row| row.as_i64().unwrap()));
            n_pages += 1;
            continuation = page.facts.continuation;
            if continuation.is_none() {
                break;
            }
        }
        assert_eq!(ids, (0..30).collect());
        assert!(n_pages >= 8);
    }
}

#[tokio::test]
async fn a_query_without_from_has_one_row() {
    for n_ranges in [1, 5] {
        let client = filled(n_ranges).await;
        for text in ["SELECT VALUE 1", "SELECT VALUE COUNT(1)", "SELECT TOP 1 VALUE 1"] {
            assert_eq!(
                client.items().query(text).await.expect(200).rows,
                [Value::from(1)],
                "{text}"
            );
        }
    }
}

#[tokio::test]
async fn one_range_of_several_does_not_count_for_all() {
    let text = "SELECT VALUE s.n FROM (SELECT COUNT(1) AS n FROM c) s";
    let client = filled(5).await;
    client.items().range(0).query(text).await.expect(400);
    let of_key = client.items().key(r#"["k1"]"#).query(text).await.expect(200);
    assert_eq!(of_key.rows, [Value::from(5)]);
    let whole = filled(1).await;
    assert_eq!(whole.items().range(0).query(text).await.expect(200).rows, [Value::from(30)]);
}

/// Clients that resume a query skip ties by the direction that the answer names.
#[tokio::test]
async fn answers_say_in_which_order_ties_come() {
    let client = filled(1).await;
    for (order, scan) in [
        ("c.pk", Scan::Forward),
        ("c.pk DESC", Scan::Reverse),
        ("c.none", Scan::Forward),
        ("c.none DESC", Scan::Reverse),
        ("c._ts DESC", Scan::Reverse),
    ] {
        let text = format!("SELECT VALUE c.n FROM c ORDER BY {order}");
        let rows = client.items().key(r#"["k1"]"#).query(&text).await.expect(200);
        assert_eq!(rows.facts.scan, Some(scan), "{order}");
        let mut expected = [1, 7, 13, 19, 25];
        if scan == Scan::Reverse {
            expected.reverse();
        }
        let numbers: Vec<i64> = rows.rows.iter().filter_map(Value::as_i64).collect();
        assert_eq!(numbers, expected, "{order}");
    }
    let rows = client.items().query("SELECT * FROM c").await.expect(200);
    assert_eq!(rows.facts.scan, Some(Scan::Forward));
}

#[tokio::test]
async fn queries_that_need_merging_are_refused_with_their_plan() {
    for n_ranges in [1, 4] {
        let client = filled(n_ranges).await;
        for text in [
            "SELECT VALUE COUNT(1) FROM c",
            "SELECT * FROM c ORDER BY c.n",
            "SELECT TOP 3 * FROM c",
            "SELECT DISTINCT VALUE c.pk FROM c",
            "SELECT * FROM c OFFSET 1 LIMIT 2",
        ] {
            let refused = client.items().query(text).await.expect_sub(400, 1004);
            assert!(
                refused
                    .message
                    .contains("cross partition query can not be directly served by the gateway")
            );
            let plan = crate::support::value(&refused.additional_info.expect("a plan"));
            assert!(plan.get("queryInfo").is_some() && plan.get("queryRanges").is_some(), "{text}");
            client.items().key(r#"["k1"]"#).query(text).await.expect(200);
            client.items().range(0).query(text).await.expect(200);
        }
        let grouped = client.items().query("SELECT c.pk, COUNT(1) AS n FROM c GROUP BY c.pk").await;
        let grouped = grouped.expect_sub(400, 0);
        assert!(
            grouped.message.contains("Cross partition query only supports 'VALUE <AggregateFunc>'")
        );
        let total: i64 = {
            let mut total = 0;
            for range in 0..n_ranges {
                let rows =
                    client.items().range(range).query("SELECT VALUE COUNT(1) FROM c").await.rows;
                total += rows[0].as_i64().unwrap();
            }
            total
        };
        assert_eq!(total, 30);
    }
}

#[tokio::test]
async fn explanations_name_the_ranges_that_can_hold_results() {
    let client = filled(4).await;
    let udf = r#"{"id":"f","body":"function f(n) { return n; }"}"#;
    client.create("dbs/d/colls/c/udfs", udf).await.expect(201);
    let explain = |text: &str, key: Option<&str>| {
        let query = QueryText { text: text.to_owned(), ..QueryText::default() };
        let key = key.map(|key| PartitionKey::from_header(key).unwrap());
        client.account.explain(&link("dbs/d/colls/c"), &query, key.as_ref())
    };
    let of = |text: &str, key: Option<&str>| {
        let found = explain(text, key).unwrap();
        assert_eq!(found.n_ranges, 4);
        let mut plans: Vec<String> = found.asked.into_iter().map(|range| range.plan).collect();
        let n_asked = plans.len();
        plans.dedup();
        (n_asked, plans.concat(), found.needs_merge)
    };
    let seek = || "stream\n  seek /n = 7\n".to_owned();
    assert_eq!(of("SELECT * FROM c WHERE c.n = 7", None), (4, seek(), false));
    assert_eq!(of("SELECT udf.f(c.id) FROM c WHERE c.n = 7", None), (4, seek(), false));
    let (n_asked, plan, needs_merge) = of("SELECT * FROM c ORDER BY c.n DESC", None);
    assert_eq!((n_asked, plan.as_str(), needs_merge), (4, "follow /n descending\n", true));
    assert_eq!(of(r#"SELECT * FROM c WHERE c.pk = "k1" ORDER BY c.n"#, None).0, 1);
    assert!(!of(r#"SELECT * FROM c WHERE c.pk = "k1" ORDER BY c.n"#, None).2);
    assert_eq!(of("SELECT * FROM c", Some(r#"["k2"]"#)).0, 1);
    let of_key = explain("SELECT * FROM c", Some(r#"["k2"]"#)).unwrap();
    assert_eq!(of_key.usage.utilized, ["/pk/?"], "as the index metrics of such a query say");
    assert_eq!(of(r#"SELECT * FROM c WHERE c.pk = "k1" AND c.pk = "k2""#, None).0, 0);
    for (text, key) in [("SELECT x", None), ("SELECT 1", Some(r#"["a","b"]"#))] {
        let error = explain(text, key).unwrap_err();
        assert!(
            matches!(error, account::Error::Query(_) | account::Error::PartitionKey(_)),
            "{error:?}"
        );
    }
}

#[tokio::test]
async fn a_container_without_items_has_the_indexes_of_its_policy() {
    let client = Client::with_container(1).await;
    let query = QueryText { text: "SELECT * FROM c WHERE c.n = 1".into(), ..QueryText::default() };
    let found = client.account.explain(&link("dbs/d/colls/c"), &query, None).unwrap();
    assert_eq!((found.usage.utilized, found.usage.potential), (vec!["/n/?".to_owned()], vec![]));
    assert_eq!(client.items().query(&query.text).await.expect(200).rows, []);
}

/// Asks the server to merge, page by page.
async fn merged(client: &Client, text: &str, items_max: u32, degree: usize) -> Vec<Value> {
    let (mut rows, mut continuation) = (Vec::new(), None);
    loop {
        let client = client.with_options(|options| {
            options.items_max = Some(items_max);
            options.continuation = continuation.take();
        });
        let query = QueryText { text: text.into(), merge: Some(degree), ..QueryText::default() };
        let action = ItemAction::Query {
            query,
            cross_partition: false,
            wants_query_metrics: true,
            wants_index_metrics: account::IndexMetrics::No,
        };
        let page = client.items().run(action).await.expect(200);
        assert!(page.rows.len() <= items_max as usize);
        rows.extend(page.rows);
        continuation = page.facts.continuation;
        if continuation.is_none() {
            return rows;
        }
    }
}

#[tokio::test]
async fn the_server_merges_when_it_is_asked_to() {
    let numbers = |range: &mut dyn Iterator<Item = i64>| range.map(Value::from).collect::<Vec<_>>();
    for (n_ranges, degree) in [(1, 1), (5, 1), (5, 4), (5, 99)] {
        let client = filled(n_ranges).await;
        for (text, expected) in [
            ("SELECT VALUE c.n FROM c ORDER BY c.n DESC", numbers(&mut (0..30).rev())),
            ("SELECT TOP 7 VALUE c.n FROM c ORDER BY c.n", numbers(&mut (0..7))),
            ("SELECT VALUE c.n FROM c ORDER BY c.n OFFSET 5 LIMIT 9", numbers(&mut (5..14))),
            (
                "SELECT DISTINCT VALUE c.n % 3 FROM c WHERE c.n > 20 ORDER BY c.n",
                numbers(&mut [0, 1, 2].into_iter()),
            ),
            ("SELECT VALUE COUNT(1) FROM c", vec![Value::from(30)]),
            ("SELECT VALUE SUM(c.n + 0) FROM c WHERE c.n % 2 = 0", vec![Value::from(210)]),
            ("SELECT VALUE AVG(c.n) FROM c WHERE c.n < 3", vec![Value::from(1)]),
            ("SELECT VALUE MAX(c.n * 2) FROM c", vec![Value::from(58)]),
            ("SELECT VALUE COUNT(1) FROM c WHERE false", vec![Value::from(0)]),
        ] {
            for items_max in [4, 1000] {
                assert_eq!(merged(&client, text, items_max, degree).await, expected, "{text}");
            }
        }
        let text = "SELECT c.pk, COUNT(1) AS k FROM c GROUP BY c.pk";
        let groups = merged(&client, text, 4, degree).await;
        let names: BTreeSet<&str> =
            groups.iter().map(|group| group.get("pk").unwrap().as_str().unwrap()).collect();
        assert_eq!((groups.len(), names.len()), (6, 6));
        assert!(groups.iter().all(|group| group.get("k") == Some(&Value::from(5))), "{groups:?}");
        let distinct = merged(&client, "SELECT DISTINCT VALUE c.pk FROM c", 4, degree).await;
        assert_eq!(distinct.len(), 6);
    }
}

#[tokio::test]
async fn a_merged_continuation_is_no_other_and_survives_more_items() {
    let client = filled(4).await;
    let text = "SELECT VALUE c.n FROM c ORDER BY c.n";
    let query = |merge| ItemAction::Query {
        query: QueryText { text: text.into(), merge, ..QueryText::default() },
        cross_partition: true,
        wants_query_metrics: false,
        wants_index_metrics: account::IndexMetrics::No,
    };
    let small = client.with_options(|options| options.items_max = Some(10));
    let first = small.items().run(query(Some(2))).await.expect(200);
    assert_eq!(first.rows.len(), 10);
    assert_eq!((first.facts.session, first.facts.range), (None, None), "four ranges served");
    client.items().create(r#"{"id":"low","pk":"k9","n":-5}"#).await.expect(201);
    client.items().create(r#"{"id":"high","pk":"k9","n":12.5}"#).await.expect(201);
    let token = first.facts.continuation;
    let rest = client.with_options(|options| options.continuation = token.clone());
    let rows = rest.items().run(query(Some(3))).await.expect(200).rows;
    let mut expected: Vec<Value> = (10..30).map(Value::from).collect();
    expected.insert(3, Value::from(12.5));
    assert_eq!(rows, expected);
    let foreign = rest.items().range(0).run(query(None)).await;
    assert_eq!(foreign.status.code, 400);
}

#[tokio::test]
async fn continuations_are_as_short_as_the_client_says() {
    let client = Client::with_container(3).await;
    let long = "x".repeat(600);
    for n in 0..20 {
        let body = format!(r#"{{"id":"{n}","pk":"k{n}","name":"{long}{n:02}"}}"#);
        client.items().create(&body).await.expect(201);
    }
    for (kib, is_short) in [(None, false), (Some(1), true), (Some(2), true), (Some(16), false)] {
        let (mut names, mut continuation, mut longest) = (Vec::new(), None, 0);
        loop {
            let page = client.with_options(|options| {
                options.items_max = Some(3);
                options.continuation = continuation.take();
                options.continuation_kib_max = kib;
            });
            let text = "SELECT VALUE c.name FROM c ORDER BY c.name";
            let query = QueryText { text: text.into(), merge: Some(2), ..QueryText::default() };
            let action = ItemAction::Query {
                query,
                cross_partition: true,
                wants_query_metrics: false,
                wants_index_metrics: account::IndexMetrics::No,
            };
            let page = page.items().run(action).await.expect(200);
            names.extend(page.rows.iter().map(|row| row.as_str().unwrap()[600..].to_owned()));
            continuation = page.facts.continuation;
            let Some(token) = &continuation else { break };
            longest = longest.max(token.len());
        }
        let expected: Vec<String> = (0..20).map(|n| format!("{n:02}")).collect();
        assert_eq!(names, expected, "{kib:?}");
        assert_eq!(longest <= 1024, is_short, "{kib:?}: {longest}");
        assert!(kib.is_none_or(|kib| longest <= kib as usize * 1024), "{kib:?}: {longest}");
    }
}

#[tokio::test]
async fn a_filter_on_the_key_makes_one_partition_of_it() {
    let client = filled(5).await;
    let text = "SELECT VALUE c.n FROM c WHERE c.pk = 'k2' ORDER BY c.n DESC";
    let rows = client.items().query_with(text, false).await.expect(200);
    let numbers: Vec<i64> = rows.rows.iter().map(|row| row.as_i64().unwrap()).collect();
    assert_eq!(numbers, [26, 20, 14, 8, 2]);
    assert!(rows.facts.range.is_some(), "one range served it");
    let refused = client.items().query_with("SELECT * FROM c", false).await.expect(400);
    assert!(refused.message.contains("Cross partition query is required but disabled"));
    let two = client.items().query_all("SELECT c.id FROM c WHERE c.pk IN ('k1', 'k2')").await;
    assert_eq!(two.len(), 10);
    let none = client
        .items()
        .query("SELECT c.id FROM c WHERE c.pk = 'k1' AND c.pk = 'k2'")
        .await
        .expect(200);
    assert_eq!(none.rows.len(), 0);
}

#[tokio::test]
async fn mistakes_in_a_query_are_shown() {
    let client = filled(2).await;
    let bad = client.items().query("SELECT FROM WHERE").await.expect(400);
    assert!(
        bad.message.contains("SC1001") && bad.message.contains("Syntax error"),
        "{}",
        bad.message
    );
    let foreign = client.with_options(|options| options.continuation = Some("abc".into()));
    foreign.items().query("SELECT * FROM c").await.expect(400);
    let small = client.with_options(|options| options.items_max = Some(2));
    let token = small.items().query("SELECT * FROM c").await.facts.continuation.unwrap();
    let other = client.with_options(|options| options.continuation = Some(token));
    other.items().query("SELECT * FROM c WHERE c.n > 1").await.expect(400);
    other.items().query("SELECT * FROM c").await.expect(200);
}

#[tokio::test]
async fn an_order_goes_on_where_the_client_says() {
    let client = filled(1).await;
    let run = |filter: &str| ItemAction::Query {
        query: QueryText {
            text: "SELECT VALUE c.n FROM c ORDER BY c.n".to_owned(),
            resume_filter: Some(model::json::parse(filter.as_bytes()).unwrap()),
            ..QueryText::default()
        },
        cross_partition: true,
        wants_query_metrics: false,
        wants_index_metrics: account::IndexMetrics::No,
    };
    let items = client.items().range(0);
    let rest = items.run(run(r#"{"value":[20],"exclude":false}"#)).await.expect(200);
    let rest: Vec<i64> = rest.rows.iter().map(|row| row.as_i64().unwrap()).collect();
    assert_eq!(rest, (20..30).collect::<Vec<_>>());
    client.items().range(0).run(run(r#"{"value":7}"#)).await.expect(400);
}

#[tokio::test]
async fn plans_are_answered() {
    let client = filled(3).await;
    let plan = |text: &str, features: &str| {
        let query = QueryText { text: text.to_owned(), ..QueryText::default() };
        ItemAction::QueryPlan { query, supported_features: features.to_owned() }
    };
    let answer =
        client.items().run(plan("SELECT * FROM c ORDER BY c.n", "OrderBy")).await.expect(200);
    assert_eq!(
        answer.value.get("partitionedQueryExecutionInfoVersion").and_then(Value::as_i64),
        Some(2)
    );
    let refused =
        client.items().run(plan("SELECT VALUE COUNT(1) FROM c", "OrderBy")).await.expect(400);
    assert!(refused.message.contains("unsupported features"), "{}", refused.message);
}

#[tokio::test]
async fn computed_properties_are_queried() {
    let client = Client::new(2).await;
    client.create("dbs", r#"{"id":"d"}"#).await.expect(201);
    let body = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},
        "computedProperties":[{"name":"low","query":"SELECT VALUE LOWER(c.name) FROM c"}]}"#;
    client.create("dbs/d/colls", body).await.expect(201);
    client.items().create(r#"{"id":"1","pk":"a","name":"ABC"}"#).await.expect(201);
    let rows =
        client.items().query("SELECT VALUE c.low FROM c WHERE c.low = 'abc'").await.expect(200);
    assert_eq!(rows.rows, [Value::from("abc")]);
}

#[tokio::test]
async fn metadata_is_queried_too() {
    let client = filled(1).await;
    client.create("dbs", r#"{"id":"e"}"#).await.expect(201);
    let ids = |answer: &crate::support::Answer| answer.ids();
    let found =
        client.query_resources("dbs", "SELECT * FROM root r WHERE r.id = 'e'").await.expect(200);
    assert_eq!(ids(&found), ["e"]);
    assert_eq!(client.query_resources("dbs", "SELECT * FROM r").await.rows.len(), 2);
    let found = client
        .query_resources("dbs/d/colls", "SELECT c.id FROM c WHERE c.id = 'c'")
        .await
        .expect(200);
    assert_eq!(ids(&found), ["c"]);
    assert_eq!(
        client.query_resources("dbs/d/colls/c/conflicts", "SELECT * FROM c").await.rows.len(),
        0
    );
    client.query_resources("dbs", "SELECT oops").await.expect(400);
    let small = client.with_options(|options| options.items_max = Some(1));
    let first = small.query_resources("dbs", "SELECT VALUE r.id FROM r").await.expect(200);
    let token = first.facts.continuation.unwrap();
    let rest = small.with_options(|options| options.continuation = Some(token));
    let second = rest.query_resources("dbs", "SELECT VALUE r.id FROM r").await.expect(200);
    // They come in the order of their rids, which are random.
    let mut all = [first.rows, second.rows].concat();
    all.sort_by(|a, b| a.as_str().cmp(&b.as_str()));
    assert_eq!((all, second.facts.continuation), (vec![Value::from("d"), Value::from("e")], None));
}

#[tokio::test]
async fn an_ordered_range_query_goes_on_under_a_filter_that_resumes() {
    let client = filled(1).await;
    let text = |filter: &str| {
        format!(
            "SELECT c._rid, [{{\"item\": c.n}}] AS orderByItems, c.n AS payload\nFROM c\nWHERE ({filter})\nORDER BY c.n"
        )
    };
    let ask = |text: String, continuation: Option<String>| {
        let client = client.with_options(|options| {
            options.items_max = Some(4);
            options.continuation = continuation;
        });
        async move { client.items().range(0).query(&text).await }
    };
    let first = ask(text("true"), None).await.expect(200);
    let token = first.facts.continuation.clone();
    assert!(token.is_some());
    let payloads = |answer: &crate::support::Answer| -> Vec<i64> {
        answer.rows.iter().map(|row| row.get("payload").unwrap().as_i64().unwrap()).collect()
    };
    assert_eq!(payloads(&first), [0, 1, 2, 3]);
    let second = ask(text("c.n >= 3"), token.clone()).await.expect(200);
    assert_eq!(payloads(&second), [4, 5, 6, 7]);
    // The rest of the text still counts.
    let other = text("true").replace("ORDER BY c.n", "ORDER BY c.id");
    ask(other, token.clone()).await.expect(400);
    ask("SELECT * FROM c WHERE true ORDER BY c.n".to_owned(), token).await.expect(400);
}

/// As many long queries as there are threads for requests leave room for a read.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_queries_do_not_hold_up_other_requests() {
    let client = Client::with_container(1).await;
    let list: Vec<String> = (0..90).map(|n| n.to_string()).collect();
    let body = format!(r#"{{"id":"1","pk":"k","list":[{}]}}"#, list.join(","));
    client.items().create(&body).await.expect(201);
    let text = "SELECT VALUE COUNT(1) FROM c JOIN x IN c.list JOIN y IN c.list JOIN z IN c.list";
    let long = [(); 2].map(|()| {
        let client = client.clone();
        tokio::spawn(async move { client.items().key(r#"["k"]"#).query(text).await.expect(200) })
    });
    tokio::time::sleep(std::time::Duration::from_millis(50)).await;
    let read = {
        let client = client.clone();
        tokio::spawn(async move { client.items().key(r#"["k"]"#).read("1").await.expect(200) })
    };
    read.await.unwrap();
    assert!(long.iter().all(|long| !long.is_finished()), "the read came after a long query");
    for long in long {
        assert_eq!(long.await.unwrap().rows[0].as_i64(), Some(90 * 90 * 90));
    }
}

#[tokio::test]
async fn a_text_is_searched_in_its_language_and_a_change_of_it_rebuilds_the_index() {
    let client = Client::new(1).await;
    client.create("dbs", r#"{"id":"d"}"#).await.expect(201);
    let container = |language: &str| {
        format!(
            r#"{{"id":"c","partitionKey":{{"paths":["/pk"],"kind":"Hash","version":2}},
            "indexingPolicy":{{"includedPaths":[{{"path":"/*"}}],"excludedPaths":[],
                "fullTextIndexes":[{{"path":"/text"}}]}},
            "fullTextPolicy":{{"defaultLanguage":"en-US",
                "fullTextPaths":[{{"path":"/text","language":"{language}"}}]}}}}"#
        )
    };
    client.create("dbs/d/colls", &container("en-US")).await.expect(201);
    for (id, text) in [("1", "Häuser am Fluss"), ("2", "des Hauses"), ("3", "houses")] {
        let body = format!(r#"{{"id":"{id}","pk":"a","text":"{text}"}}"#);
        client.items().key(r#"["a"]"#).create(&body).await.expect(201);
    }
    let found = async |word: &str| {
        let text = format!("SELECT VALUE c.id FROM c WHERE FullTextContains(c.text, '{word}')");
        let answer = client.items().key(r#"["a"]"#).query(&text).await.expect(200);
        answer.rows.iter().filter_map(|row| Some(row.as_str()?.to_string())).collect::<Vec<_>>()
    };
    assert_eq!(found("house").await, ["3"]);
    assert!(found("Häusern").await.is_empty());
    client.replace("dbs/d/colls/c", &container("de-DE")).await.expect(200);
    // At once, while the index of the new language is made.
    assert_eq!(found("Häusern").await, ["1", "2"]);
    client.account.run_jobs_once().await.unwrap();
    assert_eq!(found("Häusern").await, ["1", "2"]);
    let refused = client.replace("dbs/d/colls/c", &container("nl-NL")).await;
    refused.expect(400);
}

#[tokio::test]
async fn items_of_a_key_are_counted_without_reading_them() {
    let client = Client::with_container(2).await;
    for n in 0..7 {
        client.items().create(&format!(r#"{{"id":"{n}","pk":"a"}}"#)).await.expect(201);
    }
    client.items().create(r#"{"id":"1","pk":"b"}"#).await.expect(201);
    let items = client.items().key(r#"["a"]"#);
    items.delete("3").await.expect(204);
    for (text, n_read) in [
        ("SELECT VALUE COUNT(1) FROM c", 0),
        ("SELECT VALUE COUNT(1) FROM c WHERE c.id != 'x'", 6),
        ("SELECT VALUE COUNT(c.id) FROM c", 6),
    ] {
        let counted = items.query(text).await.expect(200);
        assert_eq!(counted.rows, [Value::from(6)], "{text}");
        let metrics = counted.facts.query_metrics.unwrap();
        assert!(
            metrics.contains(&format!("retrievedDocumentCount={n_read};")),
            "{text}: {metrics}"
        );
    }
}

/// Wire: `x-ms-documentdb-query-parallelizecrosspartitionquery`.
#[tokio::test]
async fn clients_that_read_ranges_side_by_side_get_the_plan() {
    let client = filled(4).await;
    let query = |text: &str| {
        let wants_plan = true;
        QueryText { text: text.to_owned(), wants_plan, ..QueryText::default() }
    };
    for text in ["SELECT * FROM c", "SELECT * FROM c WHERE c.n > 3", "SELECT * FROM c ORDER BY c.n"]
    {
        let refused = client.items().query_as(query(text), true).await.expect_sub(400, 1004);
        assert!(refused.additional_info.unwrap().contains("queryRanges"), "{text}");
        client.items().range(0).query_as(query(text), true).await.expect(200);
        client.items().key(r#"["k1"]"#).query_as(query(text), true).await.expect(200);
    }
    let one_key = r#"SELECT * FROM c WHERE c.pk = "k1""#;
    client.items().query_as(query(one_key), true).await.expect(200);
    let whole = filled(1).await;
    whole.items().query_as(query("SELECT * FROM c"), true).await.expect(200);
}

#[tokio::test]
async fn who_sends_no_plan_is_told_whether_one_is_needed() {
    let client = filled(1).await;
    #[rustfmt::skip]
    let table = [
        ("SELECT * FROM c", false), ("SELECT TOP 2 * FROM c", false), ("SELECT * FROM c ORDER BY c.n", false),
        ("SELECT * FROM c OFFSET 1 LIMIT 2", false), ("SELECT DISTINCT c.pk FROM c", true),
        ("SELECT VALUE COUNT(1) FROM c", true), ("SELECT c.pk, COUNT(1) FROM c GROUP BY c.pk", true),
    ];
    for (text, expected) in table {
        let query =
            |is_optimistic| QueryText { text: text.into(), is_optimistic, ..QueryText::default() };
        let items = client.items().range(0);
        let told = items.query_as(query(true), true).await.expect(200).facts;
        assert_eq!(told.requires_distribution, Some(expected), "{text}");
        let untold = items.query_as(query(false), true).await.expect(200).facts;
        assert_eq!(untold.requires_distribution, None, "{text}");
    }
}

/// Who sends such a query without a plan is told the plan first, as for every other order.
#[tokio::test]
async fn a_query_vector_of_another_length_is_a_mistake_where_there_are_items() {
    let client = Client::new(1).await;
    client.create("dbs", r#"{"id":"d"}"#).await.expect(201);
    let vectors = r#"{"vectorEmbeddings":[{"path":"/v","dataType":"float32","dimensions":2,"distanceFunction":"cosine"}]}"#;
    let body = format!(
        r#"{{"id":"c","partitionKey":{{"paths":["/pk"],"kind":"Hash","version":2}},"vectorEmbeddingPolicy":{vectors}}}"#
    );
    client.create("dbs/d/colls", &body).await.expect(201);
    let text = "SELECT TOP 2 c.id FROM c ORDER BY VectorDistance(c.v, [1,2,3])";
    client.items().query(text).await.expect_sub(400, 1004);
    assert_eq!(client.items().range(0).query(text).await.expect(200).rows, []);
    client.items().create(r#"{"id":"1","pk":"a","v":[1,2]}"#).await.expect(201);
    client.items().query(text).await.expect_sub(400, 1004);
    let refused = client.items().range(0).query(text).await.expect_sub(400, 0);
    assert!(refused.message.contains("One of the input values is invalid."));
}
