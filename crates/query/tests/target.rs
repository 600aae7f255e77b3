//! What a plan asks is enough: every item that a filter matches has a key within the ranges of the plan.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use model::{Env, PartitionKeyDefinition, Value};
use query::{PrepareOptions, Statement};

/// Numbers from a seed (splitmix64).
struct Random(u64);

impl Random {
    fn below(&mut self, n: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        usize::try_from((z ^ (z >> 31)) % n as u64).unwrap()
    }

    fn pick<'t>(&mut self, list: &[&'t str]) -> &'t str {
        list[self.below(list.len())]
    }
}

const VALUES: &[&str] = &[
    "1",
    "2",
    "-1",
    "0",
    "1.5",
    "'a'",
    "'ab'",
    "'b'",
    "''",
    "true",
    "false",
    "null",
    "undefined",
    "[1]",
    "[]",
    "{}",
    "{a:1}",
    "1 + 1",
    "LOWER('A')",
];

const PATHS: &[&str] = &["c.a", "c.b", "c.a", "c.b", "c.x", "c.a.y", "c.x[0]", "c['a']"];

fn operand(random: &mut Random, depth: usize) -> String {
    let path = random.pick(PATHS);
    let value = random.pick(VALUES);
    match random.below(if depth > 2 { 4 } else { 14 }) {
        0..3 => path.to_string(),
        3 => value.to_string(),
        4 => format!("({} + {})", operand(random, depth + 1), operand(random, depth + 1)),
        5 => format!("({} || 'b')", operand(random, depth + 1)),
        6 => format!("ABS({})", operand(random, depth + 1)),
        7 => format!("LENGTH({})", operand(random, depth + 1)),
        8 => format!("UPPER({})", operand(random, depth + 1)),
        9 => format!("(- {})", operand(random, depth + 1)),
        10 => format!("({path} ?? {value})"),
        11 => format!("({} ? {path} : {value})", condition(random, depth + 1)),
        12 => format!("(SELECT VALUE {path})"),
        _ => format!("[{path}][0]"),
    }
}

fn condition(random: &mut Random, depth: usize) -> String {
    let choice = random.below(if depth > 3 { 12 } else { 18 });
    let left = operand(random, depth);
    let right = operand(random, depth);
    let value = random.pick(VALUES);
    match choice {
        0..4 => format!("({left} = {value})"),
        4 => format!("({left} {} {right})", random.pick(&["<", "<=", ">", ">=", "!=", "="])),
        5 => format!("({left} IN ({value}, {right}))"),
        6 => format!("({left} BETWEEN {value} AND {right})"),
        7 => format!("({left} LIKE {})", random.pick(&["'a'", "'a%'", "'_'", "'%b'"])),
        8 => {
            let name = random.pick(&[
                "IS_NULL",
                "IS_BOOL",
                "IS_NUMBER",
                "IS_STRING",
                "IS_ARRAY",
                "IS_OBJECT",
                "IS_DEFINED",
                "IS_PRIMITIVE",
            ]);
            format!("{name}({left})")
        }
        9 => format!("STARTSWITH({left}, 'a')"),
        10 => format!("ARRAY_CONTAINS([{value}, 1, 'a'], {left})"),
        11 => left,
        12 | 13 => format!("NOT ({})", condition(random, depth + 1)),
        14 => format!("EXISTS(SELECT VALUE 1 FROM e IN {} WHERE e = {value})", random.pick(PATHS)),
        15 => format!("({} OR {})", condition(random, depth + 1), condition(random, depth + 1)),
        _ => format!("({} AND {})", condition(random, depth + 1), condition(random, depth + 1)),
    }
}

fn items() -> Vec<Value> {
    let values = [
        "",
        "null",
        "true",
        "false",
        "0",
        "1",
        "2",
        "-1",
        "1.5",
        "3",
        r#""""#,
        r#""a""#,
        r#""ab""#,
        r#""b""#,
        "[]",
        "[1]",
        "[true]",
        "{}",
        r#"{"a":1}"#,
        r#"{"y":1}"#,
        r#"{"y":"a"}"#,
    ];
    let member = |name: &str, value: &str| match value {
        "" => String::new(),
        value => format!(r#","{name}":{value}"#),
    };
    let mut list = Vec::new();
    for (index, a) in values.iter().enumerate() {
        for (other, b) in values.iter().enumerate() {
            let x = values[(index * 7 + other * 3) % values.len()];
            let text =
                format!(r#"{{"id":"1"{}{}{}}}"#, member("a", a), member("b", b), member("x", x));
            list.push(model::json::parse(text.as_bytes()).unwrap());
        }
    }
    list
}

#[test]
fn plans_ask_every_range_that_holds_a_match() {
    let items = items();
    let definitions: Vec<PartitionKeyDefinition> = [&["/a"][..], &["/a", "/b"]]
        .iter()
        .map(|paths| PartitionKeyDefinition::new(paths).unwrap())
        .collect();
    let (mut n_narrow, mut n_matches) = (0, 0);
    for seed in 0..3000 {
        let filter = condition(&mut Random(seed), 0);
        let text = format!("SELECT * FROM c WHERE {filter}");
        let options = PrepareOptions::new(Env::fixed(1, 1));
        let statement = match Statement::prepare(&text, &[], &options) {
            Ok(statement) => statement,
            Err(error) => panic!("{}\n{text}", error.to_service_message()),
        };
        let ranges: Vec<_> = definitions
            .iter()
            .map(|definition| query::epk_ranges(&statement, definition))
            .collect();
        n_narrow += usize::from(ranges[0] != [model::EpkRange::full()]);
        for item in &items {
            if !statement.matches(item).unwrap_or(false) {
                continue;
            }
            n_matches += 1;
            for (definition, ranges) in definitions.iter().zip(&ranges) {
                let epk = definition.epk(&definition.extract(item));
                let point = model::EpkRange::point(epk);
                let is_asked = ranges.iter().any(|range| range.covers(&point));
                assert!(is_asked, "seed {seed}: {text}\n{item}");
            }
        }
    }
    assert!(n_narrow > 500 && n_matches > 10_000, "{n_narrow} narrow plans, {n_matches} matches");
}
