//! Sizes as people write them: `4096`, `100KB`, `20GB`.

/// Reads a size in bytes; a kilobyte has 1024.
pub(crate) fn parse(text: &str) -> Result<u64, String> {
    let upper = text.trim().to_ascii_uppercase();
    let digits = upper.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let shift = match upper.get(digits.len()..).unwrap_or_default() {
        "" | "B" => 0,
        "K" | "KB" | "KIB" => 10,
        "M" | "MB" | "MIB" => 20,
        "G" | "GB" | "GIB" => 30,
        "T" | "TB" | "TIB" => 40,
        unit => return Err(format!("unknown unit {unit}; use KB, MB, GB or TB")),
    };
    let number: u64 =
        digits.trim().parse().map_err(|_| format!("{text:?} is no size, like 100KB"))?;
    number.checked_mul(1 << shift).ok_or_else(|| format!("{text} is too large"))
}

/// Writes a size for people: three figures and a unit.
pub(crate) fn show(bytes: u64) -> String {
    const UNITS: [&str; 5] = ["B", "KB", "MB", "GB", "TB"];
    #[expect(clippy::cast_precision_loss, reason = "three figures are shown")]
    let mut size = bytes as f64;
    let mut unit = 0;
    while size >= 1000.0 && unit + 1 < UNITS.len() {
        size /= 1024.0;
        unit += 1;
    }
    let decimals = if unit == 0 || size >= 100.0 {
        0
    } else if size >= 10.0 {
        1
    } else {
        2
    };
    format!("{size:.decimals$} {}", UNITS[unit])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read_with_and_without_units() {
        for (text, bytes) in
            [("4096", 4096), ("100KB", 102_400), ("1 gb", 1 << 30), ("2T", 2 << 40)]
        {
            assert_eq!(parse(text), Ok(bytes), "{text}");
        }
        for bad in ["", "KB", "1XB", "-1", "1.5GB", "99999999999TB"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_are_shown_with_three_figures() {
        for (bytes, text) in
            [(0, "0 B"), (999, "999 B"), (1024, "1.00 KB"), (52_428_800, "50.0 MB")]
        {
            assert_eq!(show(bytes), text);
        }
    }
}
