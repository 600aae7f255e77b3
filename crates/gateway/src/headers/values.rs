//! Typed readers of header values: each turns text into a type or into the 400 that the service
//! gives.

use account::{Consistency, IndexMetrics, IndexingDirective, ThroughputRequest};
use model::{Epk, EpkRange, PartitionKey, RangeId, SessionToken};

use super::{Name, RequestHeaders};
use crate::{auth::date, error::Error};

impl RequestHeaders<'_> {
    /// A switch. Wire: SDKs write `True`, `true`, `False`, `false`.
    pub(crate) fn is_on(&self, name: Name) -> Result<bool, Error> {
        match self.get(name)? {
            None => Ok(false),
            Some(text) if text.eq_ignore_ascii_case("true") => Ok(true),
            Some(text) if text.eq_ignore_ascii_case("false") => Ok(false),
            Some(text) => Err(Error::header(name.text(), text, "Expected true or false.")),
        }
    }

    /// Page size: `None` lets the server decide. Wire: 0 does, too; −1 is as much as a page may hold.
    pub(crate) fn items_max(&self) -> Result<Option<u32>, Error> {
        let Some(text) = self.get(Name::MaxItemCount)? else { return Ok(None) };
        match text.trim().parse::<i32>() {
            Ok(0) => Ok(None),
            Ok(-1) => Ok(Some(u32::MAX)),
            Ok(n) if n > 0 => Ok(u32::try_from(n).ok()),
            Ok(_) | Err(_) => Err(Error::PageSizeInvalid { value: crate::error::excerpt(text) }),
        }
    }

    pub(crate) fn continuation_kib_max(&self) -> Result<Option<u32>, Error> {
        let Some(text) = self.get(Name::ContinuationLimit)? else { return Ok(None) };
        match text.trim().parse::<u32>() {
            Ok(0) => Err(Error::ContinuationLimitSmall),
            Ok(n) => Ok(Some(n)),
            Err(_) => Err(Error::ContinuationLimitInvalid { value: crate::error::excerpt(text) }),
        }
    }

    /// How many ranges to read at once for a query that the server merges; a header of our own.
    pub(crate) fn merge(&self) -> Result<Option<usize>, Error> {
        const DEGREE_DEFAULT: usize = 4;
        match self.get(Name::Merge)? {
            None => Ok(None),
            Some(text) if text.eq_ignore_ascii_case("true") => Ok(Some(DEGREE_DEFAULT)),
            Some(text) if text.eq_ignore_ascii_case("false") => Ok(None),
            Some(text) => match text.parse() {
                Ok(degree) if degree > 0 => Ok(Some(degree)),
                Ok(_) | Err(_) => {
                    let expected = "Expected true, false, or a number above zero.";
                    Err(Error::header(Name::Merge.text(), text, expected))
                }
            },
        }
    }

    pub(crate) fn session(&self) -> Result<Option<SessionToken>, Error> {
        let Some(text) = self.get(Name::SessionToken)? else { return Ok(None) };
        Ok(Some(SessionToken::parse(text)?))
    }

    pub(crate) fn partition_key(&self) -> Result<Option<PartitionKey>, Error> {
        let Some(text) = self.get(Name::PartitionKey)? else { return Ok(None) };
        Ok(Some(PartitionKey::from_header(text)?))
    }

    /// Wire: `0`, or `containerRid,0` from clients that think in direct mode.
    pub(crate) fn range(&self) -> Result<Option<RangeId>, Error> {
        let Some(text) = self.get(Name::RangeId)? else { return Ok(None) };
        let id = text.rsplit_once(',').map_or(text, |(_, id)| id).trim();
        let expected = "Expected the id of a partition key range.";
        let invalid = || Error::header(Name::RangeId.text(), text, expected);
        RangeId::parse(id).map(Some).ok_or_else(invalid)
    }

    /// The two bounds; a missing one is open.
    pub(crate) fn epks(&self) -> Result<Option<EpkRange>, Error> {
        self.check_read_key_type()?;
        let (start, end) = (self.get_or_empty(Name::StartEpk)?, self.get_or_empty(Name::EndEpk)?);
        if start.is_none() && end.is_none() {
            return Ok(None);
        }
        let expected = "Expected an effective partition key in hexadecimal digits.";
        let parse = |name: Name, text: &str| {
            Epk::parse(text.trim_matches('"'))
                .map_err(|_| Error::header(name.text(), text, expected))
        };
        let min = start.map_or(Ok(Epk::MIN), |text| parse(Name::StartEpk, text))?;
        let max = match end {
            None | Some("") => Epk::max(),
            Some(text) => parse(Name::EndEpk, text)?,
        };
        let reversed = || {
            let expected = "The start must lie below the end.";
            Error::header(Name::StartEpk.text(), start.unwrap_or_default(), expected)
        };
        EpkRange::new(min, max).map(Some).ok_or_else(reversed)
    }

    fn check_read_key_type(&self) -> Result<(), Error> {
        match self.get(Name::ReadKeyType)? {
            None => Ok(()),
            Some(text) if text.eq_ignore_ascii_case("EffectivePartitionKeyRange") => Ok(()),
            Some(text) => {
                let expected = "Expected EffectivePartitionKeyRange.";
                Err(Error::header(Name::ReadKeyType.text(), text, expected))
            }
        }
    }

    pub(crate) fn consistency(&self) -> Result<Option<Consistency>, Error> {
        #[rustfmt::skip]
        let levels = [
            ("Strong", Consistency::Strong), ("BoundedStaleness", Consistency::BoundedStaleness),
            ("Session", Consistency::Session), ("ConsistentPrefix", Consistency::ConsistentPrefix),
            ("Eventual", Consistency::Eventual),
        ];
        let Some(text) = self.get(Name::ConsistencyLevel)? else { return Ok(None) };
        let level = levels.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
        let expected = "Expected Strong, BoundedStaleness, Session, ConsistentPrefix or Eventual.";
        let invalid = || Error::header(Name::ConsistencyLevel.text(), text, expected);
        level.map(|(_, level)| Some(*level)).ok_or_else(invalid)
    }

    pub(crate) fn throughput(&self) -> Result<Option<ThroughputRequest>, Error> {
        let manual = self.integer(Name::OfferThroughput, "Expected an integer.")?;
        let autoscale = self.get(Name::AutopilotSettings)?;
        let level = self.get(Name::OfferType)?;
        Ok(match (manual, autoscale, level) {
            (Some(_), Some(_), _) => Some(ThroughputRequest::Both),
            (Some(_), None, Some(_)) | (None, Some(_), Some(_)) => {
                Some(ThroughputRequest::LevelAndThroughput)
            }
            (Some(units), None, None) => Some(ThroughputRequest::Manual(units)),
            (None, Some(text), None) => Some(ThroughputRequest::Autoscale(text.to_owned())),
            (None, None, Some(text)) => Some(ThroughputRequest::Level(text.to_owned())),
            (None, None, None) => None,
        })
    }

    pub(crate) fn token_seconds(&self) -> Result<Option<u32>, Error> {
        let name = Name::ExpirySeconds;
        let expected = "Expected a number of seconds.";
        let Some(seconds) = self.integer(name, expected)? else { return Ok(None) };
        let invalid = |_| Error::header(name.text(), &seconds.to_string(), expected);
        u32::try_from(seconds).map(Some).map_err(invalid)
    }

    /// The API version. Wire: those before 2018-12-31 are known one by one; later ones are any date.
    pub(crate) fn version(&self) -> Result<Option<&str>, Error> {
        const KNOWN: [&str; 16] = [
            "2014-08-21",
            "2015-04-08",
            "2015-06-03",
            "2015-08-06",
            "2015-12-16",
            "2016-05-30",
            "2016-07-11",
            "2016-11-14",
            "2017-01-19",
            "2017-02-22",
            "2017-05-03",
            "2017-11-15",
            "2018-06-18",
            "2018-08-31",
            "2018-09-17",
            "2018-12-31",
        ];
        let Some(text) = self.get(Name::Version)? else { return Ok(None) };
        let is_digit = |(index, byte): (usize, u8)| match index {
            4 | 7 => byte == b'-',
            _ => byte.is_ascii_digit(),
        };
        let is_date = text.len() == 10 && text.bytes().enumerate().all(is_digit);
        let is_valid = is_date && (text > "2018-12-31" || KNOWN.contains(&text));
        if is_valid { Ok(Some(text)) } else { Err(Error::VersionInvalid) }
    }

    /// Says whether the answer is to be binary JSON; `is_feed` if it is a plain feed.
    ///
    /// Wire: one header names the form, another those that the client understands, and a mistake there means none. Feeds
    /// listen to the first only.
    pub(crate) fn wants_binary(&self, is_feed: bool) -> Result<bool, Error> {
        const BINARY: &str = "CosmosBinary";
        const FORMS: [&str; 3] = ["JsonText", BINARY, "HybridRow"];
        let is_form = |text: &str| FORMS.iter().any(|form| form.eq_ignore_ascii_case(text));
        match self.get(Name::ContentFormat)? {
            Some(text) if is_form(text) => return Ok(text.eq_ignore_ascii_case(BINARY)),
            Some(text) => {
                let expected = "Expected JsonText, CosmosBinary or HybridRow.";
                return Err(Error::header(Name::ContentFormat.text(), text, expected));
            }
            None => {}
        }
        let supported = self.get(Name::SupportedFormats)?.filter(|_| !is_feed).unwrap_or_default();
        let mut forms = supported.split(',').map(str::trim);
        let is_binary = forms.clone().any(|form| form.eq_ignore_ascii_case(BINARY));
        Ok(is_binary && forms.all(is_form))
    }

    fn integer(&self, name: Name, expected: &'static str) -> Result<Option<i64>, Error> {
        let Some(text) = self.get(name)? else { return Ok(None) };
        text.trim().parse().map(Some).map_err(|_| Error::header(name.text(), text, expected))
    }

    /// Names of triggers; commas part them.
    pub(crate) fn triggers(&self, name: Name) -> Result<Vec<String>, Error> {
        let Some(text) = self.get(name)? else { return Ok(Vec::new()) };
        let names = text.split(',').map(str::trim).filter(|name| !name.is_empty());
        Ok(names.map(str::to_owned).collect())
    }

    pub(crate) fn index_metrics(&self) -> Result<IndexMetrics, Error> {
        Ok(match (self.is_on(Name::IndexMetrics)?, self.is_on(Name::IndexMetricsV2)?) {
            (_, true) => IndexMetrics::V2,
            (true, false) => IndexMetrics::V1,
            (false, false) => IndexMetrics::No,
        })
    }

    /// `If-Modified-Since` as seconds since the epoch.
    pub(crate) fn modified_since(&self) -> Result<Option<u64>, Error> {
        let name = Name::IfModifiedSince;
        let Some(text) = self.get(name)? else { return Ok(None) };
        let expected = "Expected a date in the RFC 1123 form.";
        let invalid = || Error::header(name.text(), text, expected);
        date::parse(text).map(Some).ok_or_else(invalid)
    }

    /// Says whether the client goes on by itself where ranges have merged, and then names ranges alone.
    ///
    /// Wire: a bit mask in decimals. All SDKs set the bit for merges, and all but one name the part of the merged range that
    /// a position is for: they, and programs on them, expect plain numbers. Go does not; its API version is its own.
    pub(crate) fn follows_merges(&self) -> Result<bool, Error> {
        const NAMES_RANGES_ALONE_SINCE: &str = "2020-11-05";
        let mask = self.integer(Name::Capabilities, "Expected a bit mask as a number.")?;
        let version = self.get(Name::Version)?.unwrap_or_default();
        Ok(mask.is_some_and(|mask| mask & 1 != 0) && version >= NAMES_RANGES_ALONE_SINCE)
    }

    /// Says whether the client wants no item back. Wire: only `return=minimal` has a meaning.
    pub(crate) fn is_minimal(&self) -> Result<bool, Error> {
        let text = self.get(Name::Prefer)?.unwrap_or_default();
        Ok(text.split([',', ';']).any(|one| one.trim().eq_ignore_ascii_case("return=minimal")))
    }

    pub(crate) fn indexing(&self) -> Result<IndexingDirective, Error> {
        let name = Name::IndexingDirective;
        let Some(text) = self.get(name)? else { return Ok(IndexingDirective::Default) };
        let expected = "Expected Include, Exclude or Default.";
        indexing_directive(text).ok_or_else(|| Error::header(name.text(), text, expected))
    }

    /// Checks the headers whose value changes nothing here, so that a typing error is still seen.
    pub(crate) fn check_hints(&self) -> Result<(), Error> {
        self.one_of(Name::PriorityLevel, &["High", "Low"])?;
        self.one_of(Name::ThroughputBucket, &["1", "2", "3", "4", "5"])?;
        #[rustfmt::skip]
        self.one_of(Name::ReadConsistencyStrategy, &["Default", "Eventual", "Session", "LatestCommitted", "GlobalStrong"])?;
        self.one_of(Name::WireFormatVersion, &["2021-09-15"])?;
        self.is_on(Name::BatchOrdered)?;
        Ok(())
    }

    fn one_of(&self, name: Name, values: &[&str]) -> Result<(), Error> {
        match self.get(name)? {
            None => Ok(()),
            Some(text) if values.iter().any(|value| value.eq_ignore_ascii_case(text)) => Ok(()),
            Some(text) => {
                Err(Error::header(name.text(), text, "It is none of the values that exist."))
            }
        }
    }
}

/// Reads `Include`, `Exclude` or `Default`.
pub(crate) fn indexing_directive(text: &str) -> Option<IndexingDirective> {
    let known = [
        ("Include", IndexingDirective::Include),
        ("Exclude", IndexingDirective::Exclude),
        ("Default", IndexingDirective::Default),
    ];
    let found = known.iter().find(|(name, _)| name.eq_ignore_ascii_case(text));
    found.map(|(_, directive)| *directive)
}

#[cfg(test)]
mod tests {
    use http::{HeaderMap, HeaderValue};

    use super::*;

    fn read<T>(
        name: Name,
        value: &str,
        read: impl Fn(&RequestHeaders<'static>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        let mut map = HeaderMap::new();
        map.insert(name.text(), HeaderValue::from_str(value).unwrap());
        // Leaked, so that a plain method can be passed; a test process is short.
        read(&RequestHeaders::collect(Box::leak(Box::new(map)))?)
    }

    #[test]
    fn page_sizes_follow_the_service() {
        #[rustfmt::skip]
        let table = [("100", Some(100)), ("-1", Some(u32::MAX)), ("0", None), ("", None), ("2147483647", Some(2_147_483_647))];
        for (value, expected) in table {
            let size = read(Name::MaxItemCount, value, RequestHeaders::items_max).unwrap();
            assert_eq!(size, expected, "{value}");
        }
        for bad in ["abc", "-2", "1.5", "99999999999", "1e3"] {
            let error = read(Name::MaxItemCount, bad, RequestHeaders::items_max).unwrap_err();
            assert!(
                error.to_string().starts_with(&format!("The input PageSize {bad} is invalid."))
            );
        }
    }

    #[test]
    fn switches_are_true_or_false_in_any_case() {
        for (value, expected) in [("True", true), ("true", true), ("FALSE", false), ("", false)] {
            let is_on = read(Name::IsQuery, value, |headers| headers.is_on(Name::IsQuery));
            assert_eq!(is_on.unwrap(), expected, "{value}");
        }
        for bad in ["1", "yes", "truee"] {
            assert!(read(Name::IsQuery, bad, |headers| headers.is_on(Name::IsQuery)).is_err());
        }
    }

    #[test]
    fn range_ids_may_be_prefixed_with_the_container_rid() {
        let range = |value| read(Name::RangeId, value, RequestHeaders::range);
        assert_eq!(range("3").unwrap(), Some(RangeId(3)));
        assert_eq!(range("AQAAAJ0fgTc=,3").unwrap(), Some(RangeId(3)));
        for bad in ["x", "-1", "1,", "99999999999999"] {
            assert!(range(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn an_indexing_directive_is_one_of_three() {
        let indexing = |value| read(Name::IndexingDirective, value, RequestHeaders::indexing);
        assert_eq!(indexing("exclude").unwrap(), IndexingDirective::Exclude);
        assert_eq!(indexing("Include").unwrap(), IndexingDirective::Include);
        assert_eq!(indexing("Default").unwrap(), IndexingDirective::Default);
        assert!(indexing("Maybe").is_err());
    }

    #[test]
    fn epk_bounds_may_be_open_but_not_reversed() {
        let epks = |start: Option<&str>, end: Option<&str>| {
            let mut map = HeaderMap::new();
            for (name, value) in [(Name::StartEpk, start), (Name::EndEpk, end)] {
                if let Some(value) = value {
                    map.insert(name.text(), HeaderValue::from_str(value).unwrap());
                }
            }
            RequestHeaders::collect(&map)?.epks()
        };
        assert_eq!(epks(None, None).unwrap(), None);
        let whole = EpkRange::new(Epk::MIN, Epk::max());
        assert_eq!(epks(Some(""), Some("FF")).unwrap(), whole);
        assert_eq!(epks(Some(""), None).unwrap(), whole);
        assert!(epks(Some("1FFF"), Some("3FFF")).unwrap().is_some());
        for (start, end) in [("3FFF", "1FFF"), ("xyz", "FF"), ("1", "FF"), ("10", "10")] {
            assert!(epks(Some(start), Some(end)).is_err(), "{start}..{end}");
        }
    }

    #[test]
    fn settings_with_few_values_refuse_the_others() {
        #[rustfmt::skip]
        let table = [
            (Name::ThroughputBucket, "3", "6"), (Name::PriorityLevel, "low", "Medium"),
            (Name::ReadConsistencyStrategy, "Session", "Best"), (Name::WireFormatVersion, "2021-09-15", "2030-01-01"),
            (Name::BatchOrdered, "True", "2"),
        ];
        for (name, good, bad) in table {
            assert!(read(name, good, RequestHeaders::check_hints).is_ok(), "{name:?}");
            let error = read(name, bad, RequestHeaders::check_hints).unwrap_err().to_string();
            let words = format!("specified for the header '{}' is invalid.", name.text());
            assert!(error.contains(&words), "{error}");
        }
        let key_type = |value| read(Name::ReadKeyType, value, RequestHeaders::epks);
        assert!(key_type("EffectivePartitionKeyRange").is_ok());
        assert!(key_type("EffectivePartitionKey").is_err());
        let level = |value| read(Name::ConsistencyLevel, value, RequestHeaders::consistency);
        assert_eq!(level("eventual").unwrap(), Some(Consistency::Eventual));
        assert!(level("Loose").is_err());
    }

    #[test]
    fn versions_are_those_that_exist() {
        let is_valid = |value| read(Name::Version, value, |it| it.version().map(|_| ())).is_ok();
        for version in ["", "2014-08-21", "2017-11-15", "2018-12-31", "2020-07-15", "2031-01-01"] {
            assert!(is_valid(version), "{version}");
        }
        for version in ["2015-01-01", "2013-01-01", "abc", "2020-7-15", "2020-07-15x", "20200715"] {
            assert!(!is_valid(version), "{version}");
        }
    }

    #[test]
    fn binary_answers_are_asked_for_in_two_ways() {
        let asked = |name, value, is_feed| read(name, value, |it| it.wants_binary(is_feed));
        for (value, expected) in
            [("CosmosBinary", true), ("cosmosbinary", true), ("JsonText", false)]
        {
            for is_feed in [false, true] {
                assert_eq!(asked(Name::ContentFormat, value, is_feed).unwrap(), expected);
            }
        }
        assert!(asked(Name::ContentFormat, "Not a valid value", false).is_err());
        #[rustfmt::skip]
        let table = [
            ("COSMOSBINARY", true), ("JsonText, CosmosBinary", true), ("CosmosBinary,HybridRow", true), ("jsontext", false),
            ("Invalid value", false), (", ,", false), ("JsonText CosmosBinary", false), (",JsonText|CosmosBinary", false),
            ("CosmosBinary, ", false),
        ];
        for (value, expected) in table {
            assert_eq!(asked(Name::SupportedFormats, value, false).unwrap(), expected, "{value}");
            assert!(!asked(Name::SupportedFormats, value, true).unwrap(), "{value}");
        }
    }

    #[test]
    fn only_return_minimal_is_a_preference_we_know() {
        #[rustfmt::skip]
        let table = [("return=minimal", true), ("respond-async, Return=Minimal", true), ("return=representation", false)];
        for (value, expected) in table {
            assert_eq!(read(Name::Prefer, value, RequestHeaders::is_minimal).unwrap(), expected);
        }
    }

    #[test]
    fn both_kinds_of_throughput_at_once_are_passed_on_as_such() {
        let mut map = HeaderMap::new();
        map.insert(Name::OfferThroughput.text(), HeaderValue::from_static("400"));
        let manual = RequestHeaders::collect(&map).unwrap().throughput().unwrap();
        assert_eq!(manual, Some(ThroughputRequest::Manual(400)));
        map.insert(Name::AutopilotSettings.text(), HeaderValue::from_static("{}"));
        let both = RequestHeaders::collect(&map).unwrap().throughput().unwrap();
        assert_eq!(both, Some(ThroughputRequest::Both));
        assert!(read(Name::OfferThroughput, "many", RequestHeaders::throughput).is_err());
        assert!(read(Name::ExpirySeconds, "-5", RequestHeaders::token_seconds).is_err());
    }
}
