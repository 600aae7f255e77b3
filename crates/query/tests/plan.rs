//! Plans beyond the case files: hierarchical keys, ranked queries, missing features.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod client;

use client::{MemorySource, run_all, stored};
use model::{Env, PartitionKey, PartitionKeyDefinition, Rid, Value};
use query::{Error, Features, PrepareOptions, Statement};

fn options() -> PrepareOptions {
    PrepareOptions::new(Env::fixed(1, 1))
}

fn plan(text: &str, paths: &[&str], features: &Features) -> Result<Value, Error> {
    let definition = PartitionKeyDefinition::new(paths).unwrap();
    query::query_plan(text, &[], &options(), &definition, features)
}

fn ranges(filter: &str, paths: &[&str]) -> Vec<(String, String)> {
    let plan = plan(&format!("SELECT * FROM c WHERE {filter}"), paths, &Features::all()).unwrap();
    let end = |range: &Value, name: &str| range.get(name).unwrap().as_str().unwrap().to_string();
    let list = plan.get("queryRanges").unwrap().as_array().unwrap().to_vec();
    list.iter().map(|range| (end(range, "min"), end(range, "max"))).collect()
}

fn point(key: &str, paths: &[&str]) -> (String, String) {
    let definition = PartitionKeyDefinition::new(paths).unwrap();
    let epk = definition.epk(&PartitionKey::from_header(key).unwrap()).to_string();
    (epk.clone(), epk)
}

#[test]
fn filters_on_the_key_name_points() {
    let paths = &["/pk"];
    let full = vec![(String::new(), "FF".to_string())];
    #[rustfmt::skip]
    let table: Vec<(&str, Vec<&str>)> = vec![
        ("c.pk = 5", vec!["[5]"]),
        ("5 = c['pk']", vec!["[5]"]),
        ("c.pk IN (1,2,3,4,5,6,7,8,9,1.0)", vec!["[1]", "[2]", "[3]", "[4]", "[5]", "[6]", "[7]", "[8]", "[9]"]),
        ("c.pk", vec!["[true]"]),
        ("NOT c.pk", vec!["[false]"]),
        ("IS_BOOL(c.pk)", vec!["[true]", "[false]"]),
        ("IS_NULL(c.pk)", vec!["[null]"]),
        ("ABS(c.pk) = 1", vec!["[1]", "[-1]"]),
        ("ARRAY_CONTAINS([1,'a'], c.pk)", vec!["[1]", "[\"a\"]"]),
        ("c.pk = 'a' AND (c.x = 1 OR c.y = 2)", vec!["[\"a\"]"]),
        ("(c.id = '1' AND c.pk = 'a') OR (c.id = '2' AND c.pk = 'b')", vec!["[\"a\"]", "[\"b\"]"]),
        ("c.pk = LOWER('A')", vec!["[\"a\"]"]),
        ("c.pk IN (1, 2) AND c.pk IN (2, 3)", vec!["[2]"]),
        ("c.pk = [1]", vec!["[{}]"]),
        ("NOT (NOT (c.pk = 1))", vec!["[1]"]),
        ("c.pk <= false", vec!["[false]"]),
        ("c.pk ?? 1", vec!["[true]"]),
    ];
    for (filter, keys) in table {
        let mut expected: Vec<_> = keys.iter().map(|key| point(key, paths)).collect();
        expected.sort();
        assert_eq!(ranges(filter, paths), expected, "{filter}");
    }
    for filter in [
        "c.pk > 1",
        "c.pk != 1",
        "STARTSWITH(c.pk, 'a')",
        "c.pk = 1 OR c.x = 2",
        "c.pk = c.x",
        "NOT (c.pk = 1)",
    ] {
        assert_eq!(ranges(filter, paths), full, "{filter}");
    }
    for filter in [
        "false",
        "c.pk = 1 AND c.pk = 2",
        "1",
        "c.pk = undefined",
        "c.pk = 1 AND EXISTS(SELECT VALUE 1 FROM c WHERE c.pk = 2)",
        "c.n > 5 AND c.n < 2",
        "c.n + 1 = 'a'",
        "IS_STRING(c.n) AND c.n = 1",
        "c.n = 1 AND c.n.x = 2",
        "(c.n = 1 OR c.m = 2) AND c.n = 3 AND c.m = 4",
    ] {
        assert_eq!(ranges(filter, paths), [(String::new(), String::new())], "{filter}");
    }
}

#[test]
fn hierarchical_keys_name_prefixes() {
    let paths = &["/t", "/u", "/s"];
    let prefix = point("[\"a\"]", paths).0;
    assert_eq!(ranges("c.t = 'a'", paths), [(prefix.clone(), format!("{prefix}FF"))]);
    assert_eq!(ranges("c.t = 'a' AND c.s = 1", paths), [(prefix.clone(), format!("{prefix}FF"))]);
    assert_eq!(ranges("c.u = 'a'", paths), [(String::new(), "FF".to_string())]);
    assert_eq!(
        ranges("c.t = 'a' AND c.u = 'b' AND c.s = 1", paths),
        [point("[\"a\",\"b\",1]", paths)]
    );
    let mut product = vec![point("[\"a\",1,0]", paths), point("[\"a\",2,0]", paths)];
    product.sort();
    assert_eq!(ranges("c.t = 'a' AND c.u IN (1, 2) AND c.s = 0", paths), product);
}

#[test]
fn a_missing_feature_is_named() {
    for (text, feature) in [
        ("SELECT VALUE COUNT(1) FROM c", "Aggregate"),
        ("SELECT COUNT(1) FROM c", "NonValueAggregate"),
        ("SELECT COUNT(1), SUM(c.a) FROM c", "MultipleAggregates"),
        ("SELECT DISTINCT c.a FROM c", "Distinct"),
        ("SELECT c.a FROM c GROUP BY c.a", "GroupBy"),
        ("SELECT * FROM c ORDER BY c.a", "OrderBy"),
        ("SELECT * FROM c ORDER BY c.a, c.b", "MultipleOrderBy"),
        ("SELECT TOP 1 * FROM c", "Top"),
        ("SELECT * FROM c OFFSET 1 LIMIT 1", "OffsetAndLimit"),
        ("SELECT TOP 1 * FROM c ORDER BY VectorDistance(c.v, [1])", "NonStreamingOrderBy"),
        ("SELECT TOP 1 * FROM c ORDER BY RANK FullTextScore(c.t, 'a')", "HybridSearch"),
        (
            "SELECT TOP 1 * FROM c ORDER BY RANK RRF(FullTextScore(c.t, 'a'), VectorDistance(c.v, [1]), [1, 2])",
            "WeightedRankFusion",
        ),
        ("SELECT VALUE COUNTIF(c.a) FROM c", "CountIf"),
        ("SELECT VALUE MAKESET(c.a) FROM c", "ListAndSetAggregate"),
    ] {
        assert!(plan(text, &["/pk"], &Features::all()).is_ok(), "{text}");
        let error = plan(text, &["/pk"], &Features::all().without(feature)).unwrap_err();
        let message = error.to_service_message();
        assert!(message.contains("unsupported features") && message.contains("Upgrade your SDK"));
        assert!(message.contains(feature), "{message}");
    }
    assert!(plan("SELECT TOP 1 * FROM c WHERE c.pk = 1", &["/pk"], &Features::parse("")).is_ok());
}

fn texts() -> MemorySource {
    let parent = Rid::container(1, 1);
    let rows = [
        ("1", "the river bends and the river falls", "[1,0]"),
        ("2", "dry land", "[0,1]"),
        ("3", "a river by the land", "[0.7,0.7]"),
        ("4", "sky", "[0.9,0.1]"),
    ];
    let items = (1..).zip(rows).map(|(number, (id, text, vector))| {
        let rid = Rid::item(&parent, number);
        let text = format!(r#"{{"id":"{id}","t":"{text}","v":{vector},"_rid":"{rid}"}}"#);
        stored(number, &text)
    });
    MemorySource { items: items.collect() }
}

fn run(text: &str) -> Vec<Value> {
    let statement = Statement::prepare(text, &[], &options())
        .unwrap_or_else(|error| panic!("{}\n{text}", error.to_service_message()));
    run_all(&statement, &texts(), 2).unwrap()
}

/// Follows a hybrid plan as an SDK does and returns the ids of each component in order.
fn components(text: &str, features: &Features) -> Vec<Vec<(String, Vec<f64>)>> {
    let plan = plan(text, &["/pk"], features).unwrap();
    assert!(plan.get("queryInfo").is_none());
    let info = plan.get("hybridSearchQueryInfo").unwrap();
    let statistics = run(info.get("globalStatisticsQuery").unwrap().as_str().unwrap());
    let [statistics] = statistics.as_slice() else { panic!("one row of statistics") };
    let prefix = "documentdb-formattablehybridsearchquery";
    let list = info.get("componentQueryInfos").unwrap().as_array().unwrap();
    list.iter()
        .map(|component| {
            let mut text = component.get("rewrittenQuery").unwrap().as_str().unwrap().to_string();
            text = text.replace("{documentdb-formattableorderbyquery-filter}", "true");
            let count = statistics.get("documentCount").unwrap().to_text();
            text = text.replace(&format!("{{{prefix}-totaldocumentcount}}"), &count);
            let per_text = statistics.get("fullTextStatistics").unwrap().as_array().unwrap();
            for (index, one) in per_text.iter().enumerate() {
                let words = one.get("totalWordCount").unwrap().to_text();
                let hits = one.get("hitCounts").unwrap().to_text();
                text = text.replace(&format!("{{{prefix}-totalwordcount-{index}}}"), &words);
                text = text.replace(&format!("{{{prefix}-hitcountsarray-{index}}}"), &hits);
            }
            let row = |row: &Value| {
                let scores = row
                    .get("componentScores")
                    .or_else(|| row.get("payload")?.get("componentScores"));
                let payload = row.get("payload").unwrap();
                let payload = payload.get("payload").unwrap_or(payload);
                let scores = scores.unwrap().as_array().unwrap().iter();
                (
                    payload.get("id").unwrap().as_str().unwrap().to_string(),
                    scores.map(|score| score.as_f64().unwrap()).collect(),
                )
            };
            run(&text).iter().map(row).collect()
        })
        .collect()
}

fn ids(rows: &[(String, Vec<f64>)]) -> Vec<&str> {
    rows.iter().map(|(id, _)| id.as_str()).collect()
}

#[test]
fn ranked_queries_run_component_by_component() {
    let text = "SELECT TOP 3 * FROM c ORDER BY RANK RRF(FullTextScore(c.t, 'river', 'land'), VectorDistance(c.v, [1,0]))";
    for features in [Features::all(), Features::all().without("HybridSearchSkipOrderByRewrite")] {
        let components = components(text, &features);
        let [by_text, by_vector] = components.as_slice() else { panic!("two components") };
        assert_eq!(ids(by_text)[0], "3", "{by_text:?}");
        assert_eq!(ids(by_vector), ["1", "4", "3", "2"]);
        assert!(by_text.iter().all(|(_, scores)| scores.len() == 2));
    }
    let single = "SELECT TOP 3 c.id FROM c ORDER BY RANK FullTextScore(c.t, 'river')";
    let without = Features::all().without("HybridSearchSkipOrderByRewrite");
    let components = components(single, &without);
    assert_eq!(ids(&components[0])[..2], ["1", "3"]);
}

#[test]
fn parameters_without_a_value_are_undefined() {
    for filter in ["c.pk = @p", "c.pk = 5 AND c.pk = @p"] {
        assert_eq!(ranges(filter, &["/pk"]), [(String::new(), String::new())], "{filter}");
    }
    assert_eq!(ranges("c.pk IN (1, @p)", &["/pk"]), [point("[1]", &["/pk"])]);
    for text in [
        "SELECT c.a, @p AS p, COUNT(1) AS n FROM c GROUP BY c.a",
        "SELECT VALUE {a: @p} FROM c WHERE c.t LIKE @p ORDER BY c.b",
        "SELECT * FROM c WHERE EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t = @p)",
        "SELECT VALUE @p",
    ] {
        plan(text, &["/pk"], &Features::all()).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert!(Statement::prepare(text, &[], &options()).is_ok(), "{text}");
    }
    // How many rows it wants decides what the plan is.
    assert!(plan("SELECT TOP @n * FROM c", &["/pk"], &Features::all()).is_err());
}

#[test]
fn clients_that_sort_scores_themselves_find_the_best_highest() {
    let mut options = options();
    let distance = query::DistanceFunction::Euclidean;
    options.vector_embeddings =
        vec![query::VectorEmbedding { path: vec!["v".into()], distance, dimensions: None }];
    let definition = PartitionKeyDefinition::new(&["/pk"]).unwrap();
    for (weights, is_negated) in [("", true), (", [1, -2]", false)] {
        let text = format!(
            "SELECT TOP 3 * FROM c ORDER BY RANK RRF(FullTextScore(c.t, 'river'), VectorDistance(c.v, [1,0]){weights})"
        );
        let plan = query::query_plan(&text, &[], &options, &definition, &Features::all()).unwrap();
        let info = plan.get("hybridSearchQueryInfo").unwrap();
        let component = &info.get("componentQueryInfos").unwrap().as_array().unwrap()[1];
        let rewritten = component.get("rewrittenQuery").unwrap().as_str().unwrap();
        assert_eq!(rewritten.contains("(-1 * (_VectorScore("), is_negated, "{rewritten}");
    }
}

#[test]
fn weights_of_a_fusion_and_its_multiplier_may_be_parameters() {
    let definition = PartitionKeyDefinition::new(&["/pk"]).unwrap();
    let plan = |rest: &str, parameters: &[(String, Value)]| {
        let text = format!(
            "SELECT TOP 3 * FROM c ORDER BY RANK RRF(FullTextScore(c.t, 'river'), FullTextScore(c.t, 'land'), {rest})"
        );
        query::query_plan(&text, parameters, &options(), &definition, &Features::all())
    };
    let parameter =
        |name: &str, text: &str| (name.to_owned(), model::json::parse(text.as_bytes()).unwrap());
    let known = [parameter("@w", "[1,-2]"), parameter("@second", "-2"), parameter("@times", "4")];
    for (written, given) in [
        ("[1, -2]", "@w"),
        ("[1, -2]", "[1, @second]"),
        ("[1, -2], 4", "@w, @times"),
        ("4", "@times"),
    ] {
        assert_eq!(plan(given, &known).unwrap(), plan(written, &[]).unwrap(), "{given}");
    }
    for (value, message) in [
        ("[1]", "The length of this array"),
        ("[1,\"x\"]", "array of weights"),
        ("\"x\"", "must be followed by"),
    ] {
        let refused = plan("@w", &[parameter("@w", value)]).unwrap_err().to_string();
        assert!(refused.contains(message), "{value}: {refused}");
    }
}

#[test]
fn ranked_queries_run_as_a_whole_too() {
    let rows = run("SELECT TOP 2 VALUE c.id FROM c ORDER BY RANK FullTextScore(c.t, 'rivers')");
    assert_eq!(rows, ["1", "3"].map(Value::from));
    let rows = run(
        "SELECT VALUE c.id FROM c ORDER BY RANK RRF(FullTextScore(c.t, 'land'), VectorDistance(c.v, [0,1]), [1, 3]) OFFSET 0 LIMIT 1",
    );
    assert_eq!(rows, ["2"].map(Value::from));
}

#[test]
fn the_hybrid_window_asks_for_more_than_is_taken() {
    let without = Features::all().without("HybridSearchSkipOrderByRewrite");
    let plan = plan(
        "SELECT * FROM c ORDER BY RANK FullTextScore(c.t, 'a') OFFSET 60 LIMIT 30",
        &["/pk"],
        &without,
    )
    .unwrap();
    let info = plan.get("hybridSearchQueryInfo").unwrap();
    assert_eq!(
        (info.get("skip"), info.get("take")),
        (Some(&Value::from(60)), Some(&Value::from(30)))
    );
    let component = &info.get("componentQueryInfos").unwrap().as_array().unwrap()[0];
    assert_eq!(component.get("limit"), Some(&Value::from(180)));
    assert!(
        component.get("rewrittenQuery").unwrap().as_str().unwrap().ends_with("OFFSET 0 LIMIT 180")
    );
}

/// Clients read the counts of a plan as 32-bit numbers.
#[test]
fn a_ranking_without_a_count_asks_for_all() {
    for rank in ["FullTextScore(c.t, 'a')", "RRF(FullTextScore(c.t, 'a'), FullTextScore(c.u, 'b'))"]
    {
        let text = format!("SELECT * FROM c ORDER BY RANK {rank}");
        let plan = plan(&text, &["/pk"], &Features::all()).unwrap();
        let info = plan.get("hybridSearchQueryInfo").unwrap();
        assert_eq!(info.get("take"), Some(&Value::Null));
        for component in info.get("componentQueryInfos").unwrap().as_array().unwrap() {
            assert_eq!(component.get("top"), Some(&Value::Null));
            assert_eq!(component.get("limit"), Some(&Value::Null));
            let text = component.get("rewrittenQuery").unwrap().as_str().unwrap();
            assert!(!text.contains("TOP") && !text.contains("LIMIT"), "{text}");
        }
    }
}

#[test]
fn the_hybrid_window_stays_within_32_bits() {
    let text = |offset: u32| {
        let limit = i32::MAX;
        format!(
            "SELECT * FROM c ORDER BY RANK FullTextScore(c.t, 'a') OFFSET {offset} LIMIT {limit}"
        )
    };
    let without = Features::all().without("HybridSearchSkipOrderByRewrite");
    for offset in [0, 1, 10] {
        let plan = plan(&text(offset), &["/pk"], &without).unwrap();
        let info = plan.get("hybridSearchQueryInfo").unwrap();
        let component = &info.get("componentQueryInfos").unwrap().as_array().unwrap()[0];
        let limit = component.get("limit").unwrap().as_i64().unwrap();
        assert!((i64::from(i32::MAX)..=i64::from(u32::MAX)).contains(&limit), "{offset}: {limit}");
        assert_eq!(info.get("skip"), Some(&Value::from(offset)));
    }
}

#[test]
fn long_filters_survive_the_rewrite() {
    let terms: Vec<String> = (0..1000).map(|n| format!("(c.id = '{n}' AND c.pk = {n})")).collect();
    let text = format!("SELECT * FROM c WHERE {} ORDER BY c.a", terms.join(" OR "));
    let plan = plan(&text, &["/pk"], &Features::all()).unwrap();
    assert_eq!(plan.get("queryRanges").unwrap().as_array().unwrap().len(), 1000);
    let rewritten = plan.get("queryInfo").unwrap().get("rewrittenQuery").unwrap();
    let rewritten =
        rewritten.as_str().unwrap().replace("{documentdb-formattableorderbyquery-filter}", "true");
    assert!(query::parse(&rewritten).is_ok());
}

#[test]
fn computed_properties_are_checked() {
    let refused = [
        ("id", "SELECT VALUE c.a FROM c"),
        ("x", "SELECT c.a FROM c"),
        ("x", "SELECT VALUE c.a FROM c WHERE true"),
        ("x", "SELECT VALUE t FROM t IN c.a"),
        ("x", "SELECT VALUE COUNT(1) FROM c"),
        ("x", "SELECT VALUE udf.f(c.a) FROM c"),
        ("x", "SELECT VALUE RAND() FROM c"),
        ("x", "SELECT VALUE (SELECT VALUE 1) FROM c"),
        ("x", "SELECT VALUE ST_AREA(c.a) FROM c"),
    ];
    for (name, text) in refused {
        assert!(query::ComputedProperty::parse(name, text).is_err(), "{text}");
    }
    assert!(query::ComputedProperty::parse("x", "SELECT VALUE UPPER(r.a) FROM root r").is_ok());
}
