//! Filters on keys of one, two and three levels: which ranges are asked.

use model::{Object, Value};

use super::random::Random;

const VALUES: &[&str] = &[
    "1",
    "2",
    "'a'",
    "'b'",
    "true",
    "false",
    "null",
    "undefined",
    "1.5",
    "-1",
    "[1]",
    "{}",
    "@p",
    "'A'",
    "LOWER('A')",
    "1 + 1",
];

/// Paths of the key, and paths that filters name.
const KEYS: &[(&[&str], &[&str])] = &[
    (&["/pk"], &["c.pk", "c.pk", "c.pk", "c.x", "c.pk.z", "c['pk']", "c.id"]),
    (&["/t", "/u"], &["c.t", "c.u", "c.t", "c.u", "c.x"]),
    (&["/t", "/u", "/s"], &["c.t", "c.u", "c.s", "c.t", "c.u", "c.s", "c.x"]),
];

pub(crate) fn question(random: &mut Random) -> Value {
    let (key, paths) = KEYS[random.below(KEYS.len())];
    let mut question = Object::new();
    question
        .insert("query", format!("SELECT * FROM c WHERE {}", condition(random, paths, 0)).as_str());
    question.insert("paths", key.iter().copied().collect::<Value>());
    question.insert("kind", if key.len() > 1 { "MultiHash" } else { "Hash" });
    let mut parameter = Object::new();
    parameter.insert("name", "@p");
    parameter.insert("value", random.pick(&[&0_i64, &1, &2]).to_owned());
    if random.is_one_in(2) {
        question.insert("parameters", Value::Array(vec![Value::Object(parameter)]));
    }
    Value::Object(question)
}

fn condition(random: &mut Random, paths: &[&str], depth: usize) -> String {
    if depth < 3 && random.is_one_in(3) {
        let word = random.pick(&[" AND ", " AND ", " OR "]);
        let n_parts = 2 + random.below(2);
        let parts: Vec<String> =
            (0..n_parts).map(|_| condition(random, paths, depth + 1)).collect();
        return format!("({})", parts.join(word));
    }
    if random.is_one_in(15) {
        return format!("NOT ({})", condition(random, paths, depth + 1));
    }
    let path = random.pick(paths);
    let value = random.pick(VALUES);
    let other = random.pick(VALUES);
    match random.below(27) {
        0..11 => format!("({path} = {value})"),
        11 => format!("({value} = {path})"),
        12 | 13 => format!("({path} IN ({value}, {other}))"),
        14 | 15 => format!("({path} {} {value})", random.pick(&[">", "<", ">=", "<=", "!="])),
        16 => format!("({path} BETWEEN {value} AND {other})"),
        17 => path.to_owned(),
        18 => {
            let name = random.pick(&[
                "IS_NULL",
                "IS_BOOL",
                "IS_STRING",
                "IS_NUMBER",
                "IS_DEFINED",
                "IS_ARRAY",
            ]);
            format!("{name}({path})")
        }
        19 => format!("ARRAY_CONTAINS([{value}, {other}], {path})"),
        20 => format!("STARTSWITH({path}, 'a')"),
        21 => format!("({path} LIKE {})", random.pick(&["'a'", "'a%'", "'b_'"])),
        22 => format!("(ABS({path}) = {value})"),
        23 => format!("({path} ?? {value})"),
        24 => format!("(LET v{depth} = {path} IN v{depth} = {value})"),
        25 => format!("({path} = (LET v{depth} = {value} IN v{depth}))"),
        _ => format!("EXISTS(SELECT VALUE 1 FROM e IN {path} WHERE e = {value})"),
    }
}
