//! System properties: added at read, cut out at write.

use super::super::{Event, JsonError, Reader, plain_length, write_string};
use crate::{ETag, Lsn, Rid};

/// Bytes around the parts that differ in length, and numbers.
const ROOM: usize = 192;

/// The text of a stored item, and how many bytes before its brace are properties that were added: by patches, or by a
/// client that had them behind the system properties of an item that it read.
#[derive(Debug, Clone, Copy)]
pub struct ItemText<'a> {
    /// An object, `{` first and `}` last.
    pub bytes: &'a [u8],
    /// From the comma before the first of them; zero if there are none.
    pub n_added: usize,
}

impl<'a> From<&'a [u8]> for ItemText<'a> {
    fn from(bytes: &'a [u8]) -> ItemText<'a> {
        ItemText { bytes, n_added: 0 }
    }
}

impl<'a> ItemText<'a> {
    /// What was added, from the comma before the first property on.
    pub fn added(self) -> &'a [u8] {
        self.parts().1
    }

    /// The text without its brace: what was there before, and what was added.
    fn parts(self) -> (&'a [u8], &'a [u8]) {
        let inside = self.bytes.strip_suffix(b"}").unwrap_or(self.bytes);
        let at = inside.len().saturating_sub(self.n_added);
        match inside.split_at(at) {
            (written, added) if added.starts_with(b",") => (written, added),
            _ => (inside, b""),
        }
    }
}

/// Returns the item as a client reads it: its text with the system properties at the end. Wire: what was added stands
/// before the last of them.
///
/// `text` is that of an [`super::ItemBody`]. `container_link` is the `_self` of its container. `lsn` is given inside
/// change feeds only.
///
/// Hot path: every item that is returned goes through here.
pub fn with_system_properties<'a>(
    text: impl Into<ItemText<'a>>,
    rid: &Rid,
    container_link: &str,
    etag: &ETag,
    ts: u64,
    lsn: Option<Lsn>,
) -> Vec<u8> {
    let text = text.into();
    let (inside, added) = text.parts();
    let is_empty = inside.trim_ascii() == b"{";
    let mut item = Vec::with_capacity(text.bytes.len() + container_link.len() + ROOM);
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
    item.extend_from_slice(b",\"_attachments\":\"attachments/\"");
    item.extend_from_slice(added);
    item.extend_from_slice(b",\"_ts\":");
    let mut digits = itoa::Buffer::new();
    item.extend_from_slice(digits.format(ts).as_bytes());
    if let Some(Lsn(lsn)) = lsn {
        item.extend_from_slice(b",\"_lsn\":");
        item.extend_from_slice(digits.format(lsn).as_bytes());
    }
    item.push(b'}');
    item
}

/// Returns an item that [`with_system_properties`] made without `_self` and `_attachments`.
pub fn without_links(item: &[u8]) -> Result<Vec<u8>, JsonError> {
    let mut reader = Reader::from_bytes(item)?;
    let mut kept = Vec::with_capacity(item.len());
    let (mut from, mut value_end) = (0, 0);
    reader.next()?;
    while let Some(event) = reader.next()? {
        let Event::Name(name) = event else { break };
        // Neither is the first: the id stands before them.
        let begin = value_end;
        let is_link = name.is("_self") || name.is("_attachments");
        let Some(value) = reader.next()? else { break };
        reader.skip(value)?;
        value_end = reader.event_end();
        if is_link {
            kept.extend_from_slice(item.get(from..begin).unwrap_or_default());
            from = value_end;
        }
    }
    kept.extend_from_slice(item.get(from..).unwrap_or_default());
    Ok(kept)
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

/// Returns `object` (a text `{…}`) without its system properties, and `members` adjusted to it; also how many bytes
/// before the brace stood behind the first of them, none if nothing stood before it.
pub(super) fn without_system_properties(
    object: &str,
    members: &mut Vec<Member>,
) -> (String, usize) {
    if members.iter().all(|member| !member.is_system) {
        return (object.to_owned(), 0);
    }
    // Wire: the time is the last property, wherever the client has it.
    let stays = |member: &Member| {
        let name = &object[member.name.0 as usize..member.name.1 as usize];
        member.is_system && name != "_ts" && name != "_lsn"
    };
    let mut system_at = None;
    let mut kept = String::with_capacity(object.len());
    let mut start = 1;
    for member in members.iter_mut() {
        // Between a value and the next name there is one comma and else only space.
        let value_end = member.value.1 as usize;
        let comma = object[value_end..].find(',').map(|offset| value_end + offset);
        let end = comma.unwrap_or(object.len() - 1);
        if system_at.is_none() && stays(member) {
            system_at = Some(kept.len());
        }
        if !member.is_system {
            kept.push(if kept.is_empty() { '{' } else { ',' });
            member.move_to(start, kept.len());
            kept.push_str(&object[start..end]);
        }
        start = end + 1;
    }
    members.retain(|member| !member.is_system);
    let n_added = system_at.filter(|at| *at > 0).map_or(0, |at| kept.len() - at);
    kept.push_str(if kept.is_empty() { "{}" } else { "}" });
    (kept, n_added)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_cut_out_and_nothing_else() {
        let inside = r#"{"_self":1,"_attachments":2}"#;
        let item = format!(
            r#"{{ "id" : "a","in":{inside},"_rid":"r","_self":"s","_etag":"e","_attachments":"t","x":{inside} ,"_ts":9}}"#
        );
        let expected = format!(
            r#"{{ "id" : "a","in":{inside},"_rid":"r","_etag":"e","x":{inside} ,"_ts":9}}"#
        );
        let cut = without_links(item.as_bytes()).unwrap();
        assert_eq!(String::from_utf8(cut).unwrap(), expected);
    }

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
    fn what_patches_added_stands_before_the_time() {
        let rid = Rid::item(&Rid::container(1, 1), 7);
        let etag = ETag::from_lsn(Lsn(3), 9);
        let shown = |bytes: &'static [u8], n_added| {
            let text = ItemText { bytes, n_added };
            let item = with_system_properties(text, &rid, "dbs/a/colls/b/", &etag, 9, None);
            String::from_utf8(item).unwrap()
        };
        let item = shown(br#"{"id":"a","n":1}"#, 6);
        assert!(item.starts_with(r#"{"id":"a","_rid":"#), "{item}");
        assert!(item.ends_with(r#","_attachments":"attachments/","n":1,"_ts":9}"#), "{item}");
        // A number that names no comma is not followed.
        assert!(shown(br#"{"id":"a","n":1}"#, 5).starts_with(r#"{"id":"a","n":1,"_rid":"#));
    }

    #[test]
    fn system_properties_stay_where_the_client_has_them_but_for_the_time() {
        let read = |text: &str| {
            let body = super::super::ItemBody::parse(text.as_bytes()).unwrap();
            let item = ItemText { bytes: body.text(), n_added: body.n_added() };
            let rid = Rid::item(&Rid::container(1, 1), 7);
            let etag = ETag::from_lsn(Lsn(3), 9);
            let read = with_system_properties(item, &rid, "dbs/a/colls/b/", &etag, 9, None);
            let value = super::super::super::parse(&read).unwrap();
            let names = value.as_object().unwrap().iter().map(|(name, _)| name.to_owned());
            (names.collect::<Vec<_>>().join(" "), read)
        };
        let system = "_rid _self _etag _attachments";
        for (text, expected) in [
            (
                r#"{"id":"a","_rid":1,"_self":2,"_etag":3,"_attachments":4,"new":"v","_ts":9}"#,
                "id S new _ts",
            ),
            (
                r#"{"id":"a" , "_rid":1,"_etag":3,"_ts":9, "b":1 ,"_self":2,"c":{"_rid":1} }"#,
                "id S b c _ts",
            ),
            // With nothing before them there is no comma to stand behind.
            (r#"{ "_rid" : 1 , "id" : "a" , "b":2 }"#, "id b S _ts"),
            (r#"{"id":"a","_ts":1,"b":2}"#, "id b S _ts"),
            (r#"{"id":"a","b":2,"_rid":1,"_ts":1,"_lsn":4}"#, "id b S _ts"),
            (r#"{"id":"a","_rid":1,"b":"\ud800"}"#, "id b S _ts"),
            (r#"{"id":"a"}"#, "id S _ts"),
        ] {
            let (names, whole) = read(text);
            assert_eq!(names, expected.replace('S', system), "{text}");
            let again = String::from_utf8(whole.clone()).unwrap();
            assert_eq!(read(&again).1, whole, "what was read is written and read again: {text}");
        }
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
