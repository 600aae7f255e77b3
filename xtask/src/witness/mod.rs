//! `witness`: compares the planner with another one that is asked over pipes.
//!
//! The command in `ORRERY_WITNESS` reads one question a line and answers it on one line; `answer.rs` has the form of both.

#[path = "../../../crates/query/tests/golden/answer.rs"]
mod answer;
mod command;
mod report;

use std::io::{BufRead as _, Write as _};
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use clap::Args;
use model::Value;

use command::Witness;
use report::Report;

#[derive(Debug, Args)]
pub(crate) struct WitnessArguments {
    /// Answer questions from standard input: be the witness of another build
    #[arg(long)]
    answer: bool,
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
        compare("questions", &read(file)?, &mut witness, arguments.show)?;
    }
    Ok(())
}

/// Asks both, and prints what differs.
fn compare(name: &str, questions: &[Value], witness: &mut Witness, show: usize) -> Result<()> {
    let answers = witness.ask(questions)?;
    let mut report = Report::new(show);
    for (question, answer) in questions.iter().zip(&answers) {
        report.note(question, &answer::own(question), &answer::normal(question, answer));
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
