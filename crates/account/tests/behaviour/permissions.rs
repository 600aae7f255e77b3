//! Permissions: tokens and what they let their holders do.

use std::time::Duration;

use account::{ItemAction, Principal};

use crate::support::{Client, create_call};

/// A client that holds the token of a permission `{mode, resource[, key]}`.
async fn holder(client: &Client, mode: &str, resource: &str, key: Option<&str>) -> Client {
    let key = key.map(|key| format!(r#","resourcePartitionKey":{key}"#)).unwrap_or_default();
    let id = client.env.uuid();
    client.create("dbs/d/users", &format!(r#"{{"id":"{id}"}}"#)).await.expect(201);
    let body = format!(r#"{{"id":"p","permissionMode":"{mode}","resource":"{resource}"{key}}}"#);
    let created = client.create(&format!("dbs/d/users/{id}/permissions"), &body).await.expect(201);
    let grant = client.account.open_token(&created.text("_token")).unwrap();
    client.by(Principal::Token(grant))
}

async fn filled() -> Client {
    let client = Client::with_container(2).await;
    client
        .create("dbs/d/colls", &crate::support::CONTAINER.replace("\"c\"", "\"other\""))
        .await
        .expect(201);
    for (id, pk) in [("1", "a"), ("2", "a"), ("3", "b")] {
        client.items().create(&format!(r#"{{"id":"{id}","pk":"{pk}"}}"#)).await.expect(201);
    }
    client
}

#[tokio::test]
async fn a_mode_is_shown_as_it_was_written() {
    let client = filled().await;
    let reader = holder(&client, "read", "dbs/d/colls/c", None).await;
    let user = client.list("dbs/d/users").await.ids().remove(0);
    let shown = client.read(&format!("dbs/d/users/{user}/permissions/p")).await.expect(200);
    assert_eq!(shown.text("permissionMode"), "read");
    reader.items().key(r#"["a"]"#).read("1").await.expect(200);
    reader.items().create(r#"{"id":"9","pk":"a"}"#).await.expect(403);
}

#[derive(Debug, Clone, Copy)]
enum Try {
    ReadItem,
    ReadOther,
    ReadKeyB,
    CreateItem,
    DeleteItem,
    Batch,
    Feed,
    KeyFeed,
    Query,
    ReadContainer,
    Ranges,
    DeleteContainer,
    CreateScript,
    CreateProcedure,
    RunProcedure,
    OtherContainer,
    MissingContainer,
    ReadDatabase,
    ListDatabases,
    ReadPermission,
    Offers,
}

/// Mode, resource, partition key; what is tried and the status it gives.
type Row = (&'static str, &'static str, Option<&'static str>, Vec<(Try, u16)>);

async fn attempt(client: &Client, what: Try) -> u16 {
    let (items, a) = (client.items(), r#"["a"]"#);
    let answer = match what {
        Try::ReadItem => items.key(a).read("1").await,
        Try::ReadOther => items.key(a).read("2").await,
        Try::ReadKeyB => items.key(r#"["b"]"#).read("3").await,
        Try::CreateItem => items.create(r#"{"id":"9","pk":"a"}"#).await,
        Try::DeleteItem => items.key(a).delete("1").await,
        Try::Batch => items.key(a).batch(vec![create_call(r#"{"id":"8","pk":"a"}"#)]).await,
        Try::Feed => items.feed().await,
        Try::KeyFeed => items.key(a).feed().await,
        Try::Query => items.key(a).query("SELECT * FROM c").await,
        Try::ReadContainer => client.read("dbs/d/colls/c").await,
        Try::Ranges => client.ranges("dbs/d/colls/c", None, true).await,
        Try::DeleteContainer => client.delete("dbs/d/colls/c").await,
        Try::CreateScript => client.create("dbs/d/colls/c/udfs", r#"{"id":"f","body":"x"}"#).await,
        Try::CreateProcedure => {
            client.create("dbs/d/colls/c/sprocs", r#"{"id":"s","body":"x"}"#).await
        }
        Try::RunProcedure => {
            let (procedure, arguments) = ("__.sys.echo".to_owned(), bytes::Bytes::from("[1]"));
            items.key(a).run(ItemAction::Execute { procedure, arguments, wants_log: false }).await
        }
        Try::OtherContainer => client.items_of("dbs/d/colls/other").key(a).read("1").await,
        Try::MissingContainer => client.read("dbs/d/colls/none").await,
        Try::ReadDatabase => client.read("dbs/d").await,
        Try::ListDatabases => client.list("dbs").await,
        Try::ReadPermission => client.list("dbs/d/users").await,
        Try::Offers => client.list("offers").await,
    };
    answer.status.code
}

#[tokio::test]
async fn tokens_reach_as_far_as_their_permission() {
    use Try::*;
    let names = "dbs/d/colls/c";
    #[rustfmt::skip]
    let table: Vec<Row> = vec![
        ("Read", names, None, vec![
            (ReadItem, 200), (ReadKeyB, 200), (Feed, 200), (KeyFeed, 200), (Query, 200), (ReadContainer, 200),
            (Ranges, 200), (CreateItem, 403), (DeleteItem, 403), (Batch, 403), (DeleteContainer, 403),
            (CreateScript, 403), (OtherContainer, 403), (MissingContainer, 403), (ReadDatabase, 403),
            (ListDatabases, 403), (ReadPermission, 403), (Offers, 403)]),
        ("All", names, None, vec![
            (ReadItem, 200), (CreateItem, 201), (Batch, 200), (DeleteItem, 204), (CreateScript, 201), (CreateProcedure, 201),
            (OtherContainer, 403), (ReadDatabase, 403), (Offers, 403), (DeleteContainer, 204)]),
        ("all", names, Some(r#"["a"]"#), vec![
            (ReadItem, 200), (KeyFeed, 200), (Query, 200), (CreateItem, 201), (Batch, 200), (ReadContainer, 200),
            (Ranges, 200), (ReadKeyB, 403), (Feed, 403), (DeleteContainer, 403), (CreateScript, 403), (CreateProcedure, 403),
            (RunProcedure, 200), (DeleteItem, 204)]),
        ("Read", names, Some(r#"["b"]"#), vec![
            (ReadKeyB, 200), (ReadItem, 403), (KeyFeed, 403), (CreateItem, 403), (Query, 403)]),
        ("All", "dbs/d/colls/c/docs/1", Some(r#"["a"]"#), vec![
            (ReadItem, 200), (ReadOther, 403), (ReadKeyB, 403), (Feed, 403), (KeyFeed, 403), (Query, 403),
            (CreateItem, 403), (Batch, 403), (ReadContainer, 200), (Ranges, 200), (DeleteContainer, 403),
            (DeleteItem, 204)]),
        ("Read", "dbs/d/colls/c/docs/1", None, vec![(ReadItem, 200), (ReadOther, 403), (DeleteItem, 403)]),
        ("All", "dbs/d", None, vec![
            (ReadDatabase, 200), (ReadContainer, 200), (ReadItem, 200), (OtherContainer, 404), (CreateItem, 201),
            (ReadPermission, 403), (Offers, 403), (ListDatabases, 403)]),
        ("Read", "dbs/d/colls/none", None, vec![(ReadItem, 403), (ReadContainer, 403)]),
    ];
    for (mode, resource, key, tries) in table {
        let client = filled().await;
        let holder = holder(&client, mode, resource, key).await;
        for (what, code) in tries {
            assert_eq!(attempt(&holder, what).await, code, "{mode} {resource} {key:?} {what:?}");
        }
    }
}

#[tokio::test]
async fn a_token_of_one_logical_partition_does_not_touch_scripts_that_are_there() {
    let client = filled().await;
    let body = r#"{"id":"s","body":"function () {}"}"#;
    client.create("dbs/d/colls/c/sprocs", body).await.expect(201);
    let tenant = holder(&client, "All", "dbs/d/colls/c", Some(r#"["a"]"#)).await;
    tenant.replace("dbs/d/colls/c/sprocs/s", body).await.expect(403);
    tenant.delete("dbs/d/colls/c/sprocs/s").await.expect(403);
    tenant.create("dbs/d/colls/c/triggers", r#"{"id":"t","body":"x"}"#).await.expect(403);
}

#[tokio::test]
async fn a_token_by_name_dies_with_its_container() {
    let client = filled().await;
    let by_name = holder(&client, "All", "dbs/d/colls/c", None).await;
    by_name.items().key(r#"["a"]"#).read("1").await.expect(200);
    client.delete("dbs/d/colls/c").await.expect(204);
    client.create("dbs/d/colls", crate::support::CONTAINER).await.expect(201);
    client.items().create(r#"{"id":"1","pk":"a"}"#).await.expect(201);
    by_name.items().key(r#"["a"]"#).read("1").await.expect(403);
}

#[tokio::test]
async fn a_token_of_an_item_cannot_rename_it() {
    let client = filled().await;
    let one = holder(&client, "All", "dbs/d/colls/c/docs/1", Some(r#"["a"]"#)).await;
    let items = one.items().key(r#"["a"]"#);
    items.replace("1", r#"{"id":"stolen","pk":"a"}"#).await.expect(403);
    items.replace("1", r#"{"id":"1","pk":"a","n":1}"#).await.expect(200);
    client.items().key(r#"["a"]"#).read("stolen").await.expect(404);
}

#[tokio::test]
async fn permissions_by_rid_cover_requests_by_name_and_the_other_way_round() {
    let client = filled().await;
    let container = client.read("dbs/d/colls/c").await.text("_self");
    let item = client.items().key(r#"["a"]"#).read("1").await.text("_self");
    let by_rid = holder(&client, "Read", &container, None).await;
    assert_eq!(attempt(&by_rid, Try::ReadItem).await, 200);
    assert_eq!(by_rid.read(&container).await.status.code, 200);
    let on_item = holder(&client, "All", &item, None).await;
    assert_eq!(attempt(&on_item, Try::ReadItem).await, 200);
    assert_eq!(attempt(&on_item, Try::ReadOther).await, 403);
    let by_name = holder(&client, "Read", "dbs/d/colls/c", None).await;
    let rid = item.trim_end_matches('/').rsplit('/').next().unwrap();
    by_name.items_of(&container).key(r#"["a"]"#).read(rid).await.expect(200);
    assert_eq!(attempt(&on_item, Try::DeleteItem).await, 204);
}

#[tokio::test]
async fn read_only_keys_do_not_write_and_do_not_see_tokens() {
    let client = filled().await;
    client.create("dbs/d/users", r#"{"id":"u"}"#).await.expect(201);
    let reader = client.by(Principal::ReadOnly);
    for what in
        [Try::ReadItem, Try::Feed, Try::Query, Try::ReadContainer, Try::ListDatabases, Try::Offers]
    {
        assert_eq!(attempt(&reader, what).await, 200, "{what:?}");
    }
    for what in
        [Try::CreateItem, Try::DeleteItem, Try::Batch, Try::DeleteContainer, Try::CreateScript]
    {
        assert_eq!(attempt(&reader, what).await, 403, "{what:?}");
    }
    reader.list("dbs/d/users/u/permissions").await.expect(403);
    reader.items().key(r#"["a"]"#).run(ItemAction::DeleteLogicalPartition).await.expect(403);
    assert_eq!(attempt(&client.by(Principal::Identity), Try::CreateItem).await, 201);
}

#[tokio::test]
async fn tokens_expire_die_with_their_permission_and_cannot_be_forged() {
    let client = filled().await;
    client.create("dbs/d/users", r#"{"id":"u"}"#).await.expect(201);
    let path = "dbs/d/users/u/permissions";
    let body = r#"{"id":"p","permissionMode":"All","resource":"dbs/d/colls/c"}"#;
    let first = client.create(path, body).await.expect(201).text("_token");
    assert!(first.starts_with("type=resource&ver=1.0&sig="));
    let again = client.read(&format!("{path}/p")).await.expect(200).text("_token");
    assert_ne!(first, again, "a fresh token on every read");
    assert!(client.list(path).await.rows[0].get("_token").is_some());
    let bare = first.trim_start_matches("type=resource&ver=1.0&sig=");
    assert_eq!(
        client.account.open_token(bare).unwrap(),
        client.account.open_token(&first).unwrap()
    );
    for forged in
        ["", "type=resource&ver=1.0&sig=", &first[..first.len() - 5], &first.replace('A', "B")]
    {
        let error = client.account.open_token(forged).unwrap_err();
        assert_eq!(model::Failure::status(&error).code, 401, "{forged}");
    }
    client.env.advance(Duration::from_secs(3599));
    assert!(client.account.open_token(&first).is_ok());
    client.env.advance(Duration::from_secs(2));
    let error = client.account.open_token(&first).unwrap_err();
    assert_eq!(model::Failure::status(&error).code, 403);
    assert!(error.to_string().contains("not valid at the current time"));
    let long = client.with_options(|options| options.token_seconds = Some(86_400));
    let token = long.read(&format!("{path}/p")).await.expect(200).text("_token");
    client.env.advance(Duration::from_secs(80_000));
    assert!(client.account.open_token(&token).is_ok());
    client.delete(&format!("{path}/p")).await.expect(204);
    assert_eq!(model::Failure::status(&client.account.open_token(&token).unwrap_err()).code, 403);
    for seconds in [0, 9, 86_401] {
        let wrong = client.with_options(|options| options.token_seconds = Some(seconds));
        wrong.create(path, body).await.expect(400);
    }
}

#[tokio::test]
async fn permissions_are_checked_and_single() {
    let client = filled().await;
    client.create("dbs/d/users", r#"{"id":"u"}"#).await.expect(201);
    let path = "dbs/d/users/u/permissions";
    #[rustfmt::skip]
    let table = [
        (r#"{"id":"p"}"#, 400, "'permissionMode; '"),
        (r#"{"id":"p","permissionMode":"Write","resource":"dbs/d"}"#, 400, "'permissionMode' value 'Write'"),
        (r#"{"id":"p","permissionMode":"Read"}"#, 400, "'resource; '"),
        (r#"{"id":"p","permissionMode":"Read","resource":"somewhere"}"#, 400, "resource"),
        (r#"{"id":"p","permissionMode":"Read","resource":"dbs/d","resourcePartitionKey":"a"}"#, 400, ""),
        (r#"{"id":"p","permissionMode":"read","resource":"dbs/AQAAAA==/colls/AQAAAJ0fgTc=/"}"#, 201, ""),
        (r#"{"id":"q","permissionMode":"All","resource":"dbs/AQAAAA==/colls/AQAAAJ0fgTc="}"#, 409, ""),
        (r#"{"id":"q","permissionMode":"All","resource":"dbs/AQAAAA==/colls/AQAAAJ0fgTc=","resourcePartitionKey":["x"]}"#, 201, ""),
    ];
    for (body, code, message) in table {
        let answer = client.create(path, body).await;
        assert_eq!(answer.status.code, code, "{body}: {}", answer.message);
        assert!(answer.message.contains(message), "{body}: {}", answer.message);
    }
    let replaced = client
        .replace(
            &format!("{path}/p"),
            r#"{"id":"p","permissionMode":"All","resource":"dbs/d/colls/c"}"#,
        )
        .await
        .expect(200);
    assert_eq!(replaced.text("permissionMode"), "All");
    let token = replaced.text("_token");
    assert!(client.account.open_token(&token).is_ok());
    let narrowed = r#"{"id":"p","permissionMode":"Read","resource":"dbs/d/colls/c"}"#;
    client.replace(&format!("{path}/p"), narrowed).await.expect(200);
    let error = client.account.open_token(&token).unwrap_err();
    assert_eq!(model::Failure::status(&error).code, 403, "a changed permission revokes its tokens");
}
