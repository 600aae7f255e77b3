//! Dates and times: texts `YYYY-MM-DDThh:mm:ss.fffffffZ`, computed in ticks of 100 ns since 1970.

use chrono::{Datelike, Months, NaiveDate, NaiveDateTime, TimeDelta, Timelike};

use super::Call;
use crate::value::{Datum, Maybe, integer, text};

const TICKS_PER_SECOND: i64 = 10_000_000;
const TICKS_PER_MS: i64 = 10_000;

/// 1601-01-01, the earliest origin of DATETIMEBIN.
const ORIGIN_TICKS_MIN: i64 = -116_444_736_000_000_000;

/// A moment in ticks since 1970. Invariant: within the years 1 to 9999.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) struct Moment(i64);

impl Moment {
    fn from_ticks(ticks: i64) -> Option<Moment> {
        let moment = Moment(ticks);
        (1..=9999).contains(&moment.date_time()?.year()).then_some(moment)
    }

    fn from_date_time(date_time: NaiveDateTime) -> Option<Moment> {
        let utc = date_time.and_utc();
        let ticks = utc.timestamp().checked_mul(TICKS_PER_SECOND)?;
        Moment::from_ticks(ticks.checked_add(i64::from(utc.timestamp_subsec_nanos() / 100))?)
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
            _ => return None,
        })
    }

    /// Returns the length as ticks, in hundredths of a tick so that a nanosecond is exact.
    fn nanoseconds(self) -> Option<i128> {
        Some(match self {
            Part::Year | Part::Month => return None,
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

/// Reads `YYYY-MM-DD[Z]` or `YYYY-MM-DD(T| )hh:mm:ss[.f{1..7}][Z]`.
pub(super) fn parse(source: &str) -> Option<Moment> {
    let body = source.strip_suffix('Z').unwrap_or(source);
    if !body.is_ascii() {
        return None;
    }
    let date = body.get(..10)?;
    let date = NaiveDate::from_ymd_opt(
        i32::try_from(digits(date.get(..4)?)?).ok()?,
        dash_digits(date.get(4..7)?)?,
        dash_digits(date.get(7..10)?)?,
    )?;
    let rest = body.get(10..)?;
    if rest.is_empty() {
        return Moment::from_date_time(date.and_hms_opt(0, 0, 0)?);
    }
    let time = rest.strip_prefix(['T', ' '])?;
    let clock = time.get(..8)?;
    if clock.get(2..3) != Some(":") || clock.get(5..6) != Some(":") {
        return None;
    }
    let (hour, minute, second) =
        (digits(clock.get(..2)?)?, digits(clock.get(3..5)?)?, digits(clock.get(6..8)?)?);
    let fraction = match time.get(8..)? {
        "" => 0,
        fraction => fraction_nanos(fraction.strip_prefix('.')?)?,
    };
    Moment::from_date_time(date.and_hms_nano_opt(hour, minute, second, fraction)?)
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

fn moment_at(arguments: &[Maybe<'_>], index: usize) -> Option<Moment> {
    parse(arguments.get(index)?.as_ref()?.as_text()?)
}

fn part_at(arguments: &[Maybe<'_>], index: usize) -> Option<Part> {
    Part::parse(arguments.get(index)?.as_ref()?.as_text()?)
}

fn integer_at(arguments: &[Maybe<'_>], index: usize) -> Option<i64> {
    arguments.get(index)?.as_ref()?.as_integer()
}

fn moment_text<'e>(moment: Moment) -> Maybe<'e> {
    text(moment.to_text()?)
}

fn moved(moment: Moment, part: Part, count: i64) -> Option<Moment> {
    let months = match part {
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
            let ticks = i64::try_from(nanoseconds.div_euclid(100)).ok()?;
            return Moment::from_ticks(moment.0.checked_add(ticks)?);
        }
    };
    let date_time = moment.date_time()?;
    let n_months = Months::new(u32::try_from(months.unsigned_abs()).ok()?);
    Moment::from_date_time(if months < 0 {
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
fn boundaries(moment: Moment, part: Part) -> Option<i128> {
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
    })
}

pub(super) fn diff<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let part = part_at(arguments, 0)?;
    let start = boundaries(moment_at(arguments, 1)?, part)?;
    let end = boundaries(moment_at(arguments, 2)?, part)?;
    integer(i64::try_from(end - start).ok()?)
}

fn part_of<'e>(moment: Moment, part: Part) -> Maybe<'e> {
    let date_time = moment.date_time()?;
    let nanosecond = date_time.nanosecond();
    integer(i64::from(match part {
        Part::Year => return integer(i64::from(date_time.year())),
        Part::Month => date_time.month(),
        Part::Day => date_time.day(),
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
    let [year, month, day, hour, minute, second, ticks] = parts;
    let small = |part: i64| u32::try_from(part).ok();
    let date = NaiveDate::from_ymd_opt(i32::try_from(year).ok()?, small(month)?, small(day)?)?;
    if !(0..TICKS_PER_SECOND).contains(&ticks) {
        return None;
    }
    let time = date.and_hms_opt(small(hour)?, small(minute)?, small(second)?)?;
    moment_text(Moment::from_date_time(time + TimeDelta::nanoseconds(ticks * 100))?)
}

pub(super) fn bin<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let moment = moment_at(arguments, 0)?;
    let part = part_at(arguments, 1)?.nanoseconds()?;
    let size = if arguments.len() > 2 { integer_at(arguments, 2)? } else { 1 };
    let origin = if arguments.len() > 3 { moment_at(arguments, 3)?.0 } else { 0 };
    if size <= 0 || origin < ORIGIN_TICKS_MIN {
        return None;
    }
    let width = part.checked_mul(i128::from(size))?;
    let elapsed = i128::from(moment.0 - origin) * 100;
    let start = elapsed.div_euclid(width) * width;
    let ticks = i64::try_from(start.div_euclid(100)).ok()?;
    moment_text(Moment::from_ticks(origin.checked_add(ticks)?)?)
}

/// Prints by a pattern of runs: `yyyy`, `MM`, `dd`, `HH`, `hh`, `mm`, `ss`, `f`, `F`, `tt`; a backslash
/// escapes, everything else stands for itself.
pub(super) fn format_date<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let moment = moment_at(arguments, 0)?;
    let date_time = moment.date_time()?;
    let mut pattern = arguments.get(1)?.as_ref()?.as_text()?.chars().peekable();
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
    text(printed)
}

fn push_run(printed: &mut String, moment: Moment, at: NaiveDateTime, c: char, length: usize) {
    let ticks = moment.0.rem_euclid(TICKS_PER_SECOND);
    let padded = |number: u32| format!("{number:0width$}", width = length.min(2));
    let run = match c {
        'y' if length == 2 => format!("{:02}", at.year() % 100),
        'y' => format!("{:0width$}", at.year(), width = length.min(4)),
        'M' if length >= 4 => at.format("%B").to_string(),
        'M' if length == 3 => at.format("%b").to_string(),
        'M' => padded(at.month()),
        'd' if length >= 4 => at.format("%A").to_string(),
        'd' if length == 3 => at.format("%a").to_string(),
        'd' => padded(at.day()),
        'H' => padded(at.hour()),
        'h' => padded(at.hour12().1),
        'm' => padded(at.minute()),
        's' => padded(at.second()),
        't' if length == 1 => at.format("%p").to_string().chars().take(1).collect(),
        't' => at.format("%p").to_string(),
        'f' => format!("{ticks:07}").chars().take(length).collect(),
        'F' => {
            let digits: String = format!("{ticks:07}").chars().take(length).collect();
            digits.trim_end_matches('0').to_string()
        }
        other => other.to_string().repeat(length),
    };
    printed.push_str(&run);
}

pub(super) fn to_ticks<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    integer(moment_at(arguments, 0)?.0)
}

pub(super) fn from_ticks<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    moment_text(Moment::from_ticks(integer_at(arguments, 0)?)?)
}

pub(super) fn to_timestamp<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    integer(moment_at(arguments, 0)?.0.div_euclid(TICKS_PER_MS))
}

pub(super) fn from_timestamp<'e>(_: &Call<'_>, arguments: &mut [Maybe<'e>]) -> Maybe<'e> {
    let ticks = integer_at(arguments, 0)?.checked_mul(TICKS_PER_MS)?;
    moment_text(Moment::from_ticks(ticks)?)
}

fn now(call: &Call<'_>) -> Option<Moment> {
    let now_ms = i64::try_from(call.context.env.now_ms()).ok()?;
    Moment::from_ticks(now_ms.checked_mul(TICKS_PER_MS)?)
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
