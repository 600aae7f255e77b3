//! Counting tests: the closing lines of the runners that we call, and the line that closes our own run.

use std::fmt;
use std::ops::AddAssign;

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) passed: u64,
    pub(crate) failed: u64,
    pub(crate) skipped: u64,
}

impl Counts {
    /// One step of our own that is no test runner's: a check that passed or failed.
    pub(crate) fn step(is_good: bool) -> Counts {
        Counts { passed: u64::from(is_good), failed: u64::from(!is_good), skipped: 0 }
    }

    pub(crate) fn is_good(self) -> bool {
        self.failed == 0
    }
}

impl AddAssign for Counts {
    fn add_assign(&mut self, other: Counts) {
        self.passed += other.passed;
        self.failed += other.failed;
        self.skipped += other.skipped;
    }
}

impl fmt::Display for Counts {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{} passed, {} failed, {} skipped",
            self.passed, self.failed, self.skipped
        )
    }
}

/// The test runners whose output we read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runner {
    Cargo,
    Pytest,
    Node,
    Go,
    Surefire,
    /// Programs of our own that print a line per claim.
    Lines,
}

impl Runner {
    /// What one line of output adds to the count.
    pub(crate) fn count(self, line: &str) -> Counts {
        let line = line.trim_end();
        match self {
            Runner::Cargo => cargo(line),
            Runner::Pytest => pytest(line),
            Runner::Node => node(line),
            Runner::Go => go(line.trim_start()),
            Runner::Surefire => surefire(line),
            Runner::Lines => lines(line),
        }
    }
}

/// `test result: ok. 12 passed; 0 failed; 1 ignored; …`
fn cargo(line: &str) -> Counts {
    let Some(rest) = line.strip_prefix("test result: ") else {
        return Counts::default();
    };
    Counts {
        passed: before(rest, " passed"),
        failed: before(rest, " failed"),
        skipped: before(rest, " ignored"),
    }
}

/// `1 failed, 11 passed, 2 skipped in 3.21s`, perhaps with `(0:01:02)` after it or `=` around it
fn pytest(line: &str) -> Counts {
    let line = line.trim_matches(['=', ' ']);
    let begins_with_count = line.starts_with(|it: char| it.is_ascii_digit());
    let took = line.rsplit_once(" in ").map_or("", |(_, rest)| rest);
    let took = took.split(' ').next().unwrap_or_default();
    let is_closing = took.strip_suffix('s').is_some_and(|it| it.parse::<f64>().is_ok());
    if !is_closing || !begins_with_count {
        return Counts::default();
    }
    Counts {
        passed: before(line, " passed") + before(line, " xfailed"),
        failed: before(line, " failed") + before(line, " error"),
        skipped: before(line, " skipped"),
    }
}

/// `# pass 12`, or `ℹ pass 12` on a terminal
fn node(line: &str) -> Counts {
    let mut words = line.split_whitespace();
    let (Some("#" | "ℹ"), Some(name), Some(count), None) =
        (words.next(), words.next(), words.next(), words.next())
    else {
        return Counts::default();
    };
    let count = count.parse().unwrap_or(0);
    match name {
        "pass" => Counts { passed: count, ..Counts::default() },
        "fail" | "cancelled" => Counts { failed: count, ..Counts::default() },
        "skipped" => Counts { skipped: count, ..Counts::default() },
        _ => Counts::default(),
    }
}

/// `--- PASS: TestName (0.00s)`, one line per test
fn go(line: &str) -> Counts {
    let is = |prefix| u64::from(line.starts_with(prefix));
    Counts { passed: is("--- PASS:"), failed: is("--- FAIL:"), skipped: is("--- SKIP:") }
}

/// `ok NAME`, `not ok NAME` or `skip NAME`, one line per claim
fn lines(line: &str) -> Counts {
    let is = |prefix| u64::from(line.starts_with(prefix));
    Counts { passed: is("ok "), failed: is("not ok "), skipped: is("skip ") }
}

/// `Tests run: 5, Failures: 0, Errors: 0, Skipped: 1`; lines per class name the class and are left out
fn surefire(line: &str) -> Counts {
    let Some((_, rest)) = line.split_once("Tests run: ") else {
        return Counts::default();
    };
    if rest.contains("Time elapsed") {
        return Counts::default();
    }
    let numbers: Vec<u64> = rest
        .split(|it: char| !it.is_ascii_digit())
        .filter(|it| !it.is_empty())
        .filter_map(|it| it.parse().ok())
        .collect();
    let [run, failures, errors, skipped, ..] = numbers[..] else {
        return Counts::default();
    };
    Counts {
        passed: run.saturating_sub(failures + errors + skipped),
        failed: failures + errors,
        skipped,
    }
}

/// The number right before `word`, 0 if there is none.
fn before(text: &str, word: &str) -> u64 {
    let Some((head, _)) = text.split_once(word) else {
        return 0;
    };
    let digits = head.rsplit(|it: char| !it.is_ascii_digit()).next().unwrap_or_default();
    digits.parse().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closing_lines_are_counted() {
        #[rustfmt::skip]
        let table = [
            (Runner::Cargo, "test result: ok. 12 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out", (12, 0, 1)),
            (Runner::Cargo, "test keys::tests::one ... ok", (0, 0, 0)),
            (Runner::Pytest, "12 passed in 3.21s", (12, 0, 0)),
            (Runner::Pytest, "4 failed, 740 passed, 2 skipped in 115.18s (0:01:55)", (740, 4, 2)),
            (Runner::Pytest, "2 failed, 11 passed, 1 skipped in 60.00s", (11, 2, 1)),
            (Runner::Pytest, "==== 1 failed, 3 passed, 1 error in 2.0s ====", (3, 2, 0)),
            (Runner::Pytest, "the answer came in 3 tries", (0, 0, 0)),
            (Runner::Node, "# pass 7", (7, 0, 0)),
            (Runner::Node, "ℹ fail 2", (0, 2, 0)),
            (Runner::Node, "# tests 9", (0, 0, 0)),
            (Runner::Go, "--- PASS: TestItems (0.10s)", (1, 0, 0)),
            (Runner::Go, "    --- FAIL: TestItems/create (0.10s)", (0, 1, 0)),
            (Runner::Lines, "ok a claim", (1, 0, 0)),
            (Runner::Lines, "not ok a claim", (0, 1, 0)),
            (Runner::Lines, "okay, said nobody", (0, 0, 0)),
            (Runner::Surefire, "[INFO] Tests run: 5, Failures: 1, Errors: 1, Skipped: 1", (2, 2, 1)),
            (Runner::Surefire, "Tests run: 5, Failures: 0, Errors: 0, Skipped: 0, Time elapsed: 1 s -- in A", (0, 0, 0)),
        ];
        for (runner, line, (passed, failed, skipped)) in table {
            assert_eq!(runner.count(line), Counts { passed, failed, skipped }, "{line}");
        }
    }

    #[test]
    fn our_closing_line_has_the_form_that_ci_reads() {
        let counts = Counts { passed: 3, failed: 0, skipped: 1 };
        assert_eq!(counts.to_string(), "3 passed, 0 failed, 1 skipped");
    }
}
