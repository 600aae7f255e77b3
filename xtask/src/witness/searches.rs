//! Ranked queries and vector comparisons: scores, weights, fuzzy terms, options, right and nearly right.

use std::fmt::Write as _;

use model::{Object, Value};

use super::random::Random;

const TERMS: &[&str] = &[
    "'a'",
    "'b c'",
    "''",
    "{'term': 'a', 'distance': 1}",
    "{term: 'a', distance: 2}",
    "{'term': 'a'}",
    "{'term': 'a', 'distance': 3}",
    "{'term': 'a', 'distance': 0}",
    "{'term': 1, 'distance': 1}",
    "{'term': 'a', 'distance': 1, 'x': 2}",
    "{'term': 'a', 'distance': '1'}",
    "{'term': 'a', 'distance': 1.5}",
    "1",
    "c.b",
    "['a']",
    "'a' || 'b'",
];

/// Options of a vector comparison, and values for each.
const OPTIONS: &[(&str, &[&str])] = &[
    ("distanceFunction", &["'Cosine'", "'euclidean'", "'DotProduct'", "'manhattan'", "1"]),
    ("dataType", &["'Float32'", "'float16'", "'int8'", "'Uint8'", "'double'", "null"]),
    ("searchListSizeMultiplier", &["1", "10", "100", "0", "101", "1.5", "'5'", "-1"]),
    ("quantizedVectorListMultiplier", &["1", "10", "100", "0", "101", "2.0", "true"]),
    ("filterPriority", &["0", "0.5", "1", "2", "-1", "'a'"]),
    ("none", &["1"]),
    ("DataType", &["'Float32'"]),
];

const PATHS: &[&str] = &["c.t", "c.t", "c.u.v", "c['t']", "c", "c.t[0]", "'a'", "d.t", "c.v"];

pub(crate) fn question(random: &mut Random) -> Value {
    let selection = random.pick(&["*", "c.id", "VALUE c.id", "c.a, c.b AS x", "1 AS o", "c"]);
    let window = match random.below(6) {
        0 => String::from("TOP 10 "),
        1 => String::from("TOP 3000 "),
        2 if random.is_one_in(6) => String::from("DISTINCT "),
        _ => String::new(),
    };
    let shown =
        if random.is_one_in(6) { format!(", {} AS s", score(random)) } else { String::new() };
    let selection = if selection == "*" || selection.starts_with("VALUE") {
        selection.to_owned()
    } else {
        format!("{selection}{shown}")
    };
    let mut text = format!("SELECT {window}{selection} FROM c");
    if random.is_one_in(4) {
        let filter = random.pick(&[
            "c.pk = 1",
            "c.a > 2 AND c.b",
            "FullTextContains(c.t, 'a')",
            "FullTextContainsAny(c.t, 'a', 'b')",
            "undefined",
        ]);
        let _ = write!(text, " WHERE {filter}");
    }
    let order = match random.below(8) {
        0 => format!("ORDER BY {}", vector(random)),
        1 => format!("ORDER BY RANK {}", score(random)),
        _ => format!("ORDER BY RANK {}", fusion(random)),
    };
    let direction = if random.is_one_in(25) { random.pick(&[" ASC", " DESC"]) } else { "" };
    let _ = write!(text, " {order}{direction}");
    if window.is_empty() && random.is_one_in(4) {
        let _ = write!(text, " OFFSET {} LIMIT {}", random.below(3) * 40, random.below(100));
    }
    let mut question = Object::new();
    question.insert("query", text.as_str());
    Value::Object(question)
}

fn score(random: &mut Random) -> String {
    if random.is_one_in(3) { vector(random) } else { text_score(random) }
}

fn text_score(random: &mut Random) -> String {
    let path = if random.is_one_in(4) { random.pick(PATHS) } else { "c.t" };
    let n_terms = random.below(4) + usize::from(!random.is_one_in(12));
    let mut arguments = vec![path.to_owned()];
    for _ in 0..n_terms {
        let term = if random.is_one_in(2) { "'a'" } else { random.pick(TERMS) };
        arguments.push(term.to_owned());
    }
    format!("FullTextScore({})", arguments.join(", "))
}

fn vector(random: &mut Random) -> String {
    let path = if random.is_one_in(6) { random.pick(PATHS) } else { "c.v" };
    let other = if random.is_one_in(6) { random.pick(PATHS) } else { "[1, 0.5]" };
    let mut text = format!("VectorDistance({path}, {other}");
    if random.is_one_in(2) {
        let exact = if random.is_one_in(8) {
            random.pick(&["1", "null", "c.x", "'true'"])
        } else {
            random.pick(&["true", "false"])
        };
        let _ = write!(text, ", {exact}");
        if random.is_one_in(2) {
            let _ = write!(text, ", {}", options(random));
        }
    }
    text.push(')');
    text
}

fn options(random: &mut Random) -> String {
    if random.is_one_in(12) {
        return random.pick(&["1", "null", "[]", "c.o", "@p"]).to_owned();
    }
    let mut members = Vec::new();
    for _ in 0..random.below(4) {
        let (name, values) = OPTIONS[random.below(OPTIONS.len())];
        let value = random.pick(values);
        let quote = random.pick(&["'", "'", "\"", ""]);
        members.push(format!("{quote}{name}{quote}: {value}"));
    }
    format!("{{{}}}", members.join(", "))
}

fn fusion(random: &mut Random) -> String {
    let name = random.pick(&["RRF", "RRF", "RRF", "rrf", "COMBINEDSCORE", "CombinedScore"]);
    let n_scores = if random.is_one_in(8) { random.below(2) } else { 2 + random.below(2) };
    let is_text = !name.starts_with(['R', 'r']) && !random.is_one_in(5);
    let mut arguments: Vec<String> = (0..n_scores)
        .map(|_| {
            if random.is_one_in(20) {
                return random.pick(&["c.a", "1", "ABS(1)", "RRF(c.t)", "udf.f(1)"]).to_owned();
            }
            if is_text { text_score(random) } else { score(random) }
        })
        .collect();
    if random.is_one_in(3) {
        let n_weights = if random.is_one_in(6) { random.below(4) } else { n_scores };
        let weights: Vec<&str> = (0..n_weights)
            .map(|_| {
                if random.is_one_in(20) {
                    random.pick(&["'a'", "c.a", "null", "@p"])
                } else {
                    random.pick(&["1", "0", "-1", "0.5", "-2.5", "100"])
                }
            })
            .collect();
        arguments.push(format!("[{}]", weights.join(", ")));
    }
    if random.is_one_in(8) {
        arguments.push(random.pick(&["1", "2", "10", "0", "-1", "1.5", "'a'"]).to_owned());
    }
    format!("{name}({})", arguments.join(", "))
}
