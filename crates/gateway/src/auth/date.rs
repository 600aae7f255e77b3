//! The date of a signature: reading it, and whether it is near enough to now.

use std::time::{Duration, UNIX_EPOCH};

use crate::{error::Error, options::DateWindow};

/// Reads an RFC 1123 date (or the two older forms of HTTP) as seconds since the epoch.
pub(crate) fn parse(text: &str) -> Option<u64> {
    // Wire: the Go SDK writes `UTC` where HTTP has `GMT` (If-Modified-Since of a change feed).
    let time = match text.strip_suffix("UTC") {
        Some(start) => httpdate::parse_http_date(&format!("{start}GMT")),
        None => httpdate::parse_http_date(text),
    };
    let time = time.or_else(|_| httpdate::parse_http_date(&spelled(text))).ok()?;
    time.duration_since(UNIX_EPOCH).ok().map(|since| since.as_secs())
}

/// The date as HTTP spells it. Wire: clients sign it in lower case, and some send it so.
fn spelled(text: &str) -> String {
    let mut spelled = text.to_ascii_lowercase();
    for (name, start) in [("utc", 3), ("gmt", 3)] {
        if let Some(rest) =
            spelled.len().checked_sub(start).filter(|at| spelled.is_char_boundary(*at))
            && spelled.ends_with(name)
        {
            spelled.replace_range(rest.., "GMT");
        }
    }
    let mut is_start = true;
    let word = |character: char| {
        let shown = if is_start { character.to_ascii_uppercase() } else { character };
        is_start = !character.is_ascii_alphabetic();
        shown
    };
    spelled.chars().map(word).collect()
}

/// Writes seconds since the epoch in the RFC 1123 form.
pub(crate) fn format(seconds: u64) -> String {
    // Limit: the formatter knows years up to 9999.
    const SECONDS_MAX: u64 = 253_402_300_799;
    httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(seconds.min(SECONDS_MAX)))
}

/// The same with milliseconds: `Tue, 14 Nov 2023 22:13:20.000 GMT`.
pub(crate) fn format_ms(ms: u64) -> String {
    let text = format(ms / 1000);
    let date = text.trim_end_matches(" GMT");
    format!("{date}.{:03} GMT", ms % 1000)
}

/// Refuses signatures from too long ago or too far ahead.
pub(super) fn check(signed: u64, window: DateWindow, now: u64) -> Result<(), Error> {
    let start = signed.saturating_sub(window.skew.as_secs());
    let expiry =
        signed.saturating_add(window.lifetime.as_secs()).saturating_add(window.skew.as_secs());
    if (start..=expiry).contains(&now) {
        return Ok(());
    }
    Err(Error::OutsideDateWindow {
        start: format(signed),
        expiry: format(signed.saturating_add(window.lifetime.as_secs())),
        now: format(now),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_read_in_any_letter_case() {
        let written = "Tue, 14 Nov 2023 22:13:20 GMT";
        for text in [
            written,
            &written.to_lowercase(),
            &written.to_uppercase(),
            "tue, 14 nov 2023 22:13:20 utc",
        ] {
            assert_eq!(parse(text), Some(1_700_000_000), "{text}");
        }
        for text in ["", "g", "é", "tue, 14 nov 2023", "x gmt"] {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    #[test]
    fn the_window_is_widened_by_the_skew_on_both_sides() {
        let window =
            DateWindow { lifetime: Duration::from_secs(100), skew: Duration::from_secs(10) };
        #[rustfmt::skip]
        let table = [(989, false), (990, true), (1000, true), (1110, true), (1111, false)];
        for (now, expected) in table {
            assert_eq!(check(1000, window, now).is_ok(), expected, "{now}");
        }
        assert!(check(u64::MAX, window, 5).is_err());
        assert!(check(0, window, 0).is_ok());
    }

    #[test]
    fn dates_read_back() {
        assert_eq!(parse("Tue, 01 Nov 1994 08:12:31 GMT"), Some(783_677_551));
        assert_eq!(parse("Tue, 01 Nov 1994 08:12:31 UTC"), Some(783_677_551));
        assert_eq!(format(783_677_551), "Tue, 01 Nov 1994 08:12:31 GMT");
        for bad in ["", "now", "Tue, 99 Nov 1994 08:12:31 GMT", "1994-11-01"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
        assert!(!format(u64::MAX).is_empty());
    }
}
