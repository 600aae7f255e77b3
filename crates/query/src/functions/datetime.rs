//! Dates and times: texts `YYYY-MM-DDThh:mm:ss.fffffffZ`, computed in ticks of 100 ns since 1970.

use chrono::{Datelike, Months, NaiveDate, NaiveDateTime, NaiveTime, TimeDelta, Timelike};

use super::Call;
use crate::value::{Datum, Maybe, integer, text};

const TICKS_PER_SECOND: i64 = 10_000_000;
const TICKS_PER_MS: i64 = 10_000;

/// The years of the service's calendar.
const YEARS: std::ops::RangeInclusive<i32> = 1601..=9999;

/// A moment in ticks since 1970. Invariant: within the years of the calendar.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Ticks(i64);

impl Ticks {
    fn from_ticks(ticks: i64) -> Option<Ticks> {
        let moment = Ticks(ticks);
        YEARS.contains(&moment.date_time()?.year()).then_some(moment)
    }

    fn from_date_time(date_time: NaiveDateTime) -> Option<Ticks> {
        let utc = date_time.and_utc();
        let ticks = utc.timestamp().checked_mul(TICKS_PER_SECOND)?;
        Ticks::from_ticks(ticks.checked_add(i64::from(utc.timestamp_subsec_nanos() / 100))?)
    }

    fn date_time(self) -> Option<NaiveDateTime> {
        let seconds = self.0.div_euclid(TICKS_PER_SECOND);
        let nanos = u32::try_from(self.0.rem_euclid(TICKS_PER_SECOND) * 100).ok()?;
        Some(chrono::DateTime::from_timestamp(seconds, nanos)?.naive_utc())
    }

    fn to_text(self) -> Option<String> {
        let moment = self.date_time()?;
        let seconds = moment.format("%Y-%m-%dT%H:%M:%S");
        Some(format!("{seconds}.{:07}Z", self.0.rem_euclid(TICKS_PER_SECOND)))
    }
}

/// The parts a date can be measured in.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
enum Part {
    Year,
    Month,
    Day,
    Hour,
    Minute,
    Second,
    Millisecond,
    Microsecond,
    Nanosecond,
    /// Of DATETIMEPART only: 0 is Sunday.
    DayOfWeek,
}

impl Part {
    fn parse(name: &str) -> Option<Part> {
        Some(match name.to_ascii_lowercase().as_str() {
            "year" | "yyyy" | "yy" => Part::Year,
            "month" | "mm" | "m" => Part::Month,
            "day" | "dd" | "d" => Part::Day,
            "hour" | "hh" => Part::Hour,
            "minute" | "mi" | "n" => Part::Minute,
            "second" | "ss" | "s" => Part::Second,
            "millisecond" | "ms" => Part::Millisecond,
            "microsecond" | "mcs" => Part::Microsecond,
            "nanosecond" | "ns" => Part::Nanosecond,
            "weekday" | "dw" => Part::DayOfWeek,
            _ => return None,
        })
    }

    /// Returns the length as ticks, in hundredths of a tick so that a nanosecond is exact.
    fn nanoseconds(self) -> Option<i128> {
        Some(match self {
            Part::Year | Part::Month | Part::DayOfWeek => return None,
            Part::Day => 86_400_000_000_000,
            Part::Hour => 3_600_000_000_000,
            Part::Minute => 60_000_000_000,
            Part::Second => 1_000_000_000,
            Part::Millisecond => 1_000_000,
            Part::Microsecond => 1_000,
            Part::Nanosecond => 1,
        })
    }
}

/// Reads `YYYY-MM-DD` or `YYYY-MM-DD(T| )hh:mm:ss[.f{1..7}]`, then nothing, `Z` or an offset from UTC.
pub(super) fn parse(source: &str) -> Option<Ticks> {
    if !source.is_ascii() {
        return None;
    }
    let (date, rest) = source.split_at_checked(10)?;
    let date = NaiveDate::from_ymd_opt(
        i32::try_from(digits(date.get(..4)?)?).ok()?,
        dash_digits(date.get(4..7)?)?,
        dash_digits(date.get(7..10)?)?,
    )?;
    let (time, zone) = match rest.strip_prefix(['T', ' ']).and_then(|time| time.split_at_checked(8))
    {
        Some((clock, rest)) if clock.starts_with(|first: char| first.is_ascii_digit()) => {
            let (fraction, zone) = split_fraction(rest)?;
            (date.and_time(parse_clock(clock, fraction)?), zone)
        }
        _ => (date.and_hms_opt(0, 0, 0)?, rest),
    };
    let local = Ticks::from_date_time(time)?;
    match zone {
        "" | "Z" => Some(local),
        zone => Ticks::from_ticks(local.0.checked_sub(offset_ticks(zone)?)?),
    }
}

/// Reads `hh:mm:ss`.
fn parse_clock(clock: &str, nanos: u32) -> Option<NaiveTime> {
    if clock.get(2..3) != Some(":") || clock.get(5..6) != Some(":") {
        return None;
    }
    let (hour, minute, second) =
        (digits(clock.get(..2)?)?, digits(clock.get(3..5)?)?, digits(clock.get(6..8)?)?);
    NaiveTime::from_hms_nano_opt(hour, minute, second, nanos)
}

/// Splits the fraction of a second, in nanoseconds, from what follows it.
fn split_fraction(source: &str) -> Option<(u32, &str)> {
    let Some(fraction) = source.strip_prefix('.') else { return Some((0, source)) };
    let end = fraction.find(|c: char| !c.is_ascii_digit()).unwrap_or(fraction.len());
    let (digits, rest) = fraction.split_at_checked(end)?;
    Some((fraction_nanos(digits)?, rest))
}

/// Reads `[ ](+|-)hh[[:]mm]`, 14 hours at most.
fn offset_ticks(zone: &str) -> Option<i64> {
    const MINUTES_MAX: i64 = 14 * 60;
    let zone = zone.strip_prefix(' ').unwrap_or(zone);
    let (sign, zone) = match zone.strip_prefix('-') {
        Some(zone) => (-1, zone),
        None => (1, zone.strip_prefix('+')?),
    };
    let (hours, minutes) = zone.split_at_checked(2)?;
    let minutes = minutes.strip_prefix(':').unwrap_or(minutes);
    let minutes = match (minutes.len(), zone.len()) {
        (_, 2) => 0,
        (2, _) => digits(minutes)?,
        _ => return None,
    };
    let total = i64::from(digits(hours)?) * 60 + i64::from(minutes);
    (minutes < 60 && total <= MINUTES_MAX).then_some(sign * total * 60 * TICKS_PER_SECOND)
}

fn digits(source: &str) -> Option<u32> {
    let all_digits = !source.is_empty() && source.bytes().all(|byte| byte.is_ascii_digit());
    if all_digits { source.parse().ok() } else { None }
}

fn dash_digits(source: &str) -> Option<u32> {
    digits(source.strip_prefix('-')?)
}

fn fraction_nanos(source: &str) -> Option<u32> {
    if source.len() > 7 {
        return None;
    }
    digits(source)?;
    format!("{source:0<9}").parse().ok()
}

fn moment_at(arguments: &[Maybe<'_>], index: usize) -> Option<Ticks> {
    parse(arguments.get(index)?.as_ref()?.as_text()?)
}

fn part_at(arguments: &[Maybe<'_>], index: usize) -> Option<Part> {
    Part::parse(arguments.get(index)?.as_ref()?.as_text()?)
}

fn integer_at(arguments: &[Maybe<'_>], index: usize) -> Option<i64> {
    arguments.get(index)?.as_ref()?.as_integer()
}

fn moment_text<'e>(moment: Ticks) -> Maybe<'e> {
    text(moment.to_text()?)
}

fn moved(moment: Ticks, part: Part, count: i64) -> Option<Ticks> {
    // Wire: a count must have an opposite.
    count.checked_neg()?;
    let months = match part {
        Part::DayOfWeek => return None,
        Part::Year => count.checked_mul(12)?,
        Part::Month => count,
        Part::Day
        | Part::Hour
        | Part::Minute
        | Part::Second
        | Part::Millisecond
        | Part::Microsecond
        | Part::Nanosecond => {
            let nanoseconds = part.nanoseconds()?.checked_mul(i128::from(count))?;
            // Half a tick is rounded away from zero.
            let ticks = i64::try_from((nanoseconds + nanoseconds.signum() * 50) / 100).ok()?;
            return Ticks::from_ticks(moment.0.checked_add(ticks)?);
        }
    };
    let date_time = moment.date_time()?;
    let n_months = Months::new(u32::try_from(months.unsigned_abs()).ok()?);
    Ticks::from_date_time(if months < 0 {
        date_time.checked_sub_months(n_months)?
    } else {
        date_time.checked_add_months(n_months)?
    })
}

pub(super) fn add<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let (part, count) = (part_at(arguments, 0)?, integer_at(arguments, 1)?);
    moment_text(moved(moment_at(arguments, 2)?, part, count)?)
}

/// Returns the number of whole parts since a common origin.
fn boundaries(moment: Ticks, part: Part) -> Option<i128> {
    let date_time = moment.date_time()?;
    let years = i128::from(date_time.year());
    Some(match part {
        Part::Year => years,
        Part::Month => years * 12 + i128::from(date_time.month0()),
        Part::Day
        | Part::Hour
        | Part::Minute
        | Part::Second
        | Part::Millisecond
        | Part::Microsecond
        | Part::Nanosecond => (i128::from(moment.0) * 100).div_euclid(part.nanoseconds()?),
        Part::DayOfWeek => return None,
    })
}

pub(super) fn diff<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let part = part_at(arguments, 0)?;
    let start = boundaries(moment_at(arguments, 1)?, part)?;
    let end = boundaries(moment_at(arguments, 2)?, part)?;
    integer(low_bits(end - start))
}

/// Wire: a difference that is too large wraps around.
#[expect(clippy::cast_possible_truncation, reason = "the low bits are what is wanted")]
fn low_bits(wide: i128) -> i64 {
    wide as i64
}

fn part_of<'e>(moment: Ticks, part: Part) -> Maybe<'e> {
    let date_time = moment.date_time()?;
    let nanosecond = date_time.nanosecond();
    integer(i64::from(match part {
        Part::Year => return integer(i64::from(date_time.year())),
        Part::Month => date_time.month(),
        Part::Day => date_time.day(),
        Part::DayOfWeek => date_time.weekday().num_days_from_sunday(),
        Part::Hour => date_time.hour(),
        Part::Minute => date_time.minute(),
        Part::Second => date_time.second(),
        Part::Millisecond => nanosecond / 1_000_000,
        Part::Microsecond => nanosecond / 1_000,
        Part::Nanosecond => nanosecond,
    }))
}

pub(super) fn part<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    part_of(moment_at(arguments, 1)?, part_at(arguments, 0)?)
}

pub(super) fn year<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    part_of(moment_at(arguments, 0)?, Part::Year)
}

pub(super) fn month<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    part_of(moment_at(arguments, 0)?, Part::Month)
}

pub(super) fn day<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    part_of(moment_at(arguments, 0)?, Part::Day)
}

pub(super) fn from_parts<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let mut parts = [1, 1, 1, 0, 0, 0, 0_i64];
    for (index, part) in parts.iter_mut().enumerate().take(arguments.len()) {
        *part = integer_at(arguments, index)?;
    }
    let [year, month, day, hour, minute, second, fraction] = parts;
    let small = |part: i64| u32::try_from(low_half(part)).ok();
    let date = NaiveDate::from_ymd_opt(low_half(year), small(month)?, small(day)?)?;
    let time = date.and_hms_opt(small(hour)?, small(minute)?, small(second)?)?;
    moment_text(Ticks::from_date_time(
        time + TimeDelta::nanoseconds(leading_ticks(fraction)? * 100),
    )?)
}

/// Wire: a part is an integer of 32 bits; what is larger wraps around.
#[expect(clippy::cast_possible_truncation, reason = "the low bits are what is wanted")]
fn low_half(part: i64) -> i32 {
    part as i32
}

/// Wire: of a fraction with more than seven digits the first seven count.
fn leading_ticks(fraction: i64) -> Option<i64> {
    if fraction < 0 {
        return None;
    }
    let mut ticks = fraction;
    while ticks >= TICKS_PER_SECOND {
        ticks /= 10;
    }
    Some(ticks)
}

pub(super) fn bin<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let moment = moment_at(arguments, 0)?;
    let part = part_at(arguments, 1)?.nanoseconds()?;
    let origin = if arguments.len() > 3 { moment_at(arguments, 3)? } else { Ticks(0) };
    let elapsed = moment.0.checked_sub(origin.0)?;
    let start = match arguments.get(2) {
        None => bin_start(elapsed, part, 1)?,
        Some(size) => {
            let size = size.as_ref()?;
            match (size.as_f64()? > 0.0, size.kept_integer()) {
                (false, _) => return None,
                (true, Some(size)) => bin_start(elapsed, part, size)?,
                (true, None) => fraction_start(elapsed, part, size.as_f64()?)?,
            }
        }
    };
    // Wire: where a bin starts at the given origin, that is the answer as it was given.
    if start == 0 && arguments.len() > 3 && elapsed == 0 {
        return arguments.get_mut(3)?.take();
    }
    moment_text(Ticks::from_ticks(origin.0.checked_add(start)?)?)
}

/// Returns where a bin of so many parts starts, in ticks. The width wraps around where 64 bits end, as that of the
/// service does, and is cut to whole ticks.
fn bin_start(elapsed: i64, nanoseconds: i128, size: i64) -> Option<i64> {
    let width = match i64::try_from(nanoseconds / 100).ok()? {
        0 => size / 100,
        ticks => ticks.wrapping_mul(size),
    };
    elapsed.checked_sub(elapsed.checked_rem_euclid(width)?)
}

/// As [`bin_start`], for a number of parts that is no integer: computed with doubles.
#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    reason = "as the service computes it; what is out of range is undefined later"
)]
fn fraction_start(elapsed: i64, nanoseconds: i128, size: f64) -> Option<i64> {
    const END: f64 = 9_223_372_036_854_775_808.0;
    if nanoseconds < 100 {
        return bin_start(elapsed, nanoseconds, size as i64);
    }
    let width = nanoseconds as f64 / 100.0 * size;
    if !width.is_finite() {
        return None;
    }
    let n_bins = (elapsed as f64 / width).floor();
    // Wire: a number of bins that no integer of 64 bits reaches is taken for the least one.
    let n_bins = if n_bins.abs() < END { n_bins } else { -END };
    Some((n_bins * width) as i64)
}

pub(super) fn format_date<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    formatted(moment_at(arguments, 0)?, arguments.get(1)?)
}

/// Prints by a pattern of runs: `yyyy`, `MM`, `dd`, `HH`, `hh`, `mm`, `ss`, `f`, `F`, `tt`; a backslash
/// escapes, everything else stands for itself. What prints nothing is undefined.
fn formatted<'e>(moment: Ticks, pattern: &Maybe<'_>) -> Maybe<'e> {
    let date_time = moment.date_time()?;
    let mut pattern = pattern.as_ref()?.as_text()?.chars().peekable();
    let mut printed = String::new();
    while let Some(c) = pattern.next() {
        if c == '\\' {
            printed.extend(pattern.next());
            continue;
        }
        let mut length = 1;
        while pattern.next_if_eq(&c).is_some() {
            length += 1;
        }
        push_run(&mut printed, moment, date_time, c, length);
    }
    if printed.is_empty() { None } else { text(printed) }
}

fn push_run(printed: &mut String, moment: Ticks, at: NaiveDateTime, c: char, length: usize) {
    let fraction = || {
        let mut fraction = format!("{:07}", moment.0.rem_euclid(TICKS_PER_SECOND));
        fraction.truncate(length);
        fraction
    };
    let padded = |number: u32| format!("{number:0width$}", width = length.min(2));
    let run = match c {
        'y' if length < 4 => padded(at.year().unsigned_abs() % 100),
        'y' => format!("{:04}", at.year()),
        'M' => padded(at.month()),
        'd' => padded(at.day()),
        'H' => padded(at.hour()),
        'h' => padded(at.hour12().1),
        'm' => padded(at.minute()),
        's' => padded(at.second()),
        't' if length > 1 => at.format("%p").to_string(),
        'f' => fraction(),
        // Left out when it would print zeros only.
        'F' => {
            Some(fraction()).filter(|fraction| fraction.contains(|c| c != '0')).unwrap_or_default()
        }
        other => other.to_string().repeat(length),
    };
    printed.push_str(&run);
}

pub(super) fn to_ticks<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    integer(moment_at(arguments, 0)?.0)
}

pub(super) fn from_ticks<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    of_moment(Ticks::from_ticks(integer_at(arguments, 0)?)?, arguments)
}

/// Prints by the pattern that the second argument is, if there is one.
fn of_moment<'e>(moment: Ticks, arguments: &[Maybe<'_>]) -> Maybe<'e> {
    match arguments.get(1) {
        Some(pattern) => formatted(moment, pattern),
        None => moment_text(moment),
    }
}

pub(super) fn to_timestamp<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    integer(moment_at(arguments, 0)?.0 / TICKS_PER_MS)
}

pub(super) fn from_timestamp<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let ticks = integer_at(arguments, 0)?.checked_mul(TICKS_PER_MS)?;
    of_moment(Ticks::from_ticks(ticks)?, arguments)
}

fn now(call: &Call<'_>) -> Option<Ticks> {
    let now_ms = i64::try_from(call.context.env.now_ms()).ok()?;
    Ticks::from_ticks(now_ms.checked_mul(TICKS_PER_MS)?)
}

pub(super) fn now_text<'e>(call: &Call<'_>, _: &mut [Maybe<'e>]) -> Maybe<'e> {
    moment_text(now(call)?)
}

pub(super) fn now_ticks<'e>(call: &Call<'_>, _: &mut [Maybe<'e>]) -> Maybe<'e> {
    integer(now(call)?.0)
}

pub(super) fn now_timestamp<'e>(call: &Call<'_>, _: &mut [Maybe<'e>]) -> Maybe<'e> {
    integer(now(call)?.0.div_euclid(TICKS_PER_MS))
}

pub(super) fn now_plus<'e>(call: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    match arguments {
        [] => moment_text(now(call)?),
        [Some(part), Some(count)] => shifted_now(call, part, count.as_integer()?),
        _ => None,
    }
}

pub(super) fn ago<'e>(call: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let [Some(part), Some(count)] = arguments else { return None };
    shifted_now(call, part, count.as_integer()?.checked_neg()?)
}

fn shifted_now<'e>(call: &Call<'_>, part: &Datum<'_>, count: i64) -> Maybe<'e> {
    moment_text(moved(now(call)?, Part::parse(part.as_text()?)?, count)?)
}
