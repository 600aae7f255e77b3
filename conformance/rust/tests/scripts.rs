//! Stored procedures, triggers and functions. The SDK has no calls for them: plain HTTP, beside items that it writes.

use azure_data_cosmos::clients::ContainerClient;
use azure_data_cosmos::{FeedScope, Query};
use conformance_rust::wire::{Answer, send};
use conformance_rust::{Scratch, failed_with, item, properties, run};
use futures::TryStreamExt;
use serde_json::{Value, json};

/// A container and its path on the wire.
struct Scripted {
    scratch: Scratch,
    items: ContainerClient,
    path: String,
}

impl Scripted {
    async fn new() -> Scripted {
        let scratch = Scratch::new().await;
        let properties = properties(&["/pk"]);
        let path = format!("dbs/{}/colls/{}", scratch.name, properties.id);
        let items = scratch.container_with(properties).await;
        Scripted { scratch, items, path }
    }

    async fn try_add(&self, kind: &str, script: Value) -> Answer {
        send("POST", &format!("{}/{kind}", self.path), &[], script.to_string()).await
    }

    async fn add(&self, kind: &str, script: Value) {
        self.try_add(kind, script).await.expect(201, &[]);
    }

    async fn procedure(&self, id: &str, body: &str) {
        self.add("sprocs", json!({"id": id, "body": body})).await;
    }

    async fn run(&self, id: &str, arguments: Value) -> Answer {
        let key = ("x-ms-documentdb-partitionkey", r#"["a"]"#);
        let log = ("x-ms-documentdb-script-enable-logging", "true");
        let path = format!("{}/sprocs/{id}", self.path);
        send("POST", &path, &[key, log], arguments.to_string()).await
    }

    async fn create(&self, id: &str, trigger: (&str, &str)) -> Answer {
        let key = ("x-ms-documentdb-partitionkey", r#"["a"]"#);
        let path = format!("{}/docs", self.path);
        send("POST", &path, &[key, trigger], item(id, "a").to_string()).await
    }
}

#[test]
fn scripts_are_created_read_replaced_and_deleted() {
    run(async {
        let container = Scripted::new().await;
        container.procedure("p", "function () {}").await;
        let one = format!("{}/sprocs/p", container.path);
        let read = send("GET", &one, &[], String::new()).await.expect(200, &[]).value();
        assert_eq!(read["body"], "function () {}");
        let next = json!({"id": "p", "body": "function () { 1; }"}).to_string();
        send("PUT", &one, &[], next).await.expect(200, &["function () { 1; }"]);
        let all = format!("{}/sprocs", container.path);
        send("GET", &all, &[], String::new()).await.expect(200, &[r#""_count":1"#]);
        send("DELETE", &one, &[], String::new()).await.expect(204, &[]);
        send("GET", &one, &[], String::new()).await.expect(404, &[]);
        let function = json!({"id": "f", "body": "function () {}"});
        container.add("udfs", function.clone()).await;
        container.try_add("udfs", function.clone()).await.expect(409, &[]);
        container.try_add("triggers", function).await.expect(400, &["triggerType"]);
        container.scratch.finish().await;
    });
}

#[test]
fn a_procedure_takes_and_returns_every_type() {
    run(async {
        let container = Scripted::new().await;
        let echo = "function (x) { getContext().getResponse().setBody(x); }";
        container.procedure("echo", echo).await;
        for value in [json!(1), json!(1.5), json!("ü"), json!(true), json!(null), json!([1, [2]])]
        {
            let answer = container.run("echo", json!([value])).await.expect(200, &[]);
            assert_eq!(answer.value(), value);
        }
        container.procedure("silent", "function () {}").await;
        assert_eq!(container.run("silent", json!([])).await.expect(200, &[]).body, "");
        container.scratch.finish().await;
    });
}

#[test]
fn a_procedure_writes_all_or_nothing() {
    run(async {
        let container = Scripted::new().await;
        let make = "function (items, fail) {
            items.forEach(function (item) { __.createDocument(__.getSelfLink(), item); });
            if (fail) throw new Error(fail);
            __.response.setBody(items.length);
        }";
        container.procedure("make", make).await;
        let items = json!([item("1", "a"), item("2", "a")]);
        let failed = container.run("make", json!([items, "no luck"])).await;
        failed.expect(400, &["Encountered exception while executing Javascript", "no luck"]);
        failed_with(404, container.items.read_item("a", "1", None).await);
        let made = container.run("make", json!([items])).await.expect(200, &[]);
        assert_eq!(made.value(), 2);
        let clash = json!([[item("3", "a"), item("1", "a")]]);
        container.run("make", clash).await.expect(409, &[]);
        failed_with(404, container.items.read_item("a", "3", None).await);
        container.run("make", json!([[item("3", "elsewhere")]])).await.expect(400, &[]);
        container.scratch.finish().await;
    });
}

#[test]
fn logs_and_numbers_are_in_the_headers() {
    run(async {
        let container = Scripted::new().await;
        container.procedure("log", "function () { console.log('a b'); }").await;
        let logged = container.run("log", json!([])).await.expect(200, &[]);
        assert_eq!(logged.header("x-ms-documentdb-script-log-results"), Some("a%20b"));
        container.procedure("number", "function () { throw new Error(42, 'mine'); }").await;
        let numbered = container.run("number", json!([])).await.expect(400, &["mine"]);
        assert_eq!(numbered.header("x-ms-substatus"), Some("42"));
        container.run("missing", json!([])).await.expect(404, &[]);
        container.scratch.finish().await;
    });
}

#[test]
fn triggers_run_when_they_are_named() {
    run(async {
        let container = Scripted::new().await;
        let stamp = "function () {
            var request = getContext().getRequest(), item = request.getBody();
            item.stamped = request.getOperationType();
            request.setBody(item);
        }";
        let trigger = |id: &str, kind: &str, operation: &str, body: &str| json!({"id": id, "body": body, "triggerType": kind, "triggerOperation": operation});
        container.add("triggers", trigger("stamp", "Pre", "All", stamp)).await;
        let refuse = "function () { throw new Error('refused'); }";
        container.add("triggers", trigger("refuse", "Post", "Create", refuse)).await;
        let pre = ("x-ms-documentdb-pre-trigger-include", "stamp");
        let made = container.create("1", pre).await.expect(201, &[]).value();
        assert_eq!(made["stamped"], "Create");
        let post = ("x-ms-documentdb-post-trigger-include", "refuse");
        container.create("2", post).await.expect(400, &["refused"]);
        failed_with(404, container.items.read_item("a", "2", None).await);
        container
            .create("2", ("x-ms-documentdb-pre-trigger-include", "none"))
            .await
            .expect(400, &[]);
        container.scratch.finish().await;
    });
}

#[test]
fn functions_are_called_from_queries_and_from_those_of_procedures() {
    run(async {
        let container = Scripted::new().await;
        container
            .add("udfs", json!({"id": "twice", "body": "function (n) { return 2 * n; }"}))
            .await;
        for n in 0..4 {
            let id = format!("i{n}");
            let body = json!({"id": id, "pk": "a", "n": n});
            container.items.create_item("a", &id, &body, None).await.unwrap();
        }
        let text = "SELECT VALUE udf.twice(c.n) FROM c WHERE udf.twice(c.n) > 2 ORDER BY c.n";
        let scope = FeedScope::partition("a");
        let rows = container.items.query_items::<Value>(Query::from(text), scope, None);
        let rows: Vec<Value> = rows.await.unwrap().try_collect().await.unwrap();
        assert_eq!(rows, [4, 6]);
        let sum = "function () {
            __.queryDocuments(__.getSelfLink(), 'SELECT VALUE SUM(udf.twice(c.n)) FROM c',
                function (err, rows) { if (err) throw err; __.response.setBody(rows[0]); });
        }";
        container.procedure("sum", sum).await;
        assert_eq!(container.run("sum", json!([])).await.expect(200, &[]).value(), 12);
        container.scratch.finish().await;
    });
}
