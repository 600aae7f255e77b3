//! The printed result: one row per measurement.

use std::fmt;

#[derive(Debug, Default)]
pub(crate) struct Table {
    rows: Vec<[String; 5]>,
}

impl Table {
    pub(crate) fn new() -> Table {
        let mut table = Table::default();
        table.add("measure", "orrery", "baseline", "ratio", "goal");
        table
    }

    pub(crate) fn add(
        &mut self,
        measure: impl Into<String>,
        orrery: impl Into<String>,
        baseline: impl Into<String>,
        ratio: impl Into<String>,
        goal: impl Into<String>,
    ) {
        let row = [measure.into(), orrery.into(), baseline.into(), ratio.into(), goal.into()];
        if !self.rows.is_empty() {
            println!("{}", row.join(" | "));
        }
        self.rows.push(row);
    }
}

impl fmt::Display for Table {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = |column: usize| {
            self.rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0)
        };
        let widths: Vec<usize> = (0..5).map(width).collect();
        for (index, row) in self.rows.iter().enumerate() {
            let cells: Vec<String> =
                row.iter().zip(&widths).map(|(cell, width)| format!("{cell:<width$}")).collect();
            writeln!(formatter, "| {} |", cells.join(" | "))?;
            if index == 0 {
                let rules: Vec<String> = widths.iter().map(|width| "-".repeat(*width)).collect();
                writeln!(formatter, "| {} |", rules.join(" | "))?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let mut table = Table::new();
        table.add("reads/s", "10", "20", "0.50", "≥ 0.5");
        let text = table.to_string();
        let lengths: Vec<usize> = text.lines().map(|it| it.chars().count()).collect();
        assert!(lengths.iter().all(|it| *it == lengths[0]), "{text}");
    }
}
