//! ORDER BY RANK: one component query per score, fused by the client.

use model::{Object, Value};

use super::features::Features;
use super::rewrite::{
    COUNT_MAX, FILTER_PLACEHOLDER, QueryInfo, payload, placeholder_filter, root_alias,
};
use super::text_scores::TextScores;
use crate::ast::{Expr, ExprKind, Query};
use crate::bind::rank::rank_calls;
use crate::bind::tree::{self, Component, Fusion, Score};
use crate::error::{Error, Result};
use crate::statement::Statement;
use crate::syntax::format;
use crate::value::Step;

/// Fewest rows that a component asks for when the client wants some; fusion needs more than that.
const COMPONENT_ROWS_MIN: u64 = 120;

/// Wire: scores of rows that have none, behind all others.
const LARGEST: &str = "1.7976900000000001e+308";
const SMALLEST: &str = "-1.7976900000000001e+308";

/// A score as text, and what surrounds it.
struct ScoreText {
    call: String,
    /// What a row without a score counts as.
    default: &'static str,
    /// The direction as written in the component query.
    direction: &'static str,
    order_by: &'static str,
}

/// Makes `hybridSearchQueryInfo`.
pub(super) fn info(statement: &Statement, features: &Features) -> Result<Value> {
    let query = statement.ast();
    let order = query.order_by.as_ref().and_then(|order| order.items.first());
    let no_function = || Error::Unplannable("ORDER BY RANK without a function".into());
    let parameter = |name: &str| statement.parameter(name).cloned();
    let calls = order.and_then(|item| rank_calls(&item.expr, &parameter));
    let calls = calls.ok_or_else(no_function)?;
    let mut needed = vec!["HybridSearch"];
    if !calls.weights.is_empty() {
        needed.push("WeightedRankFusion");
    }
    features.require(&needed)?;
    let rank = statement.bound().rank.as_ref().ok_or_else(no_function)?;
    let mut texts = TextScores::default();
    for (call, component) in calls.calls.iter().zip(&rank.components) {
        if let Some(searched) = search_terms(&component.score) {
            texts.add(call, searched);
        }
    }
    let shown = rank.shown.iter().filter_map(search_terms).collect();
    texts.add_shown(query, shown);
    let query = &texts.rewrite(query);
    let scores: Vec<ScoreText> = (calls.calls.iter().zip(&rank.components))
        .map(|(call, component)| score_text(call, component, &texts))
        .collect();
    let window = Window::new(statement, calls.multiplier);
    let skips_rewrite = features.has("HybridSearchSkipOrderByRewrite");
    let mut infos = Vec::new();
    for score in &scores {
        let info = if skips_rewrite && scores.len() > 1 {
            flat_component(query, &scores, score, &window)?
        } else {
            component(query, &scores, score, &window, skips_rewrite)?
        };
        infos.push(info.to_value());
    }
    let mut info = Object::new();
    info.insert("globalStatisticsQuery", texts.statistics_query(query));
    info.insert("componentQueryInfos", Value::Array(infos));
    info.insert("componentWithoutPayloadQueryInfos", Value::Array(Vec::new()));
    info.insert("projectionQueryInfo", Value::Null);
    info.insert(
        "componentWeights",
        calls.weights.iter().map(|weight| weight.abs()).collect::<Value>(),
    );
    info.insert("skip", window.skip.map_or(Value::Null, Value::from));
    info.insert("take", window.take.map_or(Value::Null, Value::from));
    info.insert("requiresGlobalStatistics", !texts.is_empty());
    info.insert("fullTextSearchTerms", texts.searched());
    let kind = match rank.fusion {
        Fusion::Ranks => "Rrf",
        Fusion::Scores => "CombinedScore",
    };
    info.insert("scoreCombinationKind", kind);
    Ok(Value::Object(info))
}

/// Returns what a text component looks for, and where.
fn search_terms(score: &Score) -> Option<Value> {
    let Score::FullText { text, terms, .. } = score else { return None };
    let steps = match text {
        tree::Expr::VariablePath(_, steps) => steps.as_slice(),
        // Wire: the client is told of no text when one of them is not at a path.
        _ => return Some(Value::Null),
    };
    let name = |step: &Step| match step {
        Step::Name(name) => Value::from(name.as_str()),
        Step::Index(index) => Value::from(*index as u64),
        Step::Never => Value::Null,
    };
    let term = |term: &Value| {
        let mut object = Object::new();
        object.insert("term", term.get("term").unwrap_or(term).clone());
        if let Some(distance) = term.get("distance") {
            object.insert("distance", distance.clone());
        }
        Value::Object(object)
    };
    let mut object = Object::new();
    object.insert("path", steps.iter().map(name).collect::<Value>());
    object.insert("terms", terms.iter().map(term).collect::<Value>());
    Some(Value::Object(object))
}

/// How many rows the user and the components want.
struct Window {
    skip: Option<u64>,
    take: Option<u64>,
    component: ComponentWindow,
}

/// How many rows a component is asked for, in the form that the user has chosen.
enum ComponentWindow {
    /// All of them.
    All,
    Top(u64),
    Limit(u64),
}

impl Window {
    fn new(statement: &Statement, multiplier: u32) -> Window {
        let bound = statement.bound();
        let is_limit = statement.ast().offset_limit.is_some();
        let wanted = bound.offset.saturating_add(bound.take.unwrap_or_default());
        // Wire: clients read 32 bits.
        let n_rows = wanted
            .saturating_mul(2)
            .saturating_mul(u64::from(multiplier))
            .clamp(COMPONENT_ROWS_MIN, COUNT_MAX);
        let component = match bound.take {
            None => ComponentWindow::All,
            Some(_) if is_limit => ComponentWindow::Limit(n_rows),
            Some(_) => ComponentWindow::Top(n_rows),
        };
        Window { skip: is_limit.then_some(bound.offset), take: bound.take, component }
    }

    fn top_text(&self) -> String {
        match self.component {
            ComponentWindow::Top(n_rows) => format!("TOP {n_rows} "),
            ComponentWindow::All | ComponentWindow::Limit(_) => String::new(),
        }
    }

    fn limit_text(&self) -> String {
        match self.component {
            ComponentWindow::Limit(n_rows) => format!("\nOFFSET 0 LIMIT {n_rows}"),
            ComponentWindow::All | ComponentWindow::Top(_) => String::new(),
        }
    }

    fn put_into(&self, info: &mut QueryInfo) {
        match self.component {
            ComponentWindow::All => {}
            ComponentWindow::Top(n_rows) => info.top = Some(n_rows),
            ComponentWindow::Limit(n_rows) => {
                info.offset = Some(0);
                info.limit = Some(n_rows);
            }
        }
    }
}

fn score_text(call: &Expr, component: &Component, texts: &TextScores) -> ScoreText {
    let is_positive = component.weight >= 0.0;
    match &component.score {
        Score::FullText { .. } => ScoreText {
            call: texts.call_text(call),
            default: if is_positive { "-1" } else { LARGEST },
            direction: if is_positive { " DESC" } else { " ASC" },
            order_by: if is_positive { "Descending" } else { "Ascending" },
        },
        Score::Vector { larger_closer, .. } => {
            let arguments: &[Expr] = match &call.kind {
                ExprKind::Call { arguments, .. } => arguments,
                _ => &[],
            };
            let arguments: Vec<String> = arguments.iter().map(format::expression).collect();
            let descending = *larger_closer == is_positive;
            let reversed = if descending { " DESC" } else { " ASC" };
            ScoreText {
                call: format!("_VectorScore({})", arguments.join(", ")),
                default: if descending { SMALLEST } else { LARGEST },
                direction: if is_positive { "" } else { reversed },
                order_by: if descending { "Descending" } else { "Ascending" },
            }
        }
    }
}

fn component(
    query: &Query,
    scores: &[ScoreText],
    score: &ScoreText,
    window: &Window,
    skips_scores: bool,
) -> Result<QueryInfo> {
    let all_scores: Vec<String> = if skips_scores {
        Vec::new()
    } else {
        scores.iter().map(|score| format!("({} ?? {})", score.call, score.default)).collect()
    };
    let rewritten = format!(
        "SELECT {}{}._rid, [{{\"item\": {}}}] AS orderByItems, {{\"payload\": {}, \
         \"componentScores\": [{}]}} AS payload\n{}\nWHERE {}\nORDER BY {}{}{}",
        window.top_text(),
        root_alias(query)?,
        score.call,
        payload(query)?,
        all_scores.join(", "),
        format::from(&query.from),
        placeholder_filter(query),
        score.call,
        score.direction,
        window.limit_text(),
    );
    debug_assert!(rewritten.contains(FILTER_PLACEHOLDER), "component queries can be resumed");
    let mut info = QueryInfo {
        distinct: "None",
        order_by: vec![score.order_by],
        order_by_expressions: vec![score.call.clone()],
        rewritten_query: rewritten,
        has_non_streaming_order_by: true,
        ..QueryInfo::default()
    };
    window.put_into(&mut info);
    Ok(info)
}

/// The shape for clients that sort by the scores themselves.
fn flat_component(
    query: &Query,
    scores: &[ScoreText],
    score: &ScoreText,
    window: &Window,
) -> Result<QueryInfo> {
    let all_scores: Vec<String> = scores
        .iter()
        .map(|score| {
            let known = format!("({} ?? {})", score.call, score.default);
            // Wire: such clients sort every score downwards.
            if score.order_by == "Ascending" { format!("(-1 * {known})") } else { known }
        })
        .collect();
    let filter = match &query.filter {
        None => String::new(),
        Some(filter) => format!("\nWHERE {}", format::expression(filter)),
    };
    let rewritten_query = format!(
        "SELECT {}{}._rid, {} AS payload, [{}] AS componentScores\n{}{}\nORDER BY {}{}{}",
        window.top_text(),
        root_alias(query)?,
        payload(query)?,
        all_scores.join(", "),
        format::from(&query.from),
        filter,
        score.call,
        score.direction,
        window.limit_text(),
    );
    Ok(QueryInfo { distinct: "None", rewritten_query, ..QueryInfo::default() })
}
