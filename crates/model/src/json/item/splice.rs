//! System properties: added at read, cut out at write.

use super::super::{plain_length, write_string};
use crate::{ETag, Lsn, Rid};

/// Bytes around the parts that differ in length, and numbers.
const ROOM: usize = 192;

/// Returns the item as a client reads it: its text with the system properties at the end.
///
/// `text` is that of an [`super::ItemBody`]. `container_link` is the `_self` of its container. `lsn` is given inside
/// change feeds only.
///
/// Hot path: every item that is returned goes through here.
pub fn with_system_properties(
    text: &[u8],
    rid: &Rid,
    container_link: &str,
    etag: &ETag,
    ts: u64,
    lsn: Option<Lsn>,
) -> Vec<u8> {
    let inside = text.strip_suffix(b"}").unwrap_or(text);
    let is_empty = inside.trim_ascii() == b"{";
    let mut item = Vec::with_capacity(text.len() + container_link.len() + ROOM);
    item.extend_from_slice(inside);
    item.extend_from_slice(if is_empty { b"\"_rid\":\"" } else { b",\"_rid\":\"" });
    rid.with_text(|rid| {
        item.extend_from_slice(rid);
        item.extend_from_slice(b"\",\"_self\":");
        write_string(container_link, &mut item);
        // The link goes on where the quote is.
        item.pop();
        item.extend_from_slice(b"docs/");
        item.extend_from_slice(rid);
    });
    item.extend_from_slice(b"/\",\"_etag\":");
    write_etag(etag.as_str(), &mut item);
    item.extend_from_slice(b",\"_attachments\":\"attachments/\",\"_ts\":");
    let mut digits = itoa::Buffer::new();
    item.extend_from_slice(digits.format(ts).as_bytes());
    if let Some(Lsn(lsn)) = lsn {
        item.extend_from_slice(b",\"_lsn\":");
        item.extend_from_slice(digits.format(lsn).as_bytes());
    }
    item.push(b'}');
    item
}

/// Returns an attachment as a client reads it: its text with the system properties at the end.
///
/// `text` is an object with at least one property; `item_link` is the `_self` of the attachment's item.
pub fn with_attachment_properties(
    text: &[u8],
    rid: &Rid,
    item_link: &str,
    etag: &ETag,
    ts: u64,
) -> Vec<u8> {
    let mut attachment = Vec::with_capacity(text.len() + item_link.len() + ROOM);
    attachment.extend_from_slice(text.strip_suffix(b"}").unwrap_or(text));
    attachment.extend_from_slice(b",\"_rid\":");
    write_string(&rid.to_string(), &mut attachment);
    attachment.extend_from_slice(b",\"_self\":");
    write_string(&format!("{item_link}attachments/{rid}/"), &mut attachment);
    attachment.extend_from_slice(b",\"_etag\":");
    write_etag(etag.as_str(), &mut attachment);
    attachment.extend_from_slice(format!(",\"_ts\":{ts}}}").as_bytes());
    attachment
}

/// Appends an etag as a JSON string. Most are plain but for the quotes at both ends.
fn write_etag(etag: &str, item: &mut Vec<u8>) {
    let inside = etag.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    match inside {
        Some(inside) if plain_length(inside.as_bytes()) == inside.len() => {
            item.extend_from_slice(b"\"\\\"");
            item.extend_from_slice(inside.as_bytes());
            item.extend_from_slice(b"\\\"\"");
        }
        _ => write_string(etag, item),
    }
}

/// A top-level property by its place in the text. Items are below 4 GiB, so 32 bits do.
#[derive(Debug, Clone, Copy)]
pub(super) struct Member {
    /// The name without its quotes.
    pub(super) name: (u32, u32),
    /// The value, with neither space before nor after.
    pub(super) value: (u32, u32),
    pub(super) is_system: bool,
}

impl Member {
    fn move_to(&mut self, old_start: usize, new_start: usize) {
        // Invariant: properties are only ever cut out, so the others move to the left.
        let by = u32::try_from(old_start - new_start).unwrap_or_default();
        let (name, value) = (&mut self.name, &mut self.value);
        for place in [&mut name.0, &mut name.1, &mut value.0, &mut value.1] {
            *place -= by;
        }
    }
}

/// Returns `object` (a text `{…}`) without its system properties, and `members` adjusted to it.
pub(super) fn without_system_properties(object: &str, members: &mut Vec<Member>) -> String {
    if members.iter().all(|member| !member.is_system) {
        return object.to_owned();
    }
    let mut kept = String::with_capacity(object.len());
    let mut start = 1;
    for member in members.iter_mut() {
        // Between a value and the next name there is one comma and else only space.
        let value_end = member.value.1 as usize;
        let comma = object[value_end..].find(',').map(|offset| value_end + offset);
        let end = comma.unwrap_or(object.len() - 1);
        if !member.is_system {
            kept.push(if kept.is_empty() { '{' } else { ',' });
            member.move_to(start, kept.len());
            kept.push_str(&object[start..end]);
        }
        start = end + 1;
    }
    members.retain(|member| !member.is_system);
    kept.push_str(if kept.is_empty() { "{}" } else { "}" });
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn splice(text: &str, lsn: Option<u64>) -> String {
        let rid = Rid::item(&Rid::container(1, 1), 7);
        let etag = ETag::from_lsn(Lsn(3), 9);
        let item =
            with_system_properties(text.as_bytes(), &rid, "dbs/a/colls/b/", &etag, 9, lsn.map(Lsn));
        String::from_utf8(item).unwrap()
    }

    #[test]
    fn system_properties_come_last_in_the_order_of_the_service() {
        assert_eq!(
            splice(r#"{"id":"a"}"#, None),
            r#"{"id":"a","_rid":"AAAAAYAAAAEHAAAAAAAAAA==","_self":"dbs/a/colls/b/docs/AAAAAYAAAAEHAAAAAAAAAA==/","_etag":"\"00000003-0000-0000-0000-000000090000\"","_attachments":"attachments/","_ts":9}"#
        );
        assert!(splice(r#"{"id":"a"}"#, Some(12)).ends_with(r#","_ts":9,"_lsn":12}"#));
    }

    #[test]
    fn space_before_the_brace_and_empty_objects_do_not_disturb() {
        for text in ["{}", "{ \n}", "{\"id\":\"}\" }"] {
            let value = super::super::super::parse(splice(text, Some(1)).as_bytes()).unwrap();
            assert_eq!(value.get("_lsn"), Some(&1.into()), "{text}");
        }
    }

    #[test]
    fn an_etag_is_written_as_any_string() {
        for etag in
            ["\"00-0a\"", "", "\"", "\"\"", "abc", "\"a\"b\"", "\"a\\\"", "\"\u{1}\"", "\"é\""]
        {
            let (mut own, mut expected) = (Vec::new(), Vec::new());
            write_etag(etag, &mut own);
            write_string(etag, &mut expected);
            assert_eq!(own, expected, "{etag}");
        }
    }
}
