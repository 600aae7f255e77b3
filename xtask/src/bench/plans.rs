//! How long parsing and planning take, over the texts of the case files.
//!
//! The baseline is reading the same texts as JSON strings a number of times, so that two builds can be compared by their ratios, on
//! any machine.

use std::hint::black_box;
use std::time::Duration;

use anyhow::Result;
use model::{Env, PartitionKeyDefinition, Value, json};
use query::{Features, PrepareOptions};

use super::Bench;
use super::table::Table;
use crate::witness::case_questions;

/// How often the baseline reads each text: so that it takes about as long.
const N_READS: u32 = 32;

pub(crate) fn measure(bench: &Bench, table: &mut Table) -> Result<()> {
    let questions = case_questions()?;
    let texts: Vec<String> = questions
        .iter()
        .filter_map(|question| Some(question.get("query")?.as_str()?.to_owned()))
        .collect();
    let quoted: Vec<String> =
        texts.iter().map(|text| Value::from(text.as_str()).to_text()).collect();
    let baseline = per_text(bench, quoted.len(), || {
        for text in &quoted {
            for _ in 0..N_READS {
                black_box(json::parse(black_box(text.as_bytes())).ok());
            }
        }
    });
    let parsing = per_text(bench, texts.len(), || {
        for text in &texts {
            black_box(query::parse(black_box(text)).ok());
        }
    });
    let options = PrepareOptions::new(Env::fixed(1, 1));
    let definition = PartitionKeyDefinition::new(&["/pk"])?;
    let features = Features::all();
    let planning = per_text(bench, texts.len(), || {
        for text in &texts {
            let plan = query::query_plan(black_box(text), &[], &options, &definition, &features);
            black_box(plan.ok());
        }
    });
    for (name, own) in [("parse a query", parsing), ("parse and plan a query", planning)] {
        let time = |time: Duration| format!("{:.1} µs", time.as_secs_f64() * 1e6);
        let ratio = own.as_secs_f64() / baseline.as_secs_f64();
        table.add(name, time(own), time(baseline), format!("{ratio:.2}"), "–");
    }
    Ok(())
}

/// Runs over all texts for as long as the other measurements take; returns the time of one.
fn per_text(bench: &Bench, n_texts: usize, mut run: impl FnMut()) -> Duration {
    let start = bench.env.monotonic();
    let mut n_runs = 0_u32;
    loop {
        run();
        n_runs += 1;
        let time = bench.env.monotonic().saturating_sub(start);
        if time >= bench.duration / 5 {
            let n_texts = u32::try_from(n_texts.max(1)).unwrap_or(u32::MAX);
            return time / n_runs / n_texts;
        }
    }
}
