//! Offers: throughput of databases and containers.

use account::{OfferMigration, ThroughputRequest};
use model::Value;

use crate::support::{Answer, Client};

fn throughput(client: &Client, request: ThroughputRequest) -> Client {
    client.with_options(|options| options.throughput = Some(request))
}

fn autoscale(max: u64) -> ThroughputRequest {
    ThroughputRequest::Autoscale(format!("{{\"maxThroughput\":{max}}}"))
}

async fn offer_of(client: &Client, path: &str) -> Option<Answer> {
    let link = client.read(path).await.text("_self");
    let found = client
        .query_resources("offers", &format!("SELECT * FROM root r WHERE r.resource = \"{link}\""))
        .await
        .expect(200);
    let link = found.rows.first()?.get("_self")?.as_str()?.to_owned();
    Some(client.read(&link).await.expect(200))
}

fn content<'a>(offer: &'a Value, path: &[&str]) -> Option<&'a Value> {
    path.iter().try_fold(offer.get("content")?, |value, name| value.get(name))
}

fn n_of(offer: &Answer, path: &[&str]) -> i64 {
    content(&offer.value, path).and_then(Value::as_i64).unwrap()
}

#[tokio::test]
async fn a_container_has_the_offer_it_asked_for() {
    let client = Client::new(1).await;
    client.create("dbs", r#"{"id":"d"}"#).await.expect(201);
    client.create("dbs/d/colls", crate::support::CONTAINER).await.expect(201);
    assert!(offer_of(&client, "dbs/d").await.is_none());
    let offer = offer_of(&client, "dbs/d/colls/c").await.unwrap();
    let container = client.read("dbs/d/colls/c").await;
    assert_eq!(offer.text("resource"), container.text("_self"));
    assert_eq!(offer.text("offerResourceId"), container.text("_rid"));
    assert_eq!(offer.text("id"), offer.text("_rid"));
    assert_eq!(offer.text("_self"), format!("offers/{}/", offer.text("_rid")));
    assert_eq!(
        (offer.text("offerVersion"), offer.text("offerType")),
        ("V2".into(), "Invalid".into())
    );
    assert_eq!(n_of(&offer, &["offerThroughput"]), 400);
    assert_eq!(offer.facts.min_throughput, Some(400));
    assert_eq!(offer.facts.offer_replace_pending, Some(false));
    client.delete("dbs/d/colls/c").await.expect(204);
    assert_eq!(client.list("offers").await.rows.len(), 0);
}

#[tokio::test]
async fn ranges_follow_the_throughput_and_the_minimum() {
    #[rustfmt::skip]
    let table = [
        (1, ThroughputRequest::Manual(400), 1), (1, ThroughputRequest::Manual(11_000), 2),
        (1, ThroughputRequest::Manual(30_000), 5), (1, autoscale(11_000), 2), (1, autoscale(10_000), 1),
        (4, ThroughputRequest::Manual(400), 4), (2, ThroughputRequest::Manual(30_000), 5),
    ];
    for (min_partitions, request, n_ranges) in table {
        let client = Client::new(min_partitions).await;
        client.create("dbs", r#"{"id":"d"}"#).await.expect(201);
        throughput(&client, request.clone())
            .create("dbs/d/colls", crate::support::CONTAINER)
            .await
            .expect(201);
        let ranges = client.ranges("dbs/d/colls/c", None, true).await;
        assert_eq!(ranges.rows.len(), n_ranges, "{request:?} with at least {min_partitions}");
    }
}

#[tokio::test]
async fn wrong_throughput_is_refused() {
    #[rustfmt::skip]
    let table = [
        (ThroughputRequest::Both, "x-ms-offer-throughput"),
        (ThroughputRequest::Manual(-200), "Requested throughput -200 is less than required minimum throughput 400"),
        (ThroughputRequest::Manual(450), "in increments of 100"),
        (ThroughputRequest::Manual(2_000_000), "in increments of 100"),
        (autoscale(900), "Requested throughput 900 is less than required minimum throughput 1000"),
        (autoscale(1500), "in increments of 1000"),
        (ThroughputRequest::Autoscale("{}".into()), "maxThroughput"),
        (ThroughputRequest::Autoscale("x".into()), "JSON"),
    ];
    let client = Client::with_container(1).await;
    for (request, message) in table {
        let asking = throughput(&client, request.clone());
        for (path, body) in [
            ("dbs", r#"{"id":"x"}"#),
            ("dbs/d/colls", r#"{"id":"x","partitionKey":{"paths":["/a"]}}"#),
        ] {
            let answer = asking.create(path, body).await.expect(400);
            assert!(answer.message.contains(message), "{request:?}: {}", answer.message);
        }
    }
    assert_eq!(client.list("dbs").await.rows.len(), 1);
}

#[tokio::test]
async fn containers_share_the_throughput_of_their_database() {
    let client = Client::new(1).await;
    throughput(&client, ThroughputRequest::Manual(20_000))
        .create("dbs", r#"{"id":"d"}"#)
        .await
        .expect(201);
    client.create("dbs/d/colls", crate::support::CONTAINER).await.expect(201);
    assert_eq!(client.ranges("dbs/d/colls/c", None, true).await.rows.len(), 2);
    assert!(offer_of(&client, "dbs/d/colls/c").await.is_none());
    assert_eq!(n_of(&offer_of(&client, "dbs/d").await.unwrap(), &["offerThroughput"]), 20_000);
    let own = throughput(&client, ThroughputRequest::Manual(500));
    own.create("dbs/d/colls", &crate::support::CONTAINER.replace("\"c\"", "\"own\""))
        .await
        .expect(201);
    assert_eq!(
        n_of(&offer_of(&client, "dbs/d/colls/own").await.unwrap(), &["offerThroughput"]),
        500
    );
    for index in 1..25 {
        let body = crate::support::CONTAINER.replace("\"c\"", &format!("\"c{index}\""));
        client.create("dbs/d/colls", &body).await.expect(201);
    }
    let body = crate::support::CONTAINER.replace("\"c\"", "\"c25\"");
    client.create("dbs/d/colls", &body).await.expect_sub(403, 1019);
    own.create("dbs/d/colls", &body).await.expect(201);
}

#[tokio::test]
async fn offers_are_replaced_within_their_limits() {
    let client = Client::with_container(1).await;
    let offer = offer_of(&client, "dbs/d/colls/c").await.unwrap();
    let link = offer.text("_self");
    let change = |from: &str, to: &str| offer.value.to_text().replace(from, to);
    let manual =
        |units: i64| change("\"offerThroughput\":400", &format!("\"offerThroughput\":{units}"));
    let replaced = client.replace(&link, &manual(60_000)).await.expect(200);
    assert_eq!(n_of(&replaced, &["offerThroughput"]), 60_000);
    assert_eq!(replaced.facts.min_throughput, Some(600), "a hundredth of the highest ever");
    let low = client.replace(&link, &manual(500)).await.expect(400);
    assert!(
        low.message
            .contains("Requested throughput 500 is less than required minimum throughput 600")
    );
    client.replace(&link, &manual(650)).await.expect(400);
    client.replace(&link, &manual(600)).await.expect_sub(400, 3205);
    client.account.run_jobs_once().await.unwrap();
    client.replace(&link, &manual(600)).await.expect(200);
    client.replace(&link, &change(&offer.text("resource"), "dbs/other/")).await.expect(400);
    client.replace(&link, "{}").await.expect(400);
    let settings = r#""offerAutopilotSettings":{"maxThroughput":4000},"offerThroughput":400"#;
    client.replace(&link, &change("\"offerThroughput\":400", settings)).await.expect(400);
    let stale = client.with_options(|options| options.if_match = Some("\"x\"".into()));
    stale.replace(&link, &manual(600)).await.expect(412);
    client.delete(&link).await.expect(405);
    client.create("offers", &manual(600)).await.expect(405);
    client.read("offers/AAAA").await.expect(404);
}

#[tokio::test]
async fn offers_migrate_between_manual_and_autoscale() {
    let client = Client::with_container(1).await;
    let offer = offer_of(&client, "dbs/d/colls/c").await.unwrap();
    let link = offer.text("_self");
    let to = |migration| client.with_options(|options| options.migrate_offer = Some(migration));
    let scaled =
        to(OfferMigration::ToAutoscale).replace(&link, &offer.value.to_text()).await.expect(200);
    assert_eq!(n_of(&scaled, &["offerAutopilotSettings", "maxThroughput"]), 4000);
    assert_eq!(n_of(&scaled, &["offerThroughput"]), 400);
    assert_eq!(scaled.facts.min_throughput, Some(1000));
    to(OfferMigration::ToAutoscale).replace(&link, &offer.value.to_text()).await.expect(400);
    let raised = scaled.value.to_text().replace("\"maxThroughput\":4000", "\"maxThroughput\":7000");
    let raised = client.replace(&link, &raised).await.expect(200);
    assert_eq!(n_of(&raised, &["offerAutopilotSettings", "maxThroughput"]), 7000);
    let manual =
        to(OfferMigration::ToManual).replace(&link, &raised.value.to_text()).await.expect(200);
    assert_eq!(n_of(&manual, &["offerThroughput"]), 7000);
    assert_eq!(content(&manual.value, &["offerAutopilotSettings"]), None);
}

#[tokio::test]
async fn autoscale_settings_are_shown_in_full() {
    let client = Client::new(1).await;
    let text =
        r#"{"maxThroughput":5000,"autoUpgradePolicy":{"throughputPolicy":{"incrementPercent":3}}}"#;
    let asking = throughput(&client, ThroughputRequest::Autoscale(text.into()));
    asking.create("dbs", r#"{"id":"d"}"#).await.expect(201);
    let offer = offer_of(&client, "dbs/d").await.unwrap();
    let path =
        ["offerAutopilotSettings", "autoUpgradePolicy", "throughputPolicy", "incrementPercent"];
    assert_eq!(n_of(&offer, &path), 3);
    assert_eq!(n_of(&offer, &["offerThroughput"]), 500);
    let rid = client.read("dbs/d").await.text("_rid");
    let query = format!("SELECT * FROM c WHERE c.offerResourceId = '{rid}'");
    assert_eq!(client.query_resources("offers", &query).await.expect(200).rows.len(), 1);
}

/// Wire: the throughput of containers before it was a number.
#[tokio::test]
async fn performance_levels_are_kept_and_exchanged_for_numbers() {
    let client = Client::new(1).await;
    client.create("dbs", r#"{"id":"d"}"#).await.expect(201);
    let level = |name: &str| throughput(&client, ThroughputRequest::Level(name.into()));
    for (name, units) in [("S1", 250), ("S2", 1000), ("S3", 2500)] {
        let body = crate::support::CONTAINER.replace("\"c\"", &format!("\"{name}\""));
        level(name).create("dbs/d/colls", &body).await.expect(201);
        let path = format!("dbs/d/colls/{name}");
        let offer = offer_of(&client, &path).await.unwrap();
        assert_eq!(
            (offer.text("offerVersion"), offer.text("offerType")),
            ("V1".into(), name.into())
        );
        assert_eq!(n_of(&offer, &["offerThroughput"]), units);
    }
    let body = crate::support::CONTAINER;
    for bad in ["S4", "", "Invalid", "P1"] {
        let refused = level(bad).create("dbs/d/colls", body).await.expect(400);
        assert!(refused.message.contains("S1, S2 and S3"), "{}", refused.message);
    }
    let both = throughput(&client, ThroughputRequest::LevelAndThroughput);
    both.create("dbs/d/colls", body).await.expect(400);
    level("S1").create("dbs", r#"{"id":"e"}"#).await.expect(400);

    let offer = offer_of(&client, "dbs/d/colls/S1").await.unwrap();
    let (link, text) = (offer.text("_self"), offer.value.to_text());
    let raised = client.replace(&link, &text.replace("\"S1\"", "\"S3\"")).await.expect(200);
    assert_eq!(
        (raised.text("offerType"), n_of(&raised, &["offerThroughput"])),
        ("S3".into(), 2500)
    );
    client.replace(&link, &text.replace("\"S1\"", "\"S9\"")).await.expect(400);
    let number = raised.value.to_text().replace("\"V1\"", "\"V2\"");
    let number = number.replace("\"offerThroughput\":2500", "\"offerThroughput\":4000");
    let number = client.replace(&link, &number).await.expect(200);
    assert_eq!(
        (number.text("offerVersion"), number.text("offerType")),
        ("V2".into(), "Invalid".into())
    );
    assert_eq!(n_of(&number, &["offerThroughput"]), 4000);
    let back = number.value.to_text().replace("\"Invalid\"", "\"S2\"").replace("\"V2\"", "\"V1\"");
    let back = client.replace(&link, &back).await.expect(200);
    assert_eq!((back.text("offerType"), n_of(&back, &["offerThroughput"])), ("S2".into(), 1000));
}

#[tokio::test]
async fn an_offer_says_which_one_it_is() {
    let client = Client::with_container(1).await;
    let offer = offer_of(&client, "dbs/d/colls/c").await.unwrap();
    let mut body = offer.value.as_object().unwrap().clone();
    body.remove("id");
    client.replace(&offer.text("_self"), &Value::Object(body.clone()).to_text()).await.expect(200);
    body.remove("_rid");
    client.replace(&offer.text("_self"), &Value::Object(body).to_text()).await.expect(400);
}
