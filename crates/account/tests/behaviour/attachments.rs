//! Attachments and media through the account: by name and by rid, by key, paged, queried, granted, bounded.

use account::{
    AccountOptions, AttachmentAction, AttachmentInput, Body, ItemAction, MediaAction, Operation,
    Options, Principal, QueryText,
};
use bytes::Bytes;
use model::Value;

use crate::support::*;

const LINK: &str = r#"{"id":"a","contentType":"text/plain","media":"http://x","n":1}"#;

fn json(text: &str) -> AttachmentInput {
    AttachmentInput::Json(Bytes::copy_from_slice(text.as_bytes()))
}

fn media(slug: Option<&str>, n_bytes: usize) -> AttachmentInput {
    AttachmentInput::Media {
        slug: slug.map(str::to_owned),
        content_type: "image/png".to_owned(),
        bytes: Bytes::from(vec![7; n_bytes]),
    }
}

fn on(item: &str, action: AttachmentAction) -> ItemAction {
    ItemAction::Attachment { item: item.to_owned(), action }
}

fn create(item: &str, content: AttachmentInput) -> ItemAction {
    on(item, AttachmentAction::Create { content, is_upsert: false })
}

fn upsert(item: &str, content: AttachmentInput) -> ItemAction {
    on(item, AttachmentAction::Create { content, is_upsert: true })
}

fn read(item: &str, id: &str) -> ItemAction {
    on(item, AttachmentAction::Read { id: id.to_owned() })
}

fn replace(item: &str, id: &str, content: AttachmentInput) -> ItemAction {
    on(item, AttachmentAction::Replace { id: id.to_owned(), content })
}

fn delete(item: &str, id: &str) -> ItemAction {
    on(item, AttachmentAction::Delete { id: id.to_owned() })
}

fn query(item: &str, text: &str) -> ItemAction {
    let query = QueryText { text: text.to_owned(), ..QueryText::default() };
    on(item, AttachmentAction::Query { query })
}

async fn read_media(client: &Client, link: &str) -> Result<(String, Bytes), u16> {
    let id = link.strip_prefix("/media/").unwrap().to_owned();
    let operation = Operation::Media { id, action: MediaAction::Read };
    let (principal, options) = (client.principal.clone(), client.options.clone());
    let call = account::Call { principal, operation, options };
    match client.account.execute(call).await {
        Ok(outcome) => match outcome.body {
            Body::Media { content_type, bytes, .. } => Ok((content_type, bytes)),
            other => panic!("no media: {other:?}"),
        },
        Err(failed) => Err(model::Failure::status(&failed.error).code),
    }
}

async fn media_head(client: &Client, link: &str) -> Answer {
    let id = link.strip_prefix("/media/").unwrap().to_owned();
    client.call(Operation::Media { id, action: MediaAction::Head }).await
}

async fn replace_media(client: &Client, link: &str, n_bytes: usize) -> Answer {
    let id = link.strip_prefix("/media/").unwrap().to_owned();
    let bytes = Bytes::from(vec![9; n_bytes]);
    let action = MediaAction::Replace { content_type: "text/plain".to_owned(), bytes };
    client.call(Operation::Media { id, action }).await
}

async fn with_item() -> Client {
    let client = Client::with_container(4).await;
    client.items().key(r#"["p"]"#).create(r#"{"id":"d","pk":"p"}"#).await.expect(201);
    client
}

#[tokio::test]
async fn attachments_are_addressed_by_name_with_the_key_of_their_item() {
    let client = with_item().await;
    let items = client.items().key(r#"["p"]"#);
    let created = items.run(create("d", json(LINK))).await.expect(201);
    assert!(created.facts.session.is_some() && created.facts.charge.hundredths() > 0);
    assert_eq!(created.facts.owner_path.as_deref(), Some("dbs/d/colls/c/docs/d"));
    items.run(create("d", json(LINK))).await.expect(409);
    items.run(upsert("d", json(LINK))).await.expect(200);
    let shown = items.run(read("d", "a")).await.expect(200);
    assert_eq!(shown.text("_rid"), created.text("_rid"));
    items.run(read("d", "b")).await.expect(404);
    items.run(read("nobody", "a")).await.expect(404);
    client.items().key(r#"["q"]"#).run(read("d", "a")).await.expect(404);
    client.items().run(read("d", "a")).await.expect(400);
    let renamed = r#"{"id":"b","contentType":"a/b","media":"x"}"#;
    items.run(replace("d", "a", json(renamed))).await.expect(200);
    items.run(delete("d", "a")).await.expect(404);
    items.run(delete("d", "b")).await.expect(204);
    for bad in ["{", "[]", r#"{"id":"x"}"#, r#"{"contentType":"a","media":"b"}"#] {
        items.run(create("d", json(bad))).await.expect(400);
    }
    items.run(create("d", media(None, 1))).await.expect(400);
    items.run(create("d", media(Some("a/b"), 1))).await.expect(400);
    client.account.check_partitions().unwrap();
}

#[tokio::test]
async fn attachments_are_addressed_by_rid_without_a_key() {
    let client = with_item().await;
    let items = client.items().key(r#"["p"]"#);
    let created = items.run(create("d", json(LINK))).await.expect(201);
    let link = created.text("_self");
    let parts: Vec<&str> = link.trim_matches('/').split('/').collect();
    let by_rid = client.items_of(&parts[..4].join("/"));
    let (item, id) = (parts[5], parts[7]);
    by_rid.run(read(item, id)).await.expect(200);
    by_rid.run(replace(item, id, json(LINK))).await.expect(200);
    let listed = by_rid.run(on(item, AttachmentAction::List)).await.expect(200);
    assert_eq!(listed.ids(), ["a"]);
    // The attachment of another item is not this item's.
    items.create(r#"{"id":"e","pk":"p"}"#).await.expect(201);
    let other = items.read("e").await.text("_rid");
    by_rid.run(read(&other, id)).await.expect(404);
    by_rid.run(read(item, "a")).await.expect(404);
    by_rid.run(delete(item, id)).await.expect(204);
}

#[tokio::test]
async fn lists_and_queries_are_paged() {
    let client = with_item().await;
    let items = client.items().key(r#"["p"]"#);
    for n in 0..7 {
        let body = format!(r#"{{"id":"{n}","contentType":"a/b","media":"x","n":{n}}}"#);
        items.run(create("d", json(&body))).await.expect(201);
    }
    for action in [
        on("d", AttachmentAction::List),
        query("d", "SELECT * FROM c"),
        query("d", "SELECT * FROM root r ORDER BY r.n"),
    ] {
        let (mut ids, mut continuation) = (Vec::new(), None);
        loop {
            let paged = client.with_options(|options| {
                options.items_max = Some(3);
                options.continuation.clone_from(&continuation);
            });
            let page = paged.items().key(r#"["p"]"#).run(action.clone()).await.expect(200);
            assert!(page.rows.len() <= 3);
            ids.extend(page.ids());
            continuation = page.facts.continuation;
            if continuation.is_none() {
                break;
            }
        }
        assert_eq!(ids, ["0", "1", "2", "3", "4", "5", "6"], "{action:?}");
    }
    let found = items.run(query("d", "SELECT VALUE r.id FROM r WHERE r.n > 4")).await.expect(200);
    assert_eq!(found.rows.iter().filter_map(Value::as_str).collect::<Vec<_>>(), ["5", "6"]);
    let found = items.run(query("d", "SELECT VALUE COUNT(1) FROM r")).await.expect(200);
    assert_eq!(found.rows[0].as_i64(), Some(7));
    items.run(query("d", "SELEC")).await.expect(400);
    items.run(query("d", "SELECT udf.f(r) FROM r")).await.expect(400);
    items.run(query("nobody", "SELECT * FROM r")).await.expect(404);
    // A position of one item is none of another.
    items.create(r#"{"id":"e","pk":"p"}"#).await.expect(201);
    let first = client.with_options(|options| options.items_max = Some(1));
    let list = on("d", AttachmentAction::List);
    let page = first.items().key(r#"["p"]"#).run(list).await.expect(200);
    let foreign = client.with_options(|options| options.continuation = page.facts.continuation);
    let list = on("e", AttachmentAction::List);
    foreign.items().key(r#"["p"]"#).run(list).await.expect(400);
}

#[tokio::test]
async fn media_is_read_and_replaced_by_its_own_link() {
    let client = with_item().await;
    let items = client.items().key(r#"["p"]"#);
    let made = items.run(create("d", media(Some("pic"), 100_000))).await.expect(201);
    let link = made.text("media");
    assert_eq!(made.text("contentType"), "image/png");
    assert_eq!(made.facts.media.unwrap().bytes, 100_000);
    let (kind, bytes) = read_media(&client, &link).await.unwrap();
    assert_eq!((kind.as_str(), bytes.len()), ("image/png", 100_000));
    let told = media_head(&client, &link).await.expect(200);
    assert_eq!(told.value.as_str(), Some("pic image/png 100000"));
    let replaced = replace_media(&client, &link, 5).await.expect(200);
    assert!(replaced.facts.etag.is_some());
    let (kind, bytes) = read_media(&client, &link).await.unwrap();
    assert_eq!((kind.as_str(), &bytes[..]), ("text/plain", &[9; 5][..]));
    assert_eq!(client.account.media_usage().bytes, 5);
    // Raw bytes replace an attachment under its name.
    items.run(replace("d", "pic", media(None, 10))).await.expect(200);
    assert_eq!(read_media(&client, &link).await.unwrap().1.len(), 10);
    let stale = client.with_options(|options| options.if_match = Some("\"0\"".to_owned()));
    replace_media(&stale, &link, 5).await.expect(412);
    items.delete("d").await.expect(204);
    assert_eq!(read_media(&client, &link).await, Err(404));
    media_head(&client, &link).await.expect(404);
    replace_media(&client, &link, 5).await.expect(404);
    assert_eq!(client.account.media_usage().bytes, 0);
    for bad in ["/media/", "/media/x", "/media/AAAAAAAAAAAAAAAAAAAAAAAAAAAB"] {
        assert_eq!(read_media(&client, bad).await, Err(404), "{bad}");
    }
    client.account.check_partitions().unwrap();
}

#[tokio::test]
async fn media_of_an_account_is_bounded() {
    let options = AccountOptions { media_bytes_max: 1_000, ..AccountOptions::default() };
    let client = Client::with(store::open_memory(), options).await;
    client.create("dbs", r#"{"id":"d"}"#).await.expect(201);
    client.create("dbs/d/colls", CONTAINER).await.expect(201);
    let items = client.items().key(r#"["p"]"#);
    items.create(r#"{"id":"d","pk":"p"}"#).await.expect(201);
    items.run(create("d", media(Some("a"), 600))).await.expect(201);
    items.run(create("d", media(Some("b"), 401))).await.expect(413);
    items.run(create("d", media(Some("b"), 400))).await.expect(201);
    items.run(create("d", media(Some("c"), 1))).await.expect(413);
    // What takes the place of as much, or is no media of ours, always fits.
    items.run(upsert("d", media(Some("a"), 600))).await.expect(200);
    items.run(create("d", json(LINK))).await.expect(409);
    items.run(create("d", json(&LINK.replace("\"a\"", "\"l\"")))).await.expect(201);
    items.run(delete("d", "b")).await.expect(204);
    items.run(create("d", media(Some("c"), 400))).await.expect(201);
    let usage = client.account.media_usage();
    assert_eq!((usage.bytes, usage.bytes_max), (1_000, 1_000));
}

#[tokio::test]
async fn uploads_at_the_same_time_do_not_find_the_same_room() {
    let options = AccountOptions { media_bytes_max: 1_000, ..AccountOptions::default() };
    let client = Client::with(store::open_memory(), options).await;
    client.create("dbs", r#"{"id":"d"}"#).await.expect(201);
    client.create("dbs/d/colls", CONTAINER).await.expect(201);
    client.items().key(r#"["p"]"#).create(r#"{"id":"d","pk":"p"}"#).await.expect(201);
    let mut uploads = tokio::task::JoinSet::new();
    for n in 0..20 {
        let client = client.clone();
        uploads.spawn(async move {
            let action = create("d", media(Some(&n.to_string()), 100));
            client.items().key(r#"["p"]"#).run(action).await.status.code
        });
    }
    let codes = uploads.join_all().await;
    assert!(codes.iter().all(|code| matches!(code, 201 | 413)), "{codes:?}");
    assert!(codes.iter().filter(|code| **code == 201).count() <= 10, "{codes:?}");
    assert!(client.account.media_usage().bytes <= 1_000);
}

#[tokio::test]
async fn grants_on_items_and_attachments_reach_no_further() {
    let client = with_item().await;
    let items = client.items().key(r#"["p"]"#);
    items.create(r#"{"id":"e","pk":"p"}"#).await.expect(201);
    for item in ["d", "e"] {
        for id in ["a", "b"] {
            items.run(create(item, media(Some(id), 3))).await.expect(201);
        }
    }
    let links: Vec<String> = {
        let (mut links, list) = (Vec::new(), AttachmentAction::List);
        for item in ["d", "e"] {
            let listed = items.run(on(item, list.clone())).await.expect(200);
            let link = |row: &Value| row.get("media").unwrap().as_str().unwrap().to_owned();
            links.extend(listed.rows.iter().map(link));
        }
        links
    };
    client.create("dbs/d/users", r#"{"id":"u"}"#).await.expect(201);
    let own = items.run(read("d", "a")).await.text("_self");
    let grants = [
        ("item", "dbs/d/colls/c/docs/d".to_owned()),
        ("one", "dbs/d/colls/c/docs/d/attachments/a".to_owned()),
        ("rid", own),
        ("all", "dbs/d/colls/c".to_owned()),
    ];
    for (name, resource) in &grants {
        let body = format!(
            r#"{{"id":"{name}","permissionMode":"All","resource":"{resource}","resourcePartitionKey":["p"]}}"#
        );
        let made = client.create("dbs/d/users/u/permissions", &body).await.expect(201);
        let grant = client.account.open_token(&made.text("_token")).unwrap();
        let holder = client.by(Principal::Token(grant));
        let items = holder.items().key(r#"["p"]"#);
        let is_one = matches!(*name, "one" | "rid");
        let (all, whole) = (*name == "all", if is_one { 403 } else { 200 });
        let other = if all { 200 } else { 403 };
        items.run(read("d", "a")).await.expect(200);
        items.run(read("d", "b")).await.expect(whole);
        items.run(read("e", "a")).await.expect(other);
        items.run(replace("d", "a", media(None, 3))).await.expect(200);
        items.run(on("d", AttachmentAction::List)).await.expect(whole);
        items.run(query("d", "SELECT * FROM c")).await.expect(whole);
        items.run(upsert("d", media(Some("b"), 3))).await.expect(whole);
        items.read("d").await.expect(whole);
        let codes: Vec<u16> = {
            let mut codes = Vec::new();
            for link in &links {
                codes.push(read_media(&holder, link).await.err().unwrap_or(200));
            }
            codes
        };
        assert_eq!(codes, [200, whole, other, other], "{name}");
        replace_media(&holder, &links[1], 3).await.expect(whole);
    }
    let reader = client.by(Principal::ReadOnly);
    reader.items().key(r#"["p"]"#).run(read("d", "a")).await.expect(200);
    reader.items().key(r#"["p"]"#).run(delete("d", "a")).await.expect(403);
    assert!(read_media(&reader, &links[0]).await.is_ok());
    media_head(&reader, &links[0]).await.expect(200);
    replace_media(&reader, &links[0], 3).await.expect(403);
}

#[tokio::test]
async fn splits_merges_and_moves_keep_links_alive() {
    let client = with_item().await;
    let items = client.items().key(r#"["p"]"#);
    let made = items.run(create("d", media(Some("pic"), 200_000))).await.expect(201);
    let (link, rid) = (made.text("media"), made.text("_rid"));
    for n in 0..40 {
        let body = format!(r#"{{"id":"{n}","pk":"{n}"}}"#);
        client.items().key(&format!(r#"["{n}"]"#)).create(&body).await.expect(201);
    }
    let container = crate::support::link("dbs/d/colls/c");
    let whole = client.account.media_usage();
    let check = async |id: u64| {
        let end = client.account.wait_for_relocation(id).await.unwrap();
        assert!(end.end == Some(account::RelocationEnd::Done), "{end:?}");
        assert_eq!(read_media(&client, &link).await.unwrap().1.len(), 200_000);
        let shown = items.run(read("d", "pic")).await.expect(200);
        assert_eq!(shown.text("_rid"), rid);
        assert_eq!(client.account.media_usage(), whole, "counted once");
        client.account.check_partitions().unwrap();
        shown.facts.range.unwrap()
    };
    let first = made.facts.range.unwrap();
    let half = check(client.account.start_split(&container, first, None).unwrap()).await;
    assert_ne!(half, first);
    let other = client.account.describe_ranges(&container).unwrap();
    let halves: Vec<_> = other.iter().filter(|it| it.parents.contains(&first)).collect();
    let pair = [halves[0].id, halves[1].id];
    let merged = check(client.account.start_merge(&container, pair).unwrap()).await;
    check(client.account.start_move(&container, merged, None).unwrap()).await;
    items.run(create("d", json(LINK))).await.expect(201);
    client.account.check_partitions().unwrap();
}

#[tokio::test]
async fn triggers_are_refused_and_not_forgotten() {
    let client = with_item().await;
    let triggered = client.with_options(|options: &mut Options| {
        options.pre_triggers = vec!["t".to_owned()];
    });
    triggered.items().key(r#"["p"]"#).run(create("d", json(LINK))).await.expect(400);
}
