//! `witness`: compares the planner with another one that is asked over pipes.
//!
//! The command in `ORRERY_WITNESS` reads one question a line and answers it on one line; `answer.rs` has the form of both.
//! Questions are made from seeds, one generator a file. What it answered once is kept in `cases/witness`, where a test of
//! the query crate checks it without the witness.

#[path = "../../../crates/query/tests/golden/answer.rs"]
mod answer;
mod chains;
mod command;
mod expressions;
mod filters;
mod hostile;
mod queries;
mod random;
mod report;
mod searches;
mod texts;

use std::io::{BufRead as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Args;
use model::Value;

use crate::workspace;
use command::Witness;
use random::Random;
use report::Report;

/// Questions of each generator that are kept, and of expressions, which are short.
const GOLDEN_SEEDS: u64 = 1000;
const GOLDEN_EXPRESSIONS: u64 = 4000;

#[derive(Debug, Args)]
pub(crate) struct WitnessArguments {
    /// Answer questions from standard input: be the witness of another build
    #[arg(long)]
    answer: bool,
    /// How many questions each generator asks
    #[arg(long, default_value_t = 2000)]
    seeds: u64,
    /// The first seed
    #[arg(long, default_value_t = 0)]
    first: u64,
    /// Only this generator: texts, queries, searches, hostile, chains, filters or expressions
    #[arg(long, value_name = "NAME")]
    only: Option<String>,
    /// Write the answers of the witness into `cases/witness`
    #[arg(long)]
    bless: bool,
    /// Compare the answers to the questions of this file, one a line
    #[arg(long, value_name = "FILE")]
    questions: Option<PathBuf>,
    /// How many differences of each kind are shown
    #[arg(long, default_value_t = 3)]
    show: usize,
}

pub(crate) fn run(arguments: &WitnessArguments) -> Result<()> {
    if arguments.answer {
        return answer_all();
    }
    let Some(command) = std::env::var("ORRERY_WITNESS").ok().filter(|text| !text.is_empty()) else {
        println!("skipped: ORRERY_WITNESS names no command to compare with");
        return Ok(());
    };
    let mut witness = Witness::start(&command)?;
    if let Some(file) = &arguments.questions {
        return compare("questions", &read(file)?, &mut witness, arguments.show);
    }
    if arguments.bless {
        return bless(&mut witness);
    }
    for (name, questions) in generated(arguments.first, arguments.seeds)? {
        if arguments.only.as_deref().is_none_or(|only| only == name) {
            compare(name, &questions, &mut witness, arguments.show)?;
        }
    }
    Ok(())
}

/// The queries of the case files as questions.
pub(crate) fn case_questions() -> Result<Vec<Value>> {
    texts::cases()
}

/// The questions of every generator for some seeds.
fn generated(first: u64, n_seeds: u64) -> Result<Vec<(&'static str, Vec<Value>)>> {
    let cases = texts::cases()?;
    let ask = |question: &dyn Fn(&mut Random) -> Value| -> Vec<Value> {
        (first..first.saturating_add(n_seeds))
            .map(|seed| question(&mut Random::new(seed)))
            .collect()
    };
    let mut texts = ask(&|random| texts::question(random, &cases));
    texts.retain(is_safe);
    let mut searches = ask(&searches::question);
    searches.retain(is_safe);
    Ok(vec![
        ("texts", texts),
        ("queries", ask(&queries::question)),
        ("searches", searches),
        ("hostile", ask(&hostile::question)),
        ("chains", ask(&chains::question)),
        ("filters", ask(&filters::question)),
        ("expressions", ask(&expressions::question)),
    ])
}

/// A ranked query whose parameters are lost ends the process of the service's planner.
fn is_safe(question: &Value) -> bool {
    let text = question.get("query").and_then(Value::as_str).unwrap_or_default();
    !(text.to_ascii_uppercase().contains("RANK") && text.contains('@'))
}

/// Writes what the witness answers, less what is known to differ.
fn bless(witness: &mut Witness) -> Result<()> {
    let folder = workspace::root().join("cases/witness");
    std::fs::create_dir_all(&folder)?;
    let mut files = generated(0, GOLDEN_SEEDS)?;
    files.retain(|(name, _)| *name != "expressions");
    let seeds = (0..GOLDEN_EXPRESSIONS).map(Random::new);
    files.push(("expressions", seeds.map(|mut seed| expressions::question(&mut seed)).collect()));
    files.push(("cases", texts::cases()?));
    for (name, questions) in files {
        let answers = witness.ask(&questions)?;
        let mut lines = String::new();
        let mut n_left_out = 0;
        for (question, answer) in questions.iter().zip(&answers) {
            let answer = answer::normal(question, answer);
            if answer::is_open(&answer) || answer::own(question) != answer {
                n_left_out += 1;
                continue;
            }
            let mut line = question.clone();
            if let Value::Object(line) = &mut line {
                line.insert("answer", answer);
            }
            lines.push_str(&line.to_text());
            lines.push('\n');
        }
        std::fs::write(folder.join(format!("{name}.jsonl")), lines)?;
        println!(
            "{name}: {} answers, {n_left_out} differ and are left out",
            questions.len() - n_left_out
        );
    }
    Ok(())
}

/// Asks both, and prints what differs.
fn compare(name: &str, questions: &[Value], witness: &mut Witness, show: usize) -> Result<()> {
    let answers = witness.ask(questions)?;
    let mut report = Report::new(show);
    for (question, answer) in questions.iter().zip(&answers) {
        let answer = answer::normal(question, answer);
        if answer::is_open(&answer) {
            report.note_open();
        } else {
            report.note(question, &answer::own(question), &answer);
        }
    }
    println!("{name}: {report}");
    Ok(())
}

fn read(file: &Path) -> Result<Vec<Value>> {
    let text =
        std::fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
    let lines = text.lines().filter(|line| !line.trim().is_empty());
    lines.map(|line| model::json::parse(line.as_bytes()).context("a line is no JSON")).collect()
}

fn answer_all() -> Result<()> {
    let mut output = std::io::stdout().lock();
    for line in std::io::stdin().lock().lines() {
        let question = model::json::parse(line?.as_bytes()).context("a question is no JSON")?;
        let mut answer = answer::own(&question);
        if let (Value::Object(answer), Some(id)) = (&mut answer, question.get("id")) {
            answer.insert("id", id.clone());
        }
        writeln!(output, "{}", answer.to_text())?;
        output.flush()?;
    }
    Ok(())
}
