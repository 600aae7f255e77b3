//! The spelling of numbers in answers: items that are returned whole keep theirs, all else has the service's.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod client;

use client::{MemorySource, stored};
use model::Env;
use query::{PageRequest, PrepareOptions, Row, Statement};

const ITEM: &str = r#"{"id":"1","m":1.50,"e":1e2,"z":-0.0,"u":18446744073709551615,"i":9007199254740993,"l":[1.0,{"x":2.50}],"p":3.25}"#;

#[track_caller]
fn check(text: &str, expected: &str) {
    let source = MemorySource { items: vec![stored(1, ITEM)] };
    let options = PrepareOptions::new(Env::fixed(1, 1_700_000_000_000));
    let statement = Statement::prepare(text, &[], &options).unwrap();
    let request = PageRequest {
        items_max: 10,
        bytes_max: 1 << 20,
        deadline: None,
        may_wait: true,
        continuation: None,
    };
    let page = statement.run(&source, &request).unwrap();
    let texts: Vec<String> =
        Row::texts(&page.rows).iter().map(|row| String::from_utf8(row.to_vec()).unwrap()).collect();
    assert_eq!(texts, [expected], "{text}");
}

#[test]
fn whole_items_keep_the_spelling() {
    check("SELECT * FROM c", ITEM);
    check("SELECT VALUE c FROM c WHERE c.m > 1", ITEM);
    check("SELECT * FROM c ORDER BY c.m", ITEM);
    check("SELECT c AS payload FROM c ORDER BY c.m", &format!(r#"{{"payload":{ITEM}}}"#));
    check("SELECT c AS payload FROM c WHERE c.m > 1", &format!(r#"{{"payload":{ITEM}}}"#));
    let sorted = format!(r#"{{"orderByItems":[{{"item":1.5}}],"payload":{ITEM}}}"#);
    check("SELECT [{\"item\": c.m}] AS orderByItems, c AS payload FROM c ORDER BY c.m", &sorted);
}

#[test]
fn what_is_projected_is_spelled_anew() {
    check("SELECT c.m, c.e, c.z, c.p FROM c", r#"{"m":1.5,"e":100,"z":0,"p":3.25}"#);
    check("SELECT c.u, c.i FROM c", r#"{"u":1.8446744073709552e+19,"i":9007199254740993}"#);
    check("SELECT c.l FROM c WHERE c.m > 1", r#"{"l":[1,{"x":2.5}]}"#);
    check("SELECT VALUE c.m FROM c", "1.5");
    check("SELECT VALUE [c.m, c.l] FROM c", r#"[1.5,[1,{"x":2.5}]]"#);
    check("SELECT DISTINCT VALUE c.m FROM c", "1.5");
    check("SELECT c.e, COUNT(1) AS n FROM c GROUP BY c.e", r#"{"e":100,"n":1}"#);
    check("SELECT VALUE MAX(c.m) FROM c", "1.5");
    check("SELECT VALUE x FROM x IN c.l WHERE IS_NUMBER(x)", "1");
    check("SELECT VALUE c.i / 2 FROM c", "4503599627370496");
    check("SELECT VALUE c.m / 4.5 FROM c", "0.33333333333333331");
}
