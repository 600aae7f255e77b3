//! The process that answers questions.

use std::io::{BufRead as _, BufReader, BufWriter, Write as _};
use std::process::{Child, ChildStdout, Command, Stdio};

use anyhow::{Context as _, Result, bail};
use model::{Value, json};

/// Limit: questions under way at a time, so that neither side waits for the other with a full pipe.
const BATCH: usize = 64;

/// A running witness.
pub(crate) struct Witness {
    child: Child,
    answers: BufReader<ChildStdout>,
}

impl Witness {
    /// Starts the command line, parted by blanks.
    pub(crate) fn start(command: &str) -> Result<Witness> {
        let mut words = command.split_whitespace();
        let program = words.next().context("ORRERY_WITNESS is empty")?;
        let mut child = Command::new(program)
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .with_context(|| format!("cannot start the witness {program}"))?;
        let output = child.stdout.take().context("the witness has no output")?;
        Ok(Witness { child, answers: BufReader::new(output) })
    }

    /// Returns the answers in the order of the questions.
    pub(crate) fn ask(&mut self, questions: &[Value]) -> Result<Vec<Value>> {
        let mut answers = Vec::with_capacity(questions.len());
        for batch in questions.chunks(BATCH) {
            let mut input = BufWriter::new(self.child.stdin.as_mut().context("no input")?);
            for question in batch {
                writeln!(input, "{}", question.to_text())?;
            }
            input.flush()?;
            drop(input);
            for _ in batch {
                let mut line = String::new();
                if self.answers.read_line(&mut line)? == 0 {
                    bail!("the witness ended");
                }
                answers.push(json::parse(line.as_bytes()).context("an answer is no JSON")?);
            }
        }
        Ok(answers)
    }
}

impl Drop for Witness {
    fn drop(&mut self) {
        // Its input ends, and so does it; whatever it says then is of no interest.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}
