//! Triggers: what they see and what they may change.

mod support;

use script::Operation;
use support::Bench;

#[tokio::test]
async fn a_pre_trigger_may_change_the_item() {
    let bench = Bench::new();
    let body = "function () {
        var request = getContext().getRequest(), item = request.getBody();
        item.by = request.getOperationType();
        request.setBody(item);
    }";
    let answer = bench.pre(body, Operation::Upsert, r#"{"id":"a"}"#).await.unwrap();
    assert_eq!(answer.body.unwrap(), r#"{"id":"a","by":"Upsert"}"#);
    let text = r#"function () { getContext().getRequest().setBody('{"id":"t"}'); }"#;
    let answer = bench.pre(text, Operation::Create, r#"{"id":"a"}"#).await.unwrap();
    assert_eq!(answer.body.unwrap(), r#"{"id":"t"}"#);
}

#[tokio::test]
async fn what_becomes_of_an_item_after_it_was_set_is_written_too() {
    let bench = Bench::new();
    bench.add(&[r#"{"id":"job"}"#]);
    let body = "function () {
        var request = getContext().getRequest(), item = request.getBody();
        request.setBody(item);
        __.readDocuments(__.getSelfLink(), function (err, all) { item.jobNumber = all.length; });
    }";
    let answer = bench.pre(body, Operation::Create, r#"{"id":"a"}"#).await.unwrap();
    assert_eq!(answer.body.unwrap(), r#"{"id":"a","jobNumber":1}"#);
    let body = "function () {
        var response = getContext().getResponse(), item = response.getBody();
        response.setBody(item);
        item.late = true;
    }";
    let answer = bench.post(body, "{}", r#"{"id":"a"}"#).await.unwrap();
    assert_eq!(answer.body.unwrap(), r#"{"id":"a","late":true}"#);
}

#[tokio::test]
async fn an_item_that_is_changed_but_not_set_stays_as_it_was() {
    let body = "function () { getContext().getRequest().getBody().x = 1; }";
    let answer =
        Bench::new().pre(body, Operation::Create, r#"{"id": "a", "n": 1.0}"#).await.unwrap();
    assert_eq!(answer.body.unwrap(), r#"{"id": "a", "n": 1.0}"#, "byte for byte");
}

#[tokio::test]
async fn a_pre_trigger_has_no_response() {
    let bench = Bench::new();
    for body in [
        "function () { getContext().getResponse().setBody(1); }",
        "function () { __.response.setBody(1); }",
        "function () { __.map(String); }",
    ] {
        let failed = bench.pre(body, Operation::Create, "{}").await.unwrap_err();
        assert_eq!(model::Failure::status(&failed.error).code, 400, "{body}");
    }
}

#[tokio::test]
async fn a_post_trigger_sees_both_and_may_change_the_response() {
    let body = "function () {
        var context = getContext(), made = context.getResponse().getBody();
        made.seen = [context.getRequest().getBody().id, context.getRequest().getOperationType(),
            context.getResponse().getMaxResourceQuota()];
        context.getResponse().setBody(made);
    }";
    let answer =
        Bench::new().post(body, r#"{"id":"a"}"#, r#"{"id":"a","_etag":"e"}"#).await.unwrap();
    assert_eq!(answer.body.unwrap(), r#"{"id":"a","_etag":"e","seen":["a","Create","x=9"]}"#);
}

#[tokio::test]
async fn a_post_trigger_cannot_change_the_request() {
    let body = "function () { getContext().getRequest().setBody({}); }";
    let failed = Bench::new().post(body, "{}", "{}").await.unwrap_err();
    assert_eq!(model::Failure::status(&failed.error).code, 403);
    assert!(failed.error.to_string().contains("Not a writable property: Body"));
}

#[tokio::test]
async fn a_trigger_may_write_other_items() {
    let bench = Bench::new();
    let body = "function () { __.createDocument(__.getSelfLink(), {id: 'audit'}); }";
    bench.post(body, "{}", "{}").await.unwrap();
    assert_eq!(bench.ids(), ["audit"]);
}
