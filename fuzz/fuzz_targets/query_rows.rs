//! Queries over a few items of all kinds: the binder, the planner and the evaluator.
#![no_main]

use std::sync::LazyLock;

use model::{Env, PartitionKeyDefinition};
use query::{Features, ItemSource, PageRequest, PrepareOptions, SourceItem, Statement, StoredItem};

const ITEMS: [&str; 5] = [
    r#"{"id":"1","a":1,"b":"x","c":[1,"2",null,{"d":true}],"e":{"f":1.5},"_rid":"AQAAAAEAAAABAAAAAAAAAA=="}"#,
    r#"{"id":"2","a":-7,"b":"ü😀 running dogs","c":[],"e":{"type":"Point","coordinates":[1,2]}}"#,
    r#"{"id":"3","a":null,"b":"2030-01-02T03:04:05Z","c":"no","v":[1,2,3]}"#,
    r#"{"id":"4","a":1e308,"b":true,"c":[[1],[2,[3]]],"v":[0,0,0]}"#,
    r#"{"id":"5","a":9007199254740993,"b":"","e":{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]]]}}"#,
];

struct Items(Vec<SourceItem>);

impl ItemSource for Items {
    fn scan(&self, after: Option<u64>) -> Box<dyn Iterator<Item = query::Result<SourceItem>> + '_> {
        let is_later = move |item: &&SourceItem| after.is_none_or(|after| item.number > after);
        Box::new(self.0.iter().filter(is_later).cloned().map(Ok))
    }

    fn index(&self) -> Option<&dyn query::ItemIndex> {
        None
    }

    fn shared(&self) -> Option<&(dyn ItemSource + Sync)> {
        None
    }

    fn parts(&self) -> Option<query::Parts<'_>> {
        None
    }
}

static SOURCE: LazyLock<Items> = LazyLock::new(|| {
    let item = |(number, text): (u64, &'static str)| {
        SourceItem::stored(number, StoredItem { text: text.into(), system: None })
    };
    Items((1..).zip(ITEMS).map(item).collect())
});

libfuzzer_sys::fuzz_target!(|text: &str| {
    let options = PrepareOptions::new(Env::fixed(1, 1_700_000_000_000));
    let Ok(definition) = PartitionKeyDefinition::new(&["/a", "/b"]) else { return };
    let parameters = [("@p".to_string(), model::Value::from(3))];
    let _ = query::query_plan(text, &parameters, &options, &definition, &Features::all());
    let Ok(statement) = Statement::prepare(text, &parameters, &options) else { return };
    let _ = query::epk_ranges(&statement, &definition);
    let mut continuation: Option<String> = None;
    // Two rows per page, so that positions are made and read.
    for _ in 0..20 {
        let request = PageRequest {
            items_max: 2,
            bytes_max: 1 << 20,
            deadline: None,
            may_wait: true,
            continuation: continuation.as_deref(),
        };
        let Ok(page) = statement.run(&*SOURCE, &request) else { return };
        continuation = page.continuation;
        if continuation.is_none() {
            break;
        }
    }
    for item in &SOURCE.0 {
        if let Ok(value) = item.to_value() {
            let _ = statement.matches(&value);
        }
    }
});
