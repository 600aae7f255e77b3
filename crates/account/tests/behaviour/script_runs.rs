//! Stored procedures, triggers and user-defined functions against real partitions.

use account::ItemAction;
use bytes::Bytes;
use model::Value;

use crate::support::{Answer, Client, value};

/// Adds a script to `dbs/d/colls/c`.
async fn add(client: &Client, kind: &str, id: &str, body: &str, extra: &str) {
    let body = Value::from(body).to_text();
    let text = format!(r#"{{"id":"{id}","body":{body}{extra}}}"#);
    client.create(&format!("dbs/d/colls/c/{kind}"), &text).await.expect(201);
}

async fn add_trigger(client: &Client, id: &str, kind: &str, operation: &str, body: &str) {
    let extra = format!(r#","triggerType":"{kind}","triggerOperation":"{operation}""#);
    add(client, "triggers", id, body, &extra).await;
}

async fn execute(client: &Client, key: &str, procedure: &str, arguments: &str) -> Answer {
    let arguments = Bytes::copy_from_slice(arguments.as_bytes());
    let procedure = procedure.to_owned();
    let action = ItemAction::Execute { procedure, arguments, wants_log: true };
    client.items().key(key).run(action).await
}

/// Adds a procedure under a name of its own and runs it in the logical partition "a".
async fn run(client: &Client, body: &str) -> Answer {
    let id = format!("p{:x}", client.env.random_u64());
    add(client, "sprocs", &id, body, "").await;
    execute(client, r#"["a"]"#, &id, "").await
}

const A: &str = r#"["a"]"#;

#[tokio::test]
async fn a_procedure_runs_and_answers() {
    let client = Client::with_container(3).await;
    let body =
        "function (x, y) { console.log('hi'); getContext().getResponse().setBody({sum: x + y}); }";
    add(&client, "sprocs", "add", body, "").await;
    let answer = execute(&client, A, "add", "[1, 2]").await.expect(200);
    assert_eq!(answer.value.to_text(), r#"{"sum":3}"#);
    assert_eq!(answer.facts.script_log.as_deref(), Some("hi"));
    assert!(answer.facts.session.is_some() && answer.facts.charge.hundredths() > 0);
    execute(&client, A, "none", "[]").await.expect_sub(404, 0);
    let action =
        ItemAction::Execute { procedure: "add".into(), arguments: Bytes::new(), wants_log: false };
    let keyless = client.items().run(action).await.expect(400);
    assert!(keyless.message.contains("PartitionKey value must be supplied"), "{}", keyless.message);
}

#[tokio::test]
async fn a_replaced_procedure_runs_in_its_new_version_and_by_rid() {
    let client = Client::with_container(1).await;
    let text =
        |n: u32| format!(r#"{{"id":"p","body":"function () {{ __.response.setBody({n}); }}"}}"#);
    let created = client.create("dbs/d/colls/c/sprocs", &text(1)).await.expect(201);
    assert_eq!(execute(&client, A, "p", "").await.expect(200).value.as_i64(), Some(1));
    client.replace("dbs/d/colls/c/sprocs/p", &text(2)).await.expect(200);
    assert_eq!(execute(&client, A, "p", "").await.expect(200).value.as_i64(), Some(2));
    let link = created.text("_self");
    let parts: Vec<&str> = link.split('/').collect();
    let container = format!("dbs/{}/colls/{}", parts[1], parts[3]);
    let action = ItemAction::Execute {
        procedure: parts[5].to_owned(),
        arguments: Bytes::new(),
        wants_log: false,
    };
    let by_rid = client.items_of(&container).key(A).run(action).await.expect(200);
    assert_eq!(by_rid.value.as_i64(), Some(2));
}

#[tokio::test]
async fn what_a_procedure_writes_is_there_as_it_was_shown() {
    let client = Client::with_container(3).await;
    let body = "function () {
        __.createDocument(__.getSelfLink(), {id: '1', pk: 'a', n: 1}, function (err, doc) {
            if (err) throw err;
            doc.n = 2;
            __.replaceDocument(doc._self, doc, {etag: doc._etag}, function (err, doc) {
                if (err) throw err;
                __.replaceDocument(doc._self, doc, {etag: 'old'}, function (err) {
                    doc.stale = err.number;
                    __.response.setBody(doc);
                });
            });
        });
    }";
    let shown = run(&client, body).await.expect(200);
    let read = client.items().key(A).read("1").await.expect(200);
    for property in ["_rid", "_self", "_etag", "id"] {
        assert_eq!(shown.text(property), read.text(property), "{property}");
    }
    assert_eq!(read.value.get("n").and_then(Value::as_i64), Some(2));
    assert_eq!(shown.value.get("stale").and_then(Value::as_i64), Some(412));
    assert_eq!(shown.facts.lsn, read.facts.item_lsn, "one commit");
    // The rid that was promised is the one that is kept.
    let by_rid = "function (rid) {
        __.readDocument(__.getSelfLink() + 'docs/' + rid, function (err, doc) { if (err) throw err; __.response.setBody(doc.n); });
    }";
    add(&client, "sprocs", "by-rid", by_rid, "").await;
    let found = execute(&client, A, "by-rid", &format!("[\"{}\"]", read.text("_rid"))).await;
    assert_eq!(found.expect(200).value.as_i64(), Some(2));
}

#[tokio::test]
async fn a_failed_procedure_leaves_nothing_behind() {
    let client = Client::with_container(2).await;
    client.items().create(r#"{"id":"old","pk":"a","n":1}"#).await.expect(201);
    let before = client.items().key(A).feed().await.rows;
    let work = "__.createDocument(L, {id: 'new', pk: 'a'});
        __.upsertDocument(L, {id: 'old', pk: 'a', n: 2});
        __.deleteDocument(__.getAltLink() + '/docs/new');
        __.createDocument(L, {id: 'newer', pk: 'a'});";
    let ends = [
        ("throw new Error('no');", 400),
        ("getContext().abort(new Error('no'));", 400),
        ("__.createDocument(L, {id: 'old', pk: 'a'});", 409),
        ("__.readDocument(__.getAltLink() + '/docs/none', function (err) { throw err; });", 404),
        ("Promise.reject(new Error('no'));", 400),
        ("null.x;", 400),
    ];
    for (end, code) in ends {
        let body = format!("function () {{ var L = __.getSelfLink(); {work} {end} }}");
        let failed = run(&client, &body).await.expect(code);
        assert!(
            failed.facts.charge.hundredths() > 500,
            "the work is paid for: {}",
            failed.facts.charge
        );
        assert_eq!(client.items().key(A).feed().await.rows, before, "{end}");
    }
    // A call that fails and is handled changes nothing either.
    let handled = "function () {
        var L = __.getSelfLink(), seen = [];
        function note(err) { seen.push(err ? err.number : 0); __.response.setBody(seen); }
        __.createDocument(L, {id: 'old', pk: 'a'}, note);
        __.createDocument(L, {id: 'fine', pk: 'a'}, note);
        __.replaceDocument(__.getAltLink() + '/docs/fine', {id: 'old', pk: 'a'}, note);
    }";
    assert_eq!(run(&client, handled).await.expect(200).value.to_text(), "[409,0,409]");
    assert_eq!(client.items().key(A).feed().await.ids(), ["old", "fine"]);
}

#[tokio::test]
async fn another_logical_partition_is_out_of_reach() {
    let client = Client::with_container(1).await;
    let other = client.items().create(r#"{"id":"x","pk":"b"}"#).await.expect(201);
    client.items().create(r#"{"id":"y","pk":"a"}"#).await.expect(201);
    let other_link = other.text("_self");
    let body = format!(
        "function () {{
            var seen = [], L = __.getSelfLink();
            function note(err, docs) {{
                seen.push(err ? err.number : docs.length);
                __.response.setBody(seen);
            }}
            __.createDocument(L, {{id: 'z', pk: 'b'}}, note);
            __.readDocument(__.getAltLink() + '/docs/x', note);
            __.readDocument('{other_link}', note);
            __.deleteDocument('{other_link}', note);
            __.replaceDocument(__.getAltLink() + '/docs/y', {{id: 'y', pk: 'b'}}, note);
            __.readDocuments(L, note);
            __.queryDocuments(L, 'SELECT * FROM c', note);
        }}"
    );
    let answer = run(&client, &body).await.expect(200);
    assert_eq!(answer.value.to_text(), "[400,404,404,404,400,1,1]");
    client.items().key(r#"["b"]"#).read("x").await.expect(200);
}

#[tokio::test]
async fn queries_and_feeds_of_a_run_see_its_own_writes() {
    let client = Client::with_container(2).await;
    for id in ["1", "2", "3"] {
        let item = format!(r#"{{"id":"{id}","pk":"a","n":{id}}}"#);
        client.items().create(&item).await.expect(201);
    }
    let body = "function () {
        var L = __.getSelfLink(), A = __.getAltLink() + '/docs/', seen = {};
        __.deleteDocument(A + '2');
        __.replaceDocument(A + '3', {id: '3', pk: 'a', n: 30});
        __.createDocument(L, {id: '4', pk: 'a', n: 4});
        __.upsertDocument(L, {id: '5', pk: 'a', n: 5});
        __.deleteDocument(A + '5');
        __.readDocuments(L, {pageSize: 2}, function (err, docs, info) {
            seen.first = docs.map(function (d) { return d.id; });
            __.readDocuments(L, {continuation: info.continuation}, function (err, docs, info) {
                seen.rest = docs.map(function (d) { return d.id; });
                seen.end = info.continuation === undefined;
                __.queryDocuments(L, 'SELECT VALUE c.n FROM c WHERE c.n > 3 ORDER BY c.n DESC', function (err, rows) {
                    if (err) throw err;
                    seen.rows = rows;
                    __.queryDocuments(L, {query: 'SELECT VALUE SUM(c.n) FROM c WHERE c.n < @max', parameters: [{name: '@max', value: 10}]},
                        function (err, rows) {
                            if (err) throw err;
                            seen.sum = rows[0];
                            __.filter(function (d) { return d.n == 4; }, function (err, docs) {
                                seen.filtered = docs.length;
                                __.response.setBody(seen);
                            });
                        });
                });
            });
        });
    }";
    let answer = run(&client, body).await.expect(200);
    let expected =
        r#"{"first":["1","3"],"rest":["4"],"end":true,"rows":[30,4],"sum":5,"filtered":1}"#;
    assert_eq!(answer.value.to_text(), expected);
    assert_eq!(client.items().key(A).feed().await.ids(), ["1", "3", "4"]);
}

#[tokio::test]
async fn unique_keys_and_spatial_functions_hold_inside_a_run() {
    let client = Client::new(1).await;
    client.create("dbs", r#"{"id":"d"}"#).await.expect(201);
    let container = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},
        "uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]}}"#;
    client.create("dbs/d/colls", container).await.expect(201);
    let body = "function () {
        var L = __.getSelfLink(), seen = [];
        function note(err) { seen.push(err ? err.number : 0); }
        __.createDocument(L, {id: '1', pk: 'a', u: 1}, note);
        __.createDocument(L, {id: '2', pk: 'a', u: 1}, note);
        __.deleteDocument(__.getAltLink() + '/docs/1', note);
        __.createDocument(L, {id: '2', pk: 'a', u: 1}, function (err) {
            note(err);
            seen.push(__.spatial.isValid({type: 'Point', coordinates: [1, 2]}));
            __.response.setBody(seen);
        });
    }";
    assert_eq!(run(&client, body).await.expect(200).value.to_text(), "[0,409,0,0,true]");
    assert_eq!(client.items().key(A).feed().await.ids(), ["2"]);
}

#[tokio::test]
async fn triggers_change_what_is_written_and_what_is_answered() {
    let client = Client::with_container(2).await;
    let stamp = "function () {
        var r = getContext().getRequest(), d = r.getBody();
        d.stamped = r.getOperationType();
        r.setBody(d);
    }";
    let echo = "function () {
        var r = getContext().getResponse(), d = r.getBody();
        d.echo = getContext().getRequest().getBody().stamped;
        r.setBody(d);
        __.upsertDocument(__.getSelfLink(), {id: 'audit', pk: 'a', last: d.id, etag: d._etag === undefined});
    }";
    add_trigger(&client, "stamp", "Pre", "All", stamp).await;
    add_trigger(&client, "echo", "Post", "All", echo).await;
    let with = client.with_options(|options| {
        options.pre_triggers = vec!["stamp".into()];
        options.post_triggers = vec!["echo".into()];
    });
    let items = with.items().key(A);
    let created = items.create(r#"{"id":"1","pk":"a"}"#).await.expect(201);
    assert_eq!((created.text("stamped"), created.text("echo")), ("Create".into(), "Create".into()));
    assert_eq!(created.text("_etag"), created.facts.etag.as_ref().unwrap().as_str());
    let read = client.items().key(A).read("1").await.expect(200);
    assert_eq!(read.text("stamped"), "Create");
    assert_eq!(read.text("_etag"), created.text("_etag"));
    assert!(read.value.get("echo").is_none(), "only the answer was changed");
    let audit = client.items().key(A).read("audit").await.expect(200);
    assert_eq!(audit.facts.item_lsn, read.facts.item_lsn, "one commit");
    let replaced = items.replace("1", r#"{"id":"1","pk":"a"}"#).await.expect(200);
    assert_eq!(replaced.text("stamped"), "Replace");
    assert_eq!(items.upsert(r#"{"id":"2","pk":"a"}"#).await.expect(201).text("echo"), "Upsert");
    let chained = client.with_options(|options| {
        options.pre_triggers = vec!["stamp".into(), "stamp".into()];
    });
    chained.items().key(A).create(r#"{"id":"3","pk":"a"}"#).await.expect(201);
}

#[tokio::test]
async fn triggers_run_around_deletes_too() {
    let client = Client::with_container(1).await;
    client.items().create(r#"{"id":"1","pk":"a"}"#).await.expect(201);
    let note = "function () {
        if (getContext().getRequest().getBody() !== undefined) throw new Error('a body');
        __.createDocument(__.getSelfLink(), {id: 'note', pk: 'a', op: getContext().getRequest().getOperationType()});
    }";
    add_trigger(&client, "note", "Post", "Delete", note).await;
    let with = client.with_options(|options| options.post_triggers = vec!["note".into()]);
    with.items().key(A).delete("1").await.expect(204);
    client.items().key(A).read("1").await.expect(404);
    assert_eq!(client.items().key(A).read("note").await.expect(200).text("op"), "Delete");
    with.items().key(A).delete("none").await.expect(404);
}

#[tokio::test]
async fn a_pre_trigger_of_a_delete_sees_the_item() {
    let client = Client::with_container(1).await;
    client.items().create(r#"{"id":"1","pk":"a","kept":true}"#).await.expect(201);
    let guard = "function () {
        if (getContext().getRequest().getBody().kept) throw new Error('kept');
    }";
    add_trigger(&client, "guard", "Pre", "Delete", guard).await;
    let with = client.with_options(|options| options.pre_triggers = vec!["guard".into()]);
    let refused = with.items().key(A).delete("1").await.expect(400);
    assert!(refused.message.contains("Error: kept"), "{}", refused.message);
    client.items().key(A).replace("1", r#"{"id":"1","pk":"a"}"#).await.expect(200);
    with.items().key(A).delete("1").await.expect(204);
    with.items().key(A).delete("1").await.expect(404);
}

async fn insert(client: &Client, range: Option<u32>, arguments: &str) -> Answer {
    let procedure = "__.sys.commonBulkInsert".to_owned();
    let arguments = Bytes::copy_from_slice(arguments.as_bytes());
    let action = ItemAction::Execute { procedure, arguments, wants_log: false };
    match range {
        Some(range) => client.items().range(range).run(action).await,
        None => client.items().run(action).await,
    }
}

#[tokio::test]
async fn the_servers_own_procedures_are_there() {
    let client = Client::with_container(3).await;
    let echo = execute(&client, A, "__.sys.echo", r#"["foobar"]"#).await.expect(200);
    assert_eq!(echo.value.as_str(), Some("foobar"));
    // Items of several keys of one range, some of them as text.
    let probe = client.items().create(r#"{"id":"0","pk":"k0"}"#).await.expect(201);
    let range = probe.facts.range.unwrap();
    let mut keys = Vec::new();
    for n in 1.. {
        let key = format!("k{n}");
        let missing = client.items().key(&format!(r#"["{key}"]"#)).read("x").await.expect(404);
        if missing.facts.range == Some(range) {
            keys.push(key);
        }
        if keys.len() == 3 {
            break;
        }
    }
    let options =
        r#"{"disableAutomaticIdGeneration":true,"softStopOnConflict":true,"enableUpsert":false}"#;
    let docs = format!(
        r#"[{{"id":"a","pk":"{0}"}},"{{\"id\":\"b\",\"pk\":\"{1}\"}}",{{"id":"c","pk":"{2}"}}]"#,
        keys[0], keys[1], keys[2],
    );
    let range: u32 = range.to_string().parse().unwrap();
    let arguments = format!("[{docs},{options},null]");
    let done = insert(&client, Some(range), &arguments).await.expect(200);
    assert_eq!(done.value.to_text(), r#"{"count":3,"errorCode":0}"#);
    client.items().key(&format!(r#"["{}"]"#, keys[1])).read("b").await.expect(200);
    // The first conflict ends it.
    let more = format!(
        r#"[[{{"id":"d","pk":"{0}"}},{{"id":"a","pk":"{0}"}},{{"id":"e","pk":"{0}"}}],{options}]"#,
        keys[0],
    );
    let done = insert(&client, Some(range), &more).await.expect(200);
    assert_eq!(done.value.to_text(), r#"{"count":1,"errorCode":409}"#);
    let upsert = more.replace(r#""enableUpsert":false"#, r#""enableUpsert":true"#);
    let done = insert(&client, Some(range), &upsert).await.expect(200);
    assert_eq!(done.value.to_text(), r#"{"count":3,"errorCode":0}"#);
    // All or nothing over several keys is not to be had, and neither is a place that is not named.
    insert(&client, Some(range), &format!("[{docs},{{}}]")).await.expect(400);
    insert(&client, None, &arguments).await.expect(400);
    insert(&client, Some(range), "[1]").await.expect(400);
}

#[tokio::test]
async fn a_failing_trigger_takes_the_write_with_it() {
    let client = Client::with_container(2).await;
    client.items().create(r#"{"id":"1","pk":"a","n":1}"#).await.expect(201);
    let before = client.items().key(A).feed().await.rows;
    let effects = "__.createDocument(__.getSelfLink(), {id: 'effect', pk: 'a'});";
    add_trigger(
        &client,
        "pre",
        "Pre",
        "All",
        &format!("function () {{ {effects} throw new Error('pre'); }}"),
    )
    .await;
    add_trigger(
        &client,
        "post",
        "Post",
        "All",
        &format!("function () {{ {effects} throw new Error(7, 'post'); }}"),
    )
    .await;
    add_trigger(
        &client,
        "moves",
        "Pre",
        "All",
        "function () {
        var r = getContext().getRequest(), d = r.getBody(); d.pk = 'elsewhere'; r.setBody(d); }",
    )
    .await;
    add_trigger(
        &client,
        "spoils",
        "Pre",
        "All",
        "function () { getContext().getRequest().setBody({pk: 'a'}); }",
    )
    .await;
    let cases = [
        ("pre", "", 400, 0),
        ("", "post", 400, 7),
        ("moves", "", 400, 1001),
        ("spoils", "", 400, 0),
    ];
    for (pre, post, code, sub) in cases {
        let names = |name: &str| if name.is_empty() { vec![] } else { vec![name.to_owned()] };
        let with = client.with_options(|options| {
            options.pre_triggers = names(pre);
            options.post_triggers = names(post);
        });
        let items = with.items().key(A);
        items.create(r#"{"id":"2","pk":"a"}"#).await.expect_sub(code, sub);
        items.upsert(r#"{"id":"1","pk":"a","n":2}"#).await.expect_sub(code, sub);
        items.replace("1", r#"{"id":"1","pk":"a","n":2}"#).await.expect_sub(code, sub);
        if pre != "moves" && pre != "spoils" {
            items.delete("1").await.expect_sub(code, sub);
        }
        assert_eq!(client.items().key(A).feed().await.rows, before, "{pre}{post}");
    }
}

#[tokio::test]
async fn triggers_that_do_not_fit_are_refused() {
    let client = Client::with_container(1).await;
    add_trigger(&client, "deletes", "Post", "Delete", "function () {}").await;
    add_trigger(&client, "broken", "Pre", "All", "serverScript() { var x = 10; }").await;
    let cases: [(&[&str], &[&str], u32); 4] = [
        (&[], &["none"], 0),
        (&[], &["deletes"], 0),
        (&["deletes"], &[], 0),
        (&["broken"], &[], 65_535),
    ];
    for (pre, post, sub) in cases {
        let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
        let with = client.with_options(|options| {
            options.pre_triggers = names(pre);
            options.post_triggers = names(post);
        });
        with.items().key(A).create(r#"{"id":"1","pk":"a"}"#).await.expect_sub(400, sub);
        with.items()
            .key(A)
            .patch("1", r#"{"operations":[{"op":"add","path":"/x","value":1}]}"#)
            .await
            .expect(400);
    }
    client.items().key(A).read("1").await.expect(404);
}

#[tokio::test]
async fn functions_work_in_queries() {
    let client = Client::with_container(3).await;
    for n in 0..6 {
        let item = format!(r#"{{"id":"{n}","pk":"{}","n":{n}}}"#, n % 3);
        client.items().create(&item).await.expect(201);
    }
    add(&client, "udfs", "double", "function (x) { return x === undefined ? 'none' : x * 2; }", "")
        .await;
    add(&client, "udfs", "even", "function (x) { return x % 2 == 0; }", "").await;
    add(&client, "udfs", "broken", "function (x) { throw new Error('boom ' + x); }", "").await;
    add(&client, "udfs", "typo", "function (", "").await;
    let query = |text: &'static str| async { client.items().query(text).await };
    let text = "SELECT VALUE udf.double(c.n) FROM c WHERE udf.even(c.n)";
    let rows = client.items().query_all(text).await;
    let mut doubled: Vec<i64> = rows.iter().map(|row| row.as_i64().unwrap()).collect();
    doubled.sort_unstable();
    assert_eq!(doubled, [0, 4, 8]);
    let undefined =
        query("SELECT VALUE udf.double(c.missing) FROM c WHERE c.id = '1'").await.expect(200);
    assert_eq!(undefined.rows, [value(r#""none""#)]);
    let broken = query("SELECT udf.broken(c.n) FROM c").await.expect(400);
    assert!(
        broken.message.contains("Encountered exception while executing Javascript"),
        "{}",
        broken.message
    );
    assert!(broken.message.contains("boom"), "{}", broken.message);
    let typo = query("SELECT udf.typo(c.n) FROM c").await.expect(400);
    assert!(typo.message.contains("compiling Javascript"), "{}", typo.message);
    let unknown = query("SELECT udf.nope(c.n) FROM c").await.expect(400);
    assert!(unknown.message.contains("nope"), "{}", unknown.message);
    let one =
        client.items().key(r#"["1"]"#).query("SELECT VALUE SUM(udf.double(c.n)) FROM c").await;
    assert_eq!(one.expect(200).rows, [value("10")]);
}

/// Imports items until the collection accepts no more, as the bulk samples of the field do.
#[tokio::test]
async fn functions_work_in_the_queries_of_a_procedure() {
    let client = Client::with_container(1).await;
    for n in 1..=4 {
        client.items().create(&format!(r#"{{"id":"{n}","pk":"a","n":{n}}}"#)).await.expect(201);
    }
    add(&client, "udfs", "twice", "function (n) { return 2 * n; }", "").await;
    add(&client, "udfs", "boom", "function () { throw new Error('no ' + arguments[0]); }", "")
        .await;
    let body = |sql: &str| {
        format!(
            "function () {{
                __.upsertDocument(__.getSelfLink(), {{id: 'own', pk: 'a', n: 5}});
                __.queryDocuments(__.getSelfLink(), '{sql}', function (err, rows) {{
                    __.response.setBody(err ? err.number + ' ' + err.body : rows);
                    if (err) throw new Error('undo');
                }});
            }}"
        )
    };
    let sql = "SELECT VALUE udf.twice(c.n) FROM c WHERE udf.twice(c.n) > 5 ORDER BY c.n";
    let answer = run(&client, &body(sql)).await.expect(200);
    assert_eq!(answer.value.to_text(), "[6,8,10]");
    let missing = run(&client, &body("SELECT udf.none(1) FROM c")).await.expect(400);
    assert!(missing.message.contains("undo"), "{}", missing.message);
    let thrown = "function () {
        __.queryDocuments(__.getSelfLink(), 'SELECT VALUE udf.boom(c.id) FROM c WHERE c.id = \"1\"');
    }";
    let thrown = run(&client, thrown).await.expect(400);
    assert!(thrown.message.contains("no 1"), "{}", thrown.message);
    // The functions of a trigger's queries work the same way.
    let trigger = "function () {
        __.queryDocuments(__.getSelfLink(), 'SELECT VALUE SUM(udf.twice(c.n)) FROM c',
            function (err, rows) {
                var item = __.request.getBody();
                item.sum = rows[0];
                __.request.setBody(item);
            });
    }";
    add_trigger(&client, "sum", "Pre", "Create", trigger).await;
    let with = client.with_options(|options| options.pre_triggers = vec!["sum".into()]);
    let created = with.items().create(r#"{"id":"s","pk":"a"}"#).await.expect(201);
    assert_eq!(created.value.get("sum").and_then(Value::as_i64), Some(30));
}

#[tokio::test]
async fn bulk_import_and_bulk_delete_work_through_many_items() {
    let client = Client::with_container(2).await;
    let import = "function (items) {
        var L = __.getSelfLink(), n = 0;
        (function next(err) {
            if (err) throw err;
            if (n >= items.length) { __.response.setBody(n); return; }
            if (!__.createDocument(L, items[n], {}, function (err) { n++; next(err); })) __.response.setBody(n);
        })();
    }";
    let erase = "function (query) {
        var L = __.getSelfLink(), answer = {deleted: 0, continuation: true};
        function more(continuation) {
            var ok = __.queryDocuments(L, query, {continuation: continuation, pageSize: 7}, function (err, docs, info) {
                if (err) throw err;
                if (docs.length > 0) erase(docs);
                else if (info.continuation) more(info.continuation);
                else { answer.continuation = false; __.response.setBody(answer); }
            });
            if (!ok) __.response.setBody(answer);
        }
        function erase(docs) {
            if (docs.length == 0) return more();
            var ok = __.deleteDocument(docs[0]._self, {}, function (err) {
                if (err) throw err;
                answer.deleted++;
                docs.shift();
                erase(docs);
            });
            if (!ok) __.response.setBody(answer);
        }
        more();
    }";
    add(&client, "sprocs", "import", import, "").await;
    add(&client, "sprocs", "erase", erase, "").await;
    let items: Vec<String> =
        (0..300).map(|n| format!(r#"{{"id":"{n}","pk":"a","even":{}}}"#, n % 2 == 0)).collect();
    let done = execute(&client, A, "import", &format!("[[{}]]", items.join(","))).await.expect(200);
    assert_eq!(done.value.as_i64(), Some(300));
    assert!(done.facts.charge.hundredths() > 300 * 495, "the charge is the sum");
    let done =
        execute(&client, A, "erase", r#"["SELECT * FROM c WHERE c.even"]"#).await.expect(200);
    assert_eq!(done.value.to_text(), r#"{"deleted":150,"continuation":false}"#);
    assert_eq!(
        client.items().key(A).query("SELECT VALUE COUNT(1) FROM c").await.rows,
        [value("150")]
    );
    // One commit each: every item of the import has the same LSN.
    let lsns: std::collections::HashSet<_> = client
        .items()
        .key(A)
        .feed()
        .await
        .rows
        .iter()
        .map(|row| row.get("_etag").unwrap().to_text())
        .collect();
    assert_eq!(lsns.len(), 1);
}

#[tokio::test]
async fn principals_without_write_rights_run_nothing() {
    let client = Client::with_container(1).await;
    add(&client, "sprocs", "p", "function () {}", "").await;
    let reader = client.by(account::Principal::ReadOnly);
    execute(&reader, A, "p", "").await.expect(403);
}
