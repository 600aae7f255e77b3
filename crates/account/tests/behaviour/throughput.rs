//! Throughput at work: budgets, 429, heat.

use std::time::Duration;

use account::{AccountOptions, ContainerHeat, Enforcement, ThroughputRequest};
use model::{Charge, Value};

use crate::support::{Answer, Client};

async fn client(enforcement: Enforcement, n_ranges: u32) -> Client {
    let options =
        AccountOptions { min_partitions: n_ranges, enforcement, ..AccountOptions::default() };
    let client = Client::with(store::open_memory(), options).await;
    client.create("dbs", r#"{"id":"d"}"#).await.expect(201);
    client
}

async fn with_container(enforcement: Enforcement, n_ranges: u32) -> Client {
    let client = client(enforcement, n_ranges).await;
    client.create("dbs/d/colls", crate::support::CONTAINER).await.expect(201);
    client
}

fn item(id: usize, key: &str) -> String {
    format!(r#"{{"id":"i{id}","pk":"{key}"}}"#)
}

fn heat(client: &Client) -> ContainerHeat {
    client.account.heat(&crate::support::link("dbs/d/colls/c")).unwrap()
}

/// Writes items until one is refused; returns how many went in and the refusal.
async fn write_until_refused(
    client: &Client,
    path: &str,
    key: &str,
    first: usize,
) -> (usize, Answer) {
    for n in 0..10_000 {
        let answer = client.items_of(path).create(&item(first + n, key)).await;
        if answer.status.code != 201 {
            return (n, answer);
        }
    }
    panic!("nothing was refused");
}

#[tokio::test]
async fn over_the_throughput_requests_get_429_and_succeed_when_they_obey() {
    let client = with_container(Enforcement::On, 1).await;
    let (n_written, refused) = write_until_refused(&client, "dbs/d/colls/c", "a", 0).await;
    refused.expect(429);
    let charge = client.items().key("[\"a\"]").read("i0").await;
    // The one read that found out is refused like everything else.
    charge.expect(429);
    assert_eq!(heat(&client).ranges[0].1.n_throttled, 2);
    let spent = heat(&client).ranges[0].1.total.hundredths() / 100;
    assert!((400..420).contains(&spent), "{n_written} writes cost {spent}");

    let refused = client.items().create(&item(n_written, "a")).await;
    assert_eq!((refused.status.code, refused.status.sub), (429, 3200));
    assert!(refused.message.starts_with("Request rate is large"), "{}", refused.message);
    assert_eq!(refused.facts.charge.hundredths(), 38);
    let wait = refused.retry_after_ms.unwrap();
    client.env.advance(Duration::from_millis(wait));
    client.items().create(&item(n_written, "a")).await.expect(201);
}

#[tokio::test]
async fn a_client_that_obeys_writes_at_the_provisioned_rate() {
    let client = with_container(Enforcement::On, 1).await;
    let begin = client.env.monotonic();
    let mut spent = 0;
    for n in 0..1000 {
        loop {
            let answer = client.items().create(&item(n, &format!("k{n}"))).await;
            if let Some(wait) = answer.retry_after_ms {
                client.env.advance(Duration::from_millis(wait));
                continue;
            }
            spent += answer.expect(201).facts.charge.hundredths();
            break;
        }
    }
    let seconds = client.env.monotonic().saturating_sub(begin).as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "small numbers")]
    let rate = spent as f64 / 100.0 / seconds;
    // The second that an idle budget keeps comes on top.
    assert!((400.0..440.0 + 400.0 / seconds).contains(&rate), "{rate} RU/s in {seconds} s");
}

#[tokio::test]
async fn ranges_have_equal_shares_and_do_not_disturb_each_other() {
    let client = with_container(Enforcement::On, 4).await;
    let (_, refused) = write_until_refused(&client, "dbs/d/colls/c", "a", 0).await;
    let range = refused.expect(429).facts.range;
    let mut n_served = 0;
    for n in 0..40 {
        let answer = client.items().create(&item(n, &format!("k{n}"))).await;
        n_served += u32::from(answer.status.code == 201);
    }
    assert!(n_served >= 20, "the other three ranges serve: {n_served}");
    let heat = heat(&client);
    assert_eq!(heat.provisioned, Some(400.0));
    let hot: Vec<_> = heat.ranges.iter().filter(|(_, heat)| heat.n_throttled > 0).collect();
    assert_eq!(hot.len(), 1);
    let (id, hot) = hot[0];
    assert!(range.is_none_or(|range| range == *id));
    assert_eq!(hot.provisioned, Some(100.0));
    assert!(hot.normalised >= 1.0 && heat.normalised >= hot.normalised);
    assert_eq!(hot.hottest[0].key.to_header(), r#"["a"]"#);
}

#[tokio::test]
async fn a_dear_operation_is_delayed_never_refused_for_ever() {
    let client = with_container(Enforcement::On, 4).await;
    let body = format!(r#"{{"id":"big","pk":"a","text":"{}"}}"#, "x".repeat(500_000));
    let charge = client.items().create(&body).await.expect(201).facts.charge;
    assert!(charge > Charge::from_hundredths(150 * 100), "dearer than a second's share: {charge}");
    let refused = client.items().key("[\"a\"]").read("big").await;
    let wait = refused.retry_after_ms.unwrap();
    assert!(wait > 500, "{wait} ms");
    client.env.advance(Duration::from_millis(wait));
    client.items().key("[\"a\"]").read("big").await.expect(200);
}

#[tokio::test]
async fn without_enforcement_nothing_is_refused_and_all_is_measured() {
    for (enforcement, counts) in [(Enforcement::Off, false), (Enforcement::Warn, true)] {
        let client = with_container(enforcement, 1).await;
        for n in 0..200 {
            client.items().create(&item(n, "a")).await.expect(201);
        }
        let heat = heat(&client);
        let range = &heat.ranges[0].1;
        assert!(range.total > Charge::from_hundredths(1000 * 100));
        assert!(heat.normalised > 2.0, "{}", heat.normalised);
        assert_eq!(range.n_throttled > 0, counts);
        let metrics = client.account.metrics().ranges;
        assert_eq!(metrics[0].charge, range.total);
        assert!((metrics[0].normalised - heat.normalised).abs() < 1e-9);
    }
}

#[tokio::test]
async fn containers_that_share_a_databases_throughput_share_one_budget() {
    let client = client(Enforcement::On, 1).await;
    let shared =
        client.with_options(|options| options.throughput = Some(ThroughputRequest::Manual(400)));
    shared.create("dbs", r#"{"id":"s"}"#).await.expect(201);
    for name in ["c1", "c2"] {
        let body = crate::support::CONTAINER.replace("\"c\"", &format!("\"{name}\""));
        client.create("dbs/s/colls", &body).await.expect(201);
    }
    let (n_first, refused) = write_until_refused(&client, "dbs/s/colls/c1", "a", 0).await;
    refused.expect(429);
    assert!(n_first > 10);
    client.items_of("dbs/s/colls/c2").create(&item(0, "a")).await.expect(429);
    let heat = client.account.heat(&crate::support::link("dbs/s/colls/c2")).unwrap();
    assert!(heat.is_shared);
    assert_eq!(heat.provisioned, Some(400.0));
}

#[tokio::test]
async fn failures_are_charged_and_pages_end_where_the_budget_does() {
    let client = with_container(Enforcement::On, 2).await;
    for n in 0..20 {
        client.items().create(&item(n, &format!("k{n}"))).await.expect(201);
    }
    let stale = client.with_options(|options| options.if_match = Some("\"stale\"".into()));
    let before = heat(&client);
    let total =
        |heat: &ContainerHeat| heat.ranges.iter().map(|(_, heat)| heat.total).sum::<Charge>();
    stale.items().key("[\"k1\"]").delete("i1").await.expect(412);
    assert!(total(&heat(&client)) > total(&before), "a failed write is charged");
    for _ in 0..1000 {
        let page = client.items().feed().await;
        if page.status.code == 429 {
            return;
        }
        page.expect(200);
    }
    panic!("feeds are free");
}

#[tokio::test]
async fn autoscale_shows_what_the_use_needs() {
    let client = client(Enforcement::Off, 1).await;
    let settings = ThroughputRequest::Autoscale("{\"maxThroughput\":1000}".into());
    let with = client.with_options(|options| options.throughput = Some(settings));
    with.create("dbs/d/colls", crate::support::CONTAINER).await.expect(201);
    let shown = async || {
        let offers = client.list("offers").await.expect(200);
        let content = offers.rows[0].get("content").cloned().unwrap();
        content.get("offerThroughput").and_then(Value::as_i64).unwrap()
    };
    assert_eq!(shown().await, 100);
    for n in 0..60 {
        client.items().create(&item(n, "a")).await.expect(201);
    }
    let busy = shown().await;
    assert!((300..=1000).contains(&busy), "{busy}");
    client.env.advance(Duration::from_secs(120));
    assert_eq!(shown().await, 100);
}

#[tokio::test]
async fn throughput_can_be_given_to_chosen_ranges() {
    let client = with_container(Enforcement::On, 2).await;
    let link = crate::support::link("dbs/d/colls/c");
    let set = async |units: &[(u32, f64)]| {
        let units = units.iter().map(|(id, units)| (model::RangeId(*id), *units)).collect();
        client.account.redistribute(&link, units).await
    };
    set(&[(0, 300.0), (1, 100.0)]).await.unwrap();
    let shares = || {
        let heat = heat(&client);
        heat.ranges.iter().map(|(_, heat)| heat.provisioned.unwrap()).collect::<Vec<_>>()
    };
    assert_eq!(shares(), [300.0, 100.0]);
    let ranges = client.ranges("dbs/d/colls/c", None, false).await;
    let fraction = |at: usize| ranges.rows[at].get("throughputFraction").and_then(Value::as_f64);
    assert_eq!((fraction(0), fraction(1)), (Some(0.75), Some(0.25)));
    for bad in [
        &[(0, 300.0)][..],
        &[(0, 300.0), (7, 100.0)],
        &[(0, 200.0), (1, 100.0)],
        &[(0, 350.0), (1, 50.0)],
        &[(0, 300.0), (1, 100.0), (1, 0.0)],
        &[(0, f64::NAN), (1, 100.0)],
    ] {
        assert!(set(bad).await.is_err(), "{bad:?}");
    }
    let id = client.account.start_split(&link, model::RangeId(0), None).unwrap();
    client.account.wait_for_relocation(id).await.unwrap();
    assert_eq!(shares(), [150.0, 150.0, 100.0]);
    set(&[]).await.unwrap();
    assert!(shares().iter().all(|units| (units - 400.0 / 3.0).abs() < 1e-9));
}

#[tokio::test]
async fn ranges_that_stay_hot_are_split_if_the_account_wants_it() {
    let mut options = AccountOptions::default();
    options.relocation.splits_on_heat = true;
    let client = Client::with(store::open_memory(), options).await;
    client.create("dbs", r#"{"id":"d"}"#).await.expect(201);
    client.create("dbs/d/colls", crate::support::CONTAINER).await.expect(201);
    let n_ranges = || heat(&client).ranges.len();
    let minute = async |keys: usize| {
        for n in 0..60 {
            let key = format!("k{}", n % keys);
            let calls = (0..100).map(|id| crate::support::upsert_call(&item(id, &key))).collect();
            let charge =
                client.items().key(&format!("[\"{key}\"]")).batch(calls).await.facts.charge;
            assert!(charge > Charge::from_hundredths(400 * 100), "{charge}");
            client.env.advance(Duration::from_secs(1));
        }
        client.account.run_jobs_once().await.unwrap();
    };
    minute(1).await;
    minute(1).await;
    assert_eq!(n_ranges(), 1, "one hot key: a split would not help");
    minute(40).await;
    minute(40).await;
    minute(40).await;
    assert!(n_ranges() > 1);
    let reasons: Vec<_> =
        client.account.relocations().iter().map(|status| status.reason.name()).collect();
    assert!(reasons.iter().all(|reason| *reason == "heat"), "{reasons:?}");
}
