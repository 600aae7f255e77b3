//! Plans as text, for tests and the command line: one operator per line, its input indented below it.

use super::access::{Access, OrderAccess, Ranked, push_indented, seek_text};
use super::operator::{Input, Plan, Rows, SortInput};
use crate::source::Direction;

impl Plan {
    /// Describes the plan. It must have been made to be read.
    pub(crate) fn text(&self) -> String {
        match self {
            Plan::Stream(None) => below("stream", NO_ITEMS),
            Plan::Stream(Some(access)) => below("stream", &access_text(access)),
            Plan::IndexOrder(order) => order_text(order),
            Plan::Sort(inputs) => sort_text("sort", inputs),
            Plan::Distinct(inputs) => sort_text("distinct", inputs),
            Plan::Collect(rows) => rows_text(rows),
            Plan::Rank(input) => below("rank", &input_text(input)),
        }
    }
}

const NO_ITEMS: &str = "no items\n";

fn below(operator: &str, input: &str) -> String {
    let mut text = format!("{operator}\n");
    push_indented(&mut text, input);
    text
}

fn order_text(order: &OrderAccess) -> String {
    let direction = match order.direction {
        Direction::Forward => "ascending",
        Direction::Backward => "descending",
    };
    format!("follow {} {direction}\n", order.text)
}

fn sort_text(operator: &str, inputs: &[SortInput]) -> String {
    let input = |input: &SortInput| match input {
        SortInput::NoItem => NO_ITEMS.to_string(),
        SortInput::Items(access) => access_text(access),
        SortInput::Best(Ranked::Words { .. }) => "best by words\n".to_string(),
        SortInput::Best(Ranked::Vectors { .. }) => "best by vectors\n".to_string(),
    };
    below(operator, &inputs.iter().map(input).collect::<String>())
}

fn rows_text(rows: &Rows) -> String {
    match rows {
        Rows::Each(input) => below("collect", &input_text(input)),
        Rows::Groups(inputs) => below("group", &inputs.iter().map(input_text).collect::<String>()),
        Rows::FromIndex => "aggregate from the index\n".to_string(),
    }
}

fn input_text(input: &Input) -> String {
    match input {
        Input::NoItem => NO_ITEMS.to_string(),
        Input::Items(access) => access_text(access),
        Input::Rows(rows) => rows_text(rows),
    }
}

fn access_text(access: &Access) -> String {
    match access {
        Access::Scan => "scan\n".to_string(),
        Access::Nothing => "nothing\n".to_string(),
        Access::Numbers { text, .. } => text.clone(),
        Access::Point { seek, .. } => seek_text(seek),
    }
}
