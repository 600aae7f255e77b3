//! Chains of operators without parentheses, as a filter or as a selected value.

use model::{Object, Value};

use super::random::Random;

const OPERATORS: &[&str] = &[
    "*", "/", "%", "+", "-", "<<", ">>", ">>>", "<", "<=", ">", ">=", "=", "!=", "<>", "&", "^",
    "|", "||", "AND", "OR", "??",
];

const OPERANDS: &[&str] = &[
    "c.a",
    "c.b",
    "1",
    "2",
    "-1",
    "'x'",
    "true",
    "c.pk",
    "null",
    "undefined",
    "@p",
    "c.x[0]",
    "-c.a",
    "NOT c.b",
    "~1",
    "(c.a)",
    "[1,2]",
    "- 1",
    "+1",
    "NOT -c.a",
    "-0.0",
    "0x1F",
    "1e21",
    "NaN",
    "-Infinity",
    "(LET x = c.a IN x)",
    "(LET x = 2 IN x + 1)",
];

const PREDICATES: &[&str] = &[
    "IN (1,2)",
    "NOT IN ('a')",
    "LIKE 'x%'",
    "NOT LIKE 'x'",
    "BETWEEN 1 AND 2",
    "NOT BETWEEN c.a AND 3",
    "IN (c.a)",
    "LIKE c.b ESCAPE '!'",
    "NOT",
    "IS NULL",
];

pub(crate) fn question(random: &mut Random) -> Value {
    let chain = chain(random, 0);
    let query = if random.is_one_in(2) {
        format!("SELECT {chain} AS v FROM c ORDER BY c.z")
    } else {
        format!("SELECT * FROM c WHERE {chain}")
    };
    let mut question = Object::new();
    question.insert("query", query.as_str());
    Value::Object(question)
}

fn chain(random: &mut Random, depth: usize) -> String {
    let mut words = Vec::new();
    for index in 0..=random.below(5) {
        if index > 0 {
            words.push(random.pick(OPERATORS).to_owned());
        }
        if depth < 2 && random.is_one_in(7) {
            words.push(format!("({})", chain(random, depth + 1)));
        } else {
            words.push(random.pick(OPERANDS).to_owned());
        }
        if random.is_one_in(10) {
            words.push(random.pick(PREDICATES).to_owned());
        } else if random.is_one_in(30) {
            words.push(format!("? {} : {}", random.pick(OPERANDS), random.pick(OPERANDS)));
        }
    }
    words.join(" ")
}
