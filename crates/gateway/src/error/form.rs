//! What is wrapped round the text of an error.
//!
//! Wire: the message of the service has one of four forms, which tell who refused. Clients look into them, for
//! `Message: {"errors"` above all; the name of the server at the end is our own.

use account::Refuser;
use model::Value;

use super::Asked;
use crate::{parse::Action, respond};

/// Who answers, as the last words of a message.
const SERVER: &str = concat!("Orrery/", env!("CARGO_PKG_VERSION"));

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    /// The text and the activity.
    Gateway,
    /// A JSON object of errors, which the text is already or becomes.
    Parser { is_json: bool },
    /// The same, with the address of the partition.
    Partition { is_json: bool },
    /// The text and what was done.
    Item,
    /// The text alone.
    Bare,
    /// No message at all.
    CodeOnly,
}

impl Form {
    /// `is_json` if the text is a JSON object of errors.
    pub(super) fn of(refuser: Refuser, is_json: bool) -> Form {
        match refuser {
            Refuser::Gateway => Form::Gateway,
            Refuser::Parser => Form::Parser { is_json },
            Refuser::Partition => Form::Partition { is_json: false },
            Refuser::Item => Form::Item,
        }
    }

    pub(super) fn message(
        self,
        text: &str,
        partition: Option<u64>,
        asked: Asked<'_>,
    ) -> Option<String> {
        let activity = asked.activity;
        Some(match self {
            Form::Gateway => format!("{text}\r\nActivityId: {activity}, {SERVER}"),
            Form::Parser { is_json } => {
                format!("Message: {}\r\nActivityId: {activity}, {SERVER}", errors(text, is_json))
            }
            Form::Partition { is_json } => {
                let mut address = Vec::new();
                respond::put_partition(&mut address, partition.unwrap_or_default());
                let address = String::from_utf8_lossy(&address);
                format!(
                    "Message: {}\r\nActivityId: {activity}, Request URI: /apps/orrery/services/items/partitions/{address}/replicas/0p/, RequestStats: , SDK: {SERVER}",
                    errors(text, is_json)
                )
            }
            Form::Item => format!(
                "{text}, \r\nRequestStartTime: {}, RequestEndTime: {}, Number of regions attempted:1\r\nActivityId: {activity}\r\n ResourceType: Document, OperationType: {}\r\n, {SERVER}",
                iso(asked.start_ms),
                iso(asked.end_ms),
                operation(asked.action),
            ),
            Form::Bare => text.to_owned(),
            Form::CodeOnly => return None,
        })
    }
}

fn errors(text: &str, is_json: bool) -> String {
    if is_json {
        return text.to_owned();
    }
    let mut out = b"{\"Errors\":[".to_vec();
    Value::String(text.to_owned()).write_to(&mut out);
    out.extend_from_slice(b"]}");
    String::from_utf8_lossy(&out).into_owned()
}

fn operation(action: Action) -> &'static str {
    match action {
        Action::ItemCreate => "Create",
        Action::ItemUpsert => "Upsert",
        Action::ItemReplace => "Replace",
        Action::ItemPatch => "Patch",
        Action::ItemDelete => "Delete",
        Action::Batch | Action::Bulk => "Batch",
        Action::Query => "Query",
        Action::Execute => "ExecuteJavaScript",
        _ => "Read",
    }
}

/// A moment as `2023-11-14T22:13:20.1230000Z`.
fn iso(ms: u64) -> String {
    let (seconds, millis) = (ms / 1000, ms % 1000);
    let (year, month, day) = civil(seconds / 86_400);
    let (hour, minute, second) = (seconds / 3600 % 24, seconds / 60 % 60, seconds % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}0000Z")
}

/// Year, month and day of a number of days since 1970, by counting in years that begin in March.
fn civil(days: u64) -> (u64, u64, u64) {
    let shifted = days + 719_468;
    let (era, of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let march_month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * march_month + 2) / 5 + 1;
    let month = if march_month < 10 { march_month + 3 } else { march_month - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answers::Answer;

    fn message(form: Form, text: &str) -> Option<String> {
        let asked = Asked {
            activity: "id-1",
            action: Action::ItemRead,
            answer: Answer::ItemRead,
            is_direct: false,
            start_ms: 1_700_000_000_123,
            end_ms: 1_700_000_000_124,
        };
        form.message(text, Some(7), asked)
    }

    #[test]
    fn who_refuses_is_seen_in_the_message() {
        let gateway = message(Form::of(Refuser::Gateway, false), "No.").unwrap();
        assert!(gateway.starts_with("No.\r\nActivityId: id-1, Orrery/"), "{gateway}");
        let parser = message(Form::of(Refuser::Parser, true), r#"{"errors":[]}"#).unwrap();
        assert!(
            parser.starts_with("Message: {\"errors\":[]}\r\nActivityId: id-1, Orrery/"),
            "{parser}"
        );
        let parser = message(Form::of(Refuser::Parser, false), "a \"b\"").unwrap();
        assert!(parser.starts_with(r#"Message: {"Errors":["a \"b\""]}"#), "{parser}");
        let partition = message(Form::of(Refuser::Partition, true), "No.").unwrap();
        assert!(partition.starts_with(r#"Message: {"Errors":["No."]}"#), "{partition}");
        assert!(
            partition.contains("/partitions/00000000-0000-4000-8000-000000000007/replicas/"),
            "{partition}"
        );
        let item = message(Form::of(Refuser::Item, false), "No.").unwrap();
        assert!(
            item.starts_with("No., \r\nRequestStartTime: 2023-11-14T22:13:20.1230000Z, "),
            "{item}"
        );
        assert!(item.contains("OperationType: Read"), "{item}");
        assert_eq!(message(Form::Bare, "No.").as_deref(), Some("No."));
        assert_eq!(message(Form::CodeOnly, "No."), None);
    }

    #[test]
    fn days_are_counted_as_calendars_do() {
        #[rustfmt::skip]
        let table = [(0, (1970, 1, 1)), (59, (1970, 3, 1)), (11_016, (2000, 2, 29)), (11_017, (2000, 3, 1)), (19_722, (2023, 12, 31)), (47_540, (2100, 2, 28)), (47_541, (2100, 3, 1))];
        for (days, expected) in table {
            assert_eq!(civil(days), expected, "{days}");
        }
    }
}
