//! Attachments: below their item, in its logical partition, gone with it.

use model::Failure as _;
use partition::{ATTACHMENTS_MAX, AttachmentCall, MEDIA_BYTES_MAX};

use crate::support::*;

const DOC: &str = r#"{"id":"d","pk":1}"#;

async fn with_doc() -> World {
    let world = World::new();
    world.create(DOC).await.unwrap();
    world
}

#[tokio::test]
async fn an_attachment_has_its_own_properties_and_those_of_the_system() {
    let world = with_doc().await;
    let link =
        r#"{"id":"a","contentType":"text/plain","media":"http://x","n":[1,{"b":2}],"_ts":5}"#;
    let created = world.attach("[1]", "d", create_attachment(link)).await.unwrap();
    assert_eq!(created.outcome.status.code, 201);
    let shown = json(created.outcome.body.as_ref().unwrap());
    let doc = world.read("[1]", "d").unwrap();
    assert!(text(&shown, "_self").starts_with(&text(&doc, "_self")));
    assert!(text(&shown, "_self").contains(&format!("/attachments/{}/", text(&shown, "_rid"))));
    let rid = model::Rid::parse(&text(&shown, "_rid")).unwrap();
    assert_eq!(rid.split_attachment().unwrap().0.to_string(), text(&doc, "_rid"));
    assert_eq!(shown.get("n").unwrap().to_text(), r#"[1,{"b":2}]"#);
    assert_eq!(text(&shown, "_etag"), created.outcome.etag.unwrap().as_str());
    assert!(shown.get("_ts").unwrap().as_i64().unwrap() > 5);
    let read = world.attachment("[1]", "d", "a").unwrap();
    assert_eq!(read, shown);
    assert_eq!(doc, world.read("[1]", "d").unwrap(), "the item is not touched");
    assert_eq!(world.feed(model::Lsn(0)).len(), 1, "attachments are not in the feed");
    world.check();
}

#[tokio::test]
async fn create_replace_upsert_and_delete_answer_as_for_items() {
    let world = with_doc().await;
    let one = r#"{"id":"a","contentType":"t/p","media":"x"}"#;
    let two = r#"{"id":"a","contentType":"t/p","media":"x","v":2}"#;
    let renamed = r#"{"id":"b","contentType":"t/p","media":"x"}"#;
    let at = |op| world.attach("[1]", "d", op);
    assert_eq!(code(&at(create_attachment(one)).await), 201);
    assert_eq!(code(&at(create_attachment(one)).await), 409);
    assert_eq!(code(&at(upsert_attachment(two)).await), 200);
    assert_eq!(code(&at(replace_attachment("zz", two)).await), 404);
    let rid = text(&world.attachment("[1]", "d", "a").unwrap(), "_rid");
    assert_eq!(code(&at(replace_attachment("a", renamed)).await), 200);
    assert_eq!(failure(world.attachment("[1]", "d", "a")).0, 404);
    assert_eq!(text(&world.attachment("[1]", "d", "b").unwrap(), "_rid"), rid);
    assert_eq!(code(&at(upsert_attachment(one)).await), 201);
    assert_eq!(code(&at(replace_attachment("b", one)).await), 409);
    assert_eq!(code(&at(delete_attachment("b")).await), 204);
    assert_eq!(code(&at(delete_attachment("b")).await), 404);
    assert_eq!(code(&world.attach("[1]", "nobody", create_attachment(one)).await), 404);
    assert_eq!(code(&world.attach("[2]", "d", create_attachment(one)).await), 404);
    for bad in [r#"{"id":"c","media":"x"}"#, r#"{"id":"c","contentType":"x"}"#] {
        let parsed = partition::AttachmentBody::parse(bad.as_bytes());
        assert_eq!(parsed.unwrap_err().status().code, 400, "{bad}");
    }
    assert_eq!(world.check().n_items, 1);
    assert_eq!(world.partition.statistics().n_attachments, 1);
}

#[tokio::test]
async fn preconditions_are_those_of_items() {
    let world = with_doc().await;
    let body = r#"{"id":"a","contentType":"t/p","media":"x"}"#;
    let created = world.attach("[1]", "d", create_attachment(body)).await.unwrap();
    let etag = created.outcome.etag.unwrap().as_str().to_owned();
    let call = |op, if_match: &str| AttachmentCall {
        if_match: Some(if_match.to_owned()),
        ..AttachmentCall::new("d", op)
    };
    let at = world.at("[1]");
    for op in [replace_attachment("a", body), upsert_attachment(body), delete_attachment("a")] {
        let refused = world.partition.apply_attachment(&at, call(op, "\"other\"")).await;
        assert_eq!(code(&refused), 412);
    }
    let replaced =
        world.partition.apply_attachment(&at, call(replace_attachment("a", body), &etag));
    assert_eq!(code(&replaced.await), 200);
    let stale = world.partition.apply_attachment(&at, call(delete_attachment("a"), &etag)).await;
    assert_eq!(code(&stale), 412);
    let now = world.partition.read_attachment(&at, "d", "a", None).unwrap().etag.unwrap();
    let unchanged = world.partition.read_attachment(&at, "d", "a", Some(now.as_str())).unwrap();
    assert_eq!((unchanged.status.code, unchanged.body), (304, None));
}

#[tokio::test]
async fn media_is_kept_in_pieces_and_counted() {
    let world = with_doc().await;
    let before = world.partition.statistics().bytes;
    for n_bytes in [0, 1, 65_536, 200_000] {
        let media = bytes(n_bytes, 3);
        let uploaded = world.attach("[1]", "d", upload("m", "image/png", &media)).await.unwrap();
        let shown = json(uploaded.outcome.body.as_ref().unwrap());
        assert_eq!(text(&shown, "contentType"), "image/png");
        let rid = model::Rid::parse(&text(&shown, "_rid")).unwrap();
        assert_eq!(text(&shown, "media"), format!("/media/{}", rid.to_media_id()));
        let found = world.partition.read_media(&world.at("[1]"), "d", "m").unwrap();
        assert_eq!((found.content_type.as_str(), found.bytes == media), ("image/png", true));
        world.check();
        let statistics = world.partition.statistics();
        assert_eq!(statistics.media_bytes, n_bytes as u64);
        let text_bytes = statistics.bytes - before - n_bytes as u64;
        assert!((50..200).contains(&text_bytes), "{text_bytes}");
    }
    let large = uploaded_charge(&world, 500_000).await;
    assert!(large > uploaded_charge(&world, 1_000).await, "media costs by its size");
    world.attach("[1]", "d", delete_attachment("m")).await.unwrap();
    assert_eq!(world.partition.statistics().bytes, before);
    assert_eq!(world.partition.statistics().media_bytes, 0);
    world.check();
}

async fn uploaded_charge(world: &World, n_bytes: usize) -> model::Charge {
    let media = bytes(n_bytes, 1);
    let uploaded = world.attach("[1]", "d", upload("m", "image/png", &media)).await;
    uploaded.unwrap().outcome.charge
}

#[tokio::test]
async fn media_stays_while_the_attachment_links_to_it() {
    let world = with_doc().await;
    let media = bytes(100_000, 5);
    let uploaded = world.attach("[1]", "d", upload("m", "image/png", &media)).await.unwrap();
    let shown = json(uploaded.outcome.body.as_ref().unwrap());
    let link = text(&shown, "media");
    // Another property, same link: the media stays, also under another name.
    let kept = format!(r#"{{"id":"n","contentType":"image/gif","media":"{link}","by":"me"}}"#);
    world.attach("[1]", "d", replace_attachment("m", &kept)).await.unwrap();
    let found = world.partition.read_media(&world.at("[1]"), "d", "n").unwrap();
    assert_eq!((found.content_type.as_str(), found.bytes == media), ("image/gif", true));
    // New media alone: properties stay, the kind changes.
    let short = bytes(10, 6);
    world.attach("[1]", "d", replace_media("n", "text/plain", &short)).await.unwrap();
    let found = world.partition.read_media(&world.at("[1]"), "d", "n").unwrap();
    assert_eq!((found.content_type.as_str(), found.bytes == short), ("text/plain", true));
    let now = world.attachment("[1]", "d", "n").unwrap();
    assert_eq!((text(&now, "by"), text(&now, "media")), ("me".to_owned(), link.clone()));
    world.check();
    // A link to somewhere else lets go of it.
    let other = r#"{"id":"n","contentType":"image/gif","media":"http://elsewhere"}"#;
    world.attach("[1]", "d", replace_attachment("n", other)).await.unwrap();
    assert_eq!(failure(world.partition.read_media(&world.at("[1]"), "d", "n")).0, 404);
    let nothing = world.attach("[1]", "d", replace_media("n", "text/plain", &short)).await;
    assert_eq!(code(&nothing), 404, "there is no media to replace");
    // The link of an attachment that is not this one is only a link.
    let foreign = format!(r#"{{"id":"f","contentType":"a/b","media":"{link}"}}"#);
    world.attach("[1]", "d", create_attachment(&foreign)).await.unwrap();
    assert_eq!(failure(world.partition.read_media(&world.at("[1]"), "d", "f")).0, 404);
    assert_eq!(world.partition.statistics().media_bytes, 0);
    world.check();
}

#[tokio::test]
async fn attachments_go_with_their_item_however_it_goes() {
    let world = World::with(with_ttl(-1));
    let make = async |id: &str, more: &str| {
        world.create(&format!(r#"{{"id":"{id}","pk":1{more}}}"#)).await.unwrap();
        world.attach("[1]", id, upload("m", "image/png", &bytes(70_000, 1))).await.unwrap();
        let link = r#"{"id":"l","contentType":"a/b","media":"x"}"#;
        world.attach("[1]", id, create_attachment(link)).await.unwrap();
    };
    make("deleted", "").await;
    make("batched", "").await;
    make("expired", r#","ttl":5"#).await;
    make("taken", r#","ttl":5"#).await;
    make("replaced", "").await;
    make("purged", "").await;
    assert_eq!(world.partition.statistics().n_attachments, 12);
    world.delete("[1]", "deleted").await.unwrap();
    world.batch("[1]", vec![delete("batched")]).await.unwrap();
    assert_eq!(world.partition.statistics().n_attachments, 8);
    world.check();
    world.replace("replaced", r#"{"id":"renamed","pk":1}"#).await.unwrap();
    assert!(world.attachment("[1]", "renamed", "l").is_ok(), "a replace keeps them");
    world.advance(5);
    for id in ["expired", "taken"] {
        assert_eq!(failure(world.attachment("[1]", id, "l")).0, 404, "dead at once");
        assert_eq!(failure(world.partition.read_media(&world.at("[1]"), id, "m")).0, 404);
    }
    // Whoever takes the id of a dead item gets none of its attachments.
    world.create(r#"{"id":"taken","pk":1}"#).await.unwrap();
    assert_eq!(failure(world.attachment("[1]", "taken", "l")).0, 404);
    assert!(world.attachments("[1]", "taken").is_empty());
    while world.partition.expire(10).await.unwrap() > 0 {}
    assert_eq!(world.partition.statistics().n_attachments, 4);
    world.check();
    world.partition.delete_logical(&world.at("[1]")).await.unwrap();
    while world.partition.expire(10).await.unwrap() > 0 {}
    let end = world.partition.statistics();
    assert_eq!((end.n_attachments, end.media_bytes, end.bytes), (0, 0, 0));
    world.check();
}

#[tokio::test]
async fn lists_are_paged_in_creation_order() {
    let world = with_doc().await;
    for id in ["c", "a", "b", "e", "d"] {
        let body = format!(r#"{{"id":"{id}","contentType":"a/b","media":"x"}}"#);
        world.attach("[1]", "d", create_attachment(&body)).await.unwrap();
    }
    world.attach("[1]", "d", delete_attachment("b")).await.unwrap();
    assert_eq!(world.attachments("[1]", "d"), ["c", "a", "e", "d"]);
    let missing = world.partition.attachments(&world.at("[1]"), "nobody", None, limits(2));
    assert_eq!(failure(missing).0, 404);
}

#[tokio::test]
async fn a_number_is_never_given_twice() {
    let world = with_doc().await;
    let mut seen = std::collections::HashSet::new();
    for _ in 0..5 {
        let body = r#"{"id":"a","contentType":"a/b","media":"x"}"#;
        world.attach("[1]", "d", create_attachment(body)).await.unwrap();
        assert!(seen.insert(text(&world.attachment("[1]", "d", "a").unwrap(), "_rid")));
        world.attach("[1]", "d", delete_attachment("a")).await.unwrap();
    }
    world.check();
}

#[tokio::test]
async fn what_an_item_may_have_is_bounded() {
    let world = with_doc().await;
    for n in 0..ATTACHMENTS_MAX {
        let body = format!(r#"{{"id":"{n}","contentType":"a/b","media":"x"}}"#);
        world.attach("[1]", "d", create_attachment(&body)).await.unwrap();
    }
    let over = r#"{"id":"over","contentType":"a/b","media":"x"}"#;
    assert_eq!(code(&world.attach("[1]", "d", create_attachment(over)).await), 403);
    let again = r#"{"id":"7","contentType":"a/b","media":"y"}"#;
    assert_eq!(code(&world.attach("[1]", "d", upsert_attachment(again)).await), 200);
    world.delete("[1]", "d").await.unwrap();
    assert_eq!(world.partition.statistics().n_attachments, 0);
    world.check();
    world.create(DOC).await.unwrap();
    let huge = bytes(MEDIA_BYTES_MAX + 1, 0);
    assert_eq!(code(&world.attach("[1]", "d", upload("m", "a/b", &huge)).await), 413);
    let full = huge.slice(1..);
    assert_eq!(code(&world.attach("[1]", "d", upload("m", "a/b", &full)).await), 201);
    assert_eq!(world.partition.read_media(&world.at("[1]"), "d", "m").unwrap().bytes, full);
}

#[tokio::test]
async fn a_full_logical_partition_takes_no_attachment() {
    let world = World::with(partition::Settings { logical_bytes_max: 1_000, ..settings() });
    world.create(DOC).await.unwrap();
    let over = world.attach("[1]", "d", upload("m", "a/b", &bytes(1_000, 0))).await;
    assert_eq!(failure(over), (403, 1014));
    world.attach("[1]", "d", upload("m", "a/b", &bytes(500, 0))).await.unwrap();
    world.check();
}

#[tokio::test]
async fn a_reopened_partition_has_its_attachments() {
    let folder = tempfile::tempdir().unwrap();
    let world = World::on(embedded(folder.path()), settings());
    world.create(DOC).await.unwrap();
    let media = bytes(300_000, 9);
    world.attach("[1]", "d", upload("m", "a/b", &media)).await.unwrap();
    world.attach("[1]", "d", upload("gone", "a/b", &media)).await.unwrap();
    world.attach("[1]", "d", delete_attachment("gone")).await.unwrap();
    let before = (world.check(), world.partition.statistics());
    world.store.close().unwrap();
    let env = world.env.clone();
    drop(world);
    let world = World::open(embedded(folder.path()), settings(), env);
    assert_eq!((world.check(), world.partition.statistics()), before);
    assert_eq!(world.partition.read_media(&world.at("[1]"), "d", "m").unwrap().bytes, media);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writers_of_one_item_agree_about_its_attachments() {
    let folder = tempfile::tempdir().unwrap();
    let world = std::sync::Arc::new(World::on(embedded(folder.path()), settings()));
    let mut writers = tokio::task::JoinSet::new();
    for writer in 0..8_u64 {
        let world = std::sync::Arc::clone(&world);
        writers.spawn(async move {
            for n in 0..30_u64 {
                // Conflicts are part of the game.
                match (writer + n) % 6 {
                    0 => drop(world.upsert(DOC).await),
                    1 => drop(world.delete("[1]", "d").await),
                    2 => drop(world.attach("[1]", "d", delete_attachment("1")).await),
                    3 => {
                        let media = bytes(usize::try_from(n * 9_000).unwrap(), 1);
                        drop(world.attach("[1]", "d", upload("1", "a/b", &media)).await);
                    }
                    other => {
                        let body = format!(r#"{{"id":"{other}","contentType":"a/b","media":"x"}}"#);
                        drop(world.attach("[1]", "d", upsert_attachment(&body)).await);
                    }
                }
            }
        });
    }
    while let Some(done) = writers.join_next().await {
        done.unwrap();
    }
    world.check();
    drop(world.delete("[1]", "d").await);
    assert_eq!(world.partition.statistics().n_attachments, 0);
    world.check();
}
