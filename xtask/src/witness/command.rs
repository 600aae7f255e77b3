//! The process that answers questions.

use std::io::{BufRead as _, BufReader, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result};
use model::{Value, json};

/// Limit: questions under way at a time, so that neither side waits for the other with a full pipe.
const BATCH: usize = 64;

/// A running witness.
pub(crate) struct Witness {
    command: String,
    child: Child,
    answers: BufReader<ChildStdout>,
}

impl Witness {
    /// Starts the command line, parted by blanks.
    pub(crate) fn start(command: &str) -> Result<Witness> {
        let (child, answers) = spawn(command)?;
        Ok(Witness { command: command.to_owned(), child, answers })
    }

    /// Returns the answers in the order of the questions, `null` for one that ended the witness.
    pub(crate) fn ask(&mut self, questions: &[Value]) -> Result<Vec<Value>> {
        let mut answers = Vec::with_capacity(questions.len());
        for batch in questions.chunks(BATCH) {
            let mut rest = batch;
            loop {
                let n_before = answers.len();
                self.ask_batch(rest, &mut answers)?;
                rest = rest.get(answers.len() - n_before..).unwrap_or_default();
                if rest.is_empty() {
                    break;
                }
                // The first that has no answer was too much; another process goes on behind it.
                answers.push(Value::Null);
                rest = rest.get(1..).unwrap_or_default();
                // Whatever became of the old one, it does not answer.
                let _ = self.child.wait();
                (self.child, self.answers) = spawn(&self.command)?;
            }
        }
        Ok(answers)
    }

    /// Adds the answers to questions, fewer if the process ends.
    fn ask_batch(&mut self, questions: &[Value], answers: &mut Vec<Value>) -> Result<()> {
        let input = self.child.stdin.as_mut().context("no input")?;
        let mut text = String::new();
        for question in questions {
            text.push_str(&question.to_text());
            text.push('\n');
        }
        // A process that has ended takes no questions; that its answers are missing says so.
        let _ = input.write_all(text.as_bytes()).and_then(|()| input.flush());
        for _ in questions {
            let mut line = String::new();
            if self.answers.read_line(&mut line)? == 0 {
                return Ok(());
            }
            answers.push(json::parse(line.as_bytes()).context("an answer is no JSON")?);
        }
        Ok(())
    }
}

fn spawn(command: &str) -> Result<(Child, BufReader<ChildStdout>)> {
    let mut words = command.split_whitespace();
    let program = words.next().context("ORRERY_WITNESS is empty")?;
    let mut child = Command::new(program)
        .args(words)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start the witness {program}"))?;
    let output = child.stdout.take().context("the witness has no output")?;
    Ok((child, BufReader::new(output)))
}

impl Drop for Witness {
    fn drop(&mut self) {
        // Its input ends, and so does it; whatever it says then is of no interest.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
