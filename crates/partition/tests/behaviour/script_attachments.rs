//! Attachments that scripts read and write: in the transaction of the run, or not at all.

use crate::scripts::run;
use crate::support::*;

/// A body that goes through all calls: what is made in the run is read, listed and queried in it.
const ATTACH: &str = "function (fails) {
    var link = __.getAltLink() + '/docs/a', seen = {};
    function must(err) { if (err) throw new Error(err.number + ' ' + err.body); }
    __.createAttachment(link, {id: 'x', contentType: 'image/png', media: 'http://x/1', n: 1}, function (err, made) {
        must(err);
        seen.made = made;
        __.replaceAttachment(made._self, {id: 'y', contentType: 'image/png', media: 'http://x/2', n: 2}, {etag: made._etag},
            function (err, replaced) {
                must(err);
                seen.isSame = replaced._rid === made._rid && replaced._etag !== made._etag;
                __.readAttachment(link + '/attachments/y', function (err, read) {
                    must(err);
                    seen.read = read.n;
                });
                __.readAttachment(link + '/attachments/x', function (err) { seen.missing = err.number; });
                __.readAttachment(replaced._self, {ifNoneMatch: 'other'}, function (err, read) { must(err); seen.byLink = read.id; });
                __.replaceAttachment(replaced._self, replaced, {etag: 'old'}, function (err) { seen.stale = err.number; });
                __.upsertAttachment(link, {id: 'z', contentType: 'a/b', media: 'm'}, function (err) { must(err); });
                __.deleteAttachment(link + '/attachments/old', function (err) { must(err); });
                __.readAttachments(link, {pageSize: 2}, function (err, list, info) {
                    must(err);
                    seen.first = list.map(function (it) { return it.id; });
                    __.readAttachments(link, {continuation: info.continuation}, function (err, list) {
                        must(err);
                        seen.rest = list.map(function (it) { return it.id; });
                    });
                });
                __.queryAttachments(link, {query: 'SELECT VALUE r.id FROM root r WHERE r.n = @n', parameters: [{name: '@n', value: 2}]},
                    function (err, rows) {
                        must(err);
                        seen.rows = rows;
                        getContext().getResponse().setBody(seen);
                        if (fails) throw new Error('on purpose');
                    });
            });
    });
}";

#[tokio::test]
async fn a_script_reaches_attachments_in_its_own_transaction() {
    let world = World::new();
    world.create(r#"{"id":"a","pk":1}"#).await.unwrap();
    for id in ["kept", "old"] {
        world.attach("[1]", "a", upload(id, "image/png", &bytes(100_000, 1))).await.unwrap();
    }
    let before = world.partition.statistics();
    let failing = ATTACH.replace("if (fails) throw", "throw");
    assert!(run(&world, &failing).await.is_err());
    assert_eq!(world.attachments("[1]", "a"), ["kept", "old"], "nothing of a failed run remains");
    let done = run(&world, ATTACH).await.unwrap();
    let seen = json(done.body.unwrap().as_bytes());
    assert_eq!(world.attachments("[1]", "a"), ["kept", "y", "z"]);
    let text = |name: &str| seen.get(name).unwrap().to_text();
    assert_eq!(text("isSame"), "true");
    assert_eq!(text("read"), "2");
    assert_eq!(text("byLink"), r#""y""#);
    assert_eq!((text("missing"), text("stale")), ("404".to_owned(), "412".to_owned()));
    assert_eq!((text("first"), text("rest")), (r#"["kept","y"]"#.into(), r#"["z"]"#.into()));
    assert_eq!(text("rows"), r#"["y"]"#);
    let after = world.partition.statistics();
    assert_eq!(after.n_attachments, 3);
    assert_eq!(
        after.media_bytes,
        before.media_bytes - 100_000,
        "the media of what was deleted is gone"
    );
    let made = seen.get("made").unwrap();
    let stored = world.attachment("[1]", "a", "y").unwrap();
    assert_eq!(
        made.get("_rid"),
        stored.get("_rid"),
        "the rid that the run was shown is the one that stays"
    );
    assert_eq!(made.get("_etag"), stored.get("_etag"), "etag and time of the commit");
    assert_eq!(made.get("_ts"), stored.get("_ts"));
    let plain = run(&world, "function () {}").await.unwrap();
    assert!(done.charge > plain.charge + model::Charge::from_units(20), "{:?}", done.charge);
    world.check();
}

#[tokio::test]
async fn a_script_attaches_to_the_item_that_it_creates_and_names_are_used_again() {
    let world = World::new();
    let body = "function () {
        function must(err) { if (err) throw new Error(err.number + ' ' + err.body); }
        function named(id, n) { return {id: id, contentType: 'image/png', media: 'm', n: n}; }
        __.createDocument(__.getSelfLink(), {id: 'a', pk: 1}, function (err, doc) {
            must(err);
            __.createAttachment(doc._self, named('x', 1), function (err, x) {
                must(err);
                __.replaceAttachment(x._self, named('y', 2), must);
                __.createAttachment(doc._self, named('x', 3), must);
                __.deleteAttachment(doc._self + 'attachments/' + x._rid, must);
                __.createAttachment(doc._self, named('y', 4), must);
                __.createAttachment(doc._self, {contentType: 'image/png', media: 'm'}, function (err, made) {
                    must(err);
                    getContext().getResponse().setBody(made.id.length);
                });
                __.createAttachment(doc._self, named('y', 5), function (err) { if (err.number !== 409) throw err; });
                __.createAttachment(doc._self, {id: 'n'}, function (err) { if (err.number !== 400) throw err; });
                __.createAttachment(doc._self, {id: 'a/b', contentType: 'a/b', media: 'm'}, function (err) { if (err.number !== 400) throw err; });
            });
        });
    }";
    assert_eq!(run(&world, body).await.unwrap().body.as_deref(), Some("36"), "an id is made");
    let names = world.attachments("[1]", "a");
    assert_eq!((names.len(), &names[..2]), (3, &["x".to_owned(), "y".to_owned()][..]));
    for (id, n) in [("x", 3), ("y", 4)] {
        let stored = world.attachment("[1]", "a", id).unwrap();
        assert_eq!(stored.get("n").unwrap().as_i64(), Some(n), "{id}");
    }
    world.check();
    // The next run takes the names of what the store has.
    let swap = "function () {
        var link = __.getAltLink() + '/docs/a';
        function must(err) { if (err) throw new Error(err.number + ' ' + err.body); }
        __.replaceAttachment(link + '/attachments/x', {id: 'w', contentType: 'a/b', media: 'm', n: 6}, must);
        __.replaceAttachment(link + '/attachments/y', {id: 'x', contentType: 'a/b', media: 'm', n: 7}, must);
        __.deleteDocument(__.getAltLink() + '/docs/none', function (err) { if (err.number !== 404) throw err; });
    }";
    run(&world, swap).await.unwrap();
    assert_eq!(world.attachments("[1]", "a")[..2], ["w".to_owned(), "x".to_owned()]);
    world.check();
    run(&world, "function () { __.deleteDocument(__.getAltLink() + '/docs/a'); }").await.unwrap();
    assert_eq!(world.partition.statistics().n_attachments, 0);
    world.check();
}
