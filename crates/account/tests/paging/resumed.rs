//! Clients that begin an ORDER BY anew for each page: they keep the keys and the rid of a row and the span it came from,
//! and tell each range where to start, by a member of the body (.NET, Rust) or a filter in the text (Java, JavaScript).
//!
//! Among rows with equal keys they go from the lowest span to the highest, so that their position is lost when the
//! span splits within such rows, whatever the service answers. Here ranges move elsewhere only.

use account::QueryText;
use model::{EpkRange, Object, Rid, Value};

use crate::client::{merge_rows, text_for_ranges};
use crate::fan_out::{compare_keys, plan};
use crate::queries::Class;
use crate::world::World;

const PAGES_MAX: usize = 5000;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Style {
    Body,
    Text,
}

/// A row: the one that a page ended with (body), or the one that the next page begins with (text).
#[derive(Debug)]
struct Token {
    epks: EpkRange,
    keys: Value,
    rid: String,
    /// Rows of the item that were returned.
    n_done: usize,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Left,
    Target,
    Right,
}

/// What is read of one range.
struct Stream {
    epks: EpkRange,
    rows: std::vec::IntoIter<Value>,
}

pub(crate) async fn by_body(world: &mut World, class: &Class) -> Option<Vec<Value>> {
    let can = !class.keys.is_empty() && !class.text.contains("DISTINCT");
    if can { Some(read(world, class, Style::Body).await) } else { None }
}

pub(crate) async fn by_text(world: &mut World, class: &Class) -> Option<Vec<Value>> {
    // This client takes one row per item, and here one key.
    let can =
        class.keys.len() == 1 && !class.text.contains("DISTINCT") && !class.text.contains("JOIN");
    if can { Some(read(world, class, Style::Text).await) } else { None }
}

async fn read(world: &mut World, class: &Class, style: Style) -> Vec<Value> {
    let plan = plan(world, class.text, None).await;
    let directions = plan.get("queryInfo").unwrap().get("orderBy").unwrap().as_array().unwrap();
    let n_page = world.page_size() as usize;
    let (mut rows, mut token): (Vec<Value>, Option<Token>) = (Vec::new(), None);
    for _ in 0..PAGES_MAX {
        let mut streams = Vec::new();
        for (id, range) in world.ranges() {
            for (side, epks) in pieces(token.as_ref(), &range) {
                let query = query(&plan, class, style, token.as_ref().map(|token| (token, side)));
                let mut found = rows_of(world, &query, id, (epks != range).then_some(&epks)).await;
                if let (Some(token), Side::Target) = (&token, side) {
                    trim(&mut found, token, style, directions);
                }
                streams.push(Stream { epks, rows: found.into_iter() });
            }
        }
        let page = next_rows(&mut streams, directions, n_page + 1);
        let n_rows = page.len().min(n_page);
        let is_within_ties = match (page.get(n_page.saturating_sub(1)), page.get(n_page)) {
            (Some((_, last)), Some((_, next))) => {
                compare_keys(directions, keys(last), keys(next)).is_eq()
            }
            _ => false,
        };
        let next = match style {
            Style::Body => page.get(n_rows.saturating_sub(1)).filter(|_| n_rows == n_page),
            Style::Text => page.get(n_page),
        };
        token = next.map(|(epks, row)| token_of(epks, row, style, &page[..n_rows], token.as_ref()));
        rows.extend(page.into_iter().take(n_page).map(|(_, row)| row));
        if token.is_none() {
            return merge_rows(&plan, rows);
        }
        if !is_within_ties {
            world.between_pages().await;
        }
    }
    panic!("{} does not end", class.text);
}

/// All rows of a range, or of a part of it.
async fn rows_of(world: &World, query: &QueryText, id: u32, part: Option<&EpkRange>) -> Vec<Value> {
    let (mut rows, mut continuation) = (Vec::new(), None);
    loop {
        let client = world.client.with_options(|options| {
            options.items_max = Some(50);
            options.continuation = continuation;
        });
        let mut items = client.items().range(id);
        if let Some(part) = part {
            items = items.epks(part.clone());
        }
        let answer = items.query_as(query.clone(), true).await.expect(200);
        rows.extend(answer.rows);
        continuation = answer.facts.continuation;
        if continuation.is_none() {
            return rows;
        }
    }
}

fn keys(row: &Value) -> &Value {
    row.get("orderByItems").unwrap()
}

fn rid(row: &Value) -> &str {
    row.get("_rid").unwrap().as_str().unwrap()
}

/// Cuts a range where the span of the token begins and ends.
fn pieces(token: Option<&Token>, range: &EpkRange) -> Vec<(Side, EpkRange)> {
    let Some(token) = token else { return vec![(Side::Right, range.clone())] };
    let full = EpkRange::full();
    let left = EpkRange::new(full.min().clone(), token.epks.min().clone());
    let right = EpkRange::new(token.epks.max().clone(), full.max().clone());
    let sides =
        [(Side::Left, left), (Side::Target, Some(token.epks.clone())), (Side::Right, right)];
    let cut = |(side, span): (Side, Option<EpkRange>)| Some((side, span?.intersect(range)?));
    sides.into_iter().filter_map(cut).collect()
}

fn query(plan: &Value, class: &Class, style: Style, from: Option<(&Token, Side)>) -> QueryText {
    let whole =
        QueryText { text: text_for_ranges(plan, class.text, "true"), ..QueryText::default() };
    match (from, style) {
        (None, _) => whole,
        (Some((token, side)), Style::Body) => {
            let resume_filter = Some(resume_filter(token, side));
            QueryText { resume_filter, ..whole }
        }
        (Some((token, side)), Style::Text) => {
            let filter = text_filter(plan, token, side);
            QueryText { text: text_for_ranges(plan, class.text, &filter), ..whole }
        }
    }
}

fn resume_filter(token: &Token, side: Side) -> Value {
    let wire = |key: &Value| key.get("item").cloned().unwrap_or(Value::Array(Vec::new()));
    let mut filter = Object::new();
    filter.insert("value", Value::Array(token.keys.as_array().unwrap().iter().map(wire).collect()));
    if side == Side::Target {
        filter.insert("rid", token.rid.as_str());
    }
    filter.insert("exclude", side == Side::Left);
    Value::Object(filter)
}

fn text_filter(plan: &Value, token: &Token, side: Side) -> String {
    const TYPES: [&str; 7] = [
        "NOT IS_DEFINED",
        "IS_NULL",
        "IS_BOOLEAN",
        "IS_NUMBER",
        "IS_STRING",
        "IS_ARRAY",
        "IS_OBJECT",
    ];
    let info = plan.get("queryInfo").unwrap();
    let first = |name: &str| info.get(name).unwrap().as_array().unwrap()[0].as_str().unwrap();
    let (expression, is_ascending) = (first("orderByExpressions"), first("orderBy") == "Ascending");
    let key = token.keys.as_array().unwrap()[0].get("item");
    let kind = match key {
        None => 0,
        Some(Value::Null) => 1,
        Some(Value::Bool(_)) => 2,
        Some(Value::Number(_)) => 3,
        Some(Value::String(_)) => 4,
        Some(Value::Array(_)) => 5,
        Some(Value::Object(_)) => 6,
    };
    let compared = match (key, is_ascending, side) {
        (Some(key), true, Side::Left) => format!("{expression} > {}", key.to_text()),
        (Some(key), true, _) => format!("{expression} >= {}", key.to_text()),
        (Some(key), false, Side::Left) => format!("{expression} < {}", key.to_text()),
        (Some(key), false, _) => format!("{expression} <= {}", key.to_text()),
        (None, true, Side::Left) => format!("IS_DEFINED({expression})"),
        (None, true, _) => "true".to_owned(),
        (None, false, Side::Left) => "false".to_owned(),
        (None, false, _) => format!("NOT IS_DEFINED({expression})"),
    };
    let others = if is_ascending { &TYPES[kind + 1..] } else { &TYPES[..kind] };
    let others = others.iter().map(|name| format!(" OR {name}({expression})"));
    format!("({compared}{})", others.collect::<String>())
}

/// Drops rows that were returned before.
fn trim(rows: &mut Vec<Value>, token: &Token, style: Style, directions: &[Value]) {
    let ordinal = |rid: &str| Rid::parse(rid).unwrap().ordinal().unwrap();
    let is_ascending = directions[0].as_str() == Some("Ascending");
    let mut n_done = token.n_done;
    rows.retain(|row| {
        if compare_keys(directions, keys(row), &token.keys).is_ne() {
            return true;
        }
        match style {
            Style::Body if rid(row) == token.rid && n_done > 0 => {
                n_done -= 1;
                false
            }
            Style::Body => true,
            Style::Text if is_ascending => ordinal(rid(row)) >= ordinal(&token.rid),
            Style::Text => ordinal(rid(row)) <= ordinal(&token.rid),
        }
    });
}

/// Takes the next rows of all streams; of equal ones that of the lowest span.
fn next_rows(streams: &mut [Stream], directions: &[Value], n_max: usize) -> Vec<(EpkRange, Value)> {
    streams.sort_by(|left, right| left.epks.min().cmp(right.epks.min()));
    let mut page = Vec::new();
    while page.len() < n_max {
        let mut best: Option<(usize, &Value)> = None;
        for (index, stream) in streams.iter().enumerate() {
            let Some(row) = stream.rows.as_slice().first() else { continue };
            let is_best = best
                .is_none_or(|(_, best)| compare_keys(directions, keys(row), keys(best)).is_lt());
            if is_best {
                best = Some((index, row));
            }
        }
        let Some((index, _)) = best else { break };
        let row = streams[index].rows.next().unwrap();
        page.push((streams[index].epks.clone(), row));
    }
    page
}

fn token_of(
    epks: &EpkRange,
    row: &Value,
    style: Style,
    page: &[(EpkRange, Value)],
    before: Option<&Token>,
) -> Token {
    let is_same = |other: &Value| rid(other) == rid(row) && keys(other) == keys(row);
    let in_page = page.iter().filter(|(_, other)| is_same(other)).count();
    let earlier = before.filter(|token| token.rid == rid(row) && token.keys == *keys(row));
    let n_done = match style {
        Style::Body => in_page + earlier.map_or(0, |token| token.n_done),
        Style::Text => 0,
    };
    Token { epks: epks.clone(), keys: keys(row).clone(), rid: rid(row).to_owned(), n_done }
}
