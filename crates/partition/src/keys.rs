//! Builds and splits store keys: the only code that knows their bytes.
//!
//! A key is `incarnation · family · rest`. Numbers are big-endian, so that byte order is number order. The
//! effective partition key is escaped (`00` becomes `00 FF`) and ends with `00 00`: it is of variable length and
//! must not run into what follows. The encoded partition key delimits itself. `docs/storage-format.md` has the table.

use bytes::{Bytes, BytesMut};
use model::{Epk, Lsn, PartitionKey, PartitionKeyDefinition};
use store::KeyRange;

use crate::{Error, Logical, Result};

/// One byte after the incarnation: which kind of entry follows. Never renumber.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum Family {
    Head = 0x01,
    Key = 0x02,
    Member = 0x03,
    Item = 0x04,
    Change = 0x05,
    Version = 0x06,
    Expiry = 0x07,
    Unique = 0x08,
    Logical = 0x09,
    Index = 0x0A,
    Purge = 0x0B,
    Path = 0x0C,
    IndexState = 0x0D,
    AttachmentName = 0x0E,
    Attachment = 0x0F,
    Media = 0x10,
}

impl Family {
    const ALL: [Family; 16] = [
        Family::Head,
        Family::Key,
        Family::Member,
        Family::Item,
        Family::Change,
        Family::Version,
        Family::Expiry,
        Family::Unique,
        Family::Logical,
        Family::Index,
        Family::Purge,
        Family::Path,
        Family::IndexState,
        Family::AttachmentName,
        Family::Attachment,
        Family::Media,
    ];
}

const INCARNATION_BYTES: usize = 8;
const PREFIX_BYTES: usize = 9;
const UNIQUE_DIGEST_BYTES: usize = 32;

/// Item numbers stay below 2^56, so that index entries can leave out the first byte.
const TERM_NUMBER_BYTES: usize = 7;
const TERM_PATH_BYTES: usize = 2;

/// The keys of one partition.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Keys {
    incarnation: u64,
}

/// Which logical partition an entry belongs to, as it stands inside keys: escaped epk, then encoded key.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct LogicalPrefix(Bytes);

/// Commit and place within the commit: the order of both feeds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CommitPosition {
    pub(crate) lsn: Lsn,
    pub(crate) seq: u16,
}

/// Which attachment: the number of its item, and its own among those of the item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct AttachmentAt {
    pub(crate) item: u64,
    pub(crate) number: u32,
}

impl Keys {
    pub(crate) fn new(incarnation: u64) -> Keys {
        Keys { incarnation }
    }

    /// Every key of the partition.
    pub(crate) fn all(self) -> KeyRange {
        KeyRange::prefix(&self.incarnation.to_be_bytes())
    }

    /// Every key of one family.
    pub(crate) fn family(self, family: Family) -> KeyRange {
        KeyRange::prefix(&self.start(family, 0))
    }

    /// Everything but the head.
    pub(crate) fn after_head(self) -> KeyRange {
        self.all().after(&self.head())
    }

    /// Everything but the head, the state of the index and attachments.
    pub(crate) fn between_heads(self) -> KeyRange {
        KeyRange::new(self.start(Family::Key, 0), self.start(Family::IndexState, 0))
    }

    pub(crate) fn head(self) -> Vec<u8> {
        self.start(Family::Head, 0)
    }

    pub(crate) fn key(self, place: &LogicalPrefix, id: &str) -> Vec<u8> {
        self.join(Family::Key, place, id.as_bytes())
    }

    /// The ids of one logical partition, in byte order.
    pub(crate) fn keys_of(self, place: &LogicalPrefix) -> KeyRange {
        KeyRange::prefix(&self.join(Family::Key, place, &[]))
    }

    pub(crate) fn member(self, place: &LogicalPrefix, number: u64) -> Vec<u8> {
        self.join(Family::Member, place, &number.to_be_bytes())
    }

    /// The members of one logical partition created after item `after`, in creation order.
    pub(crate) fn members_of(self, place: &LogicalPrefix, after: Option<u64>) -> KeyRange {
        let range = KeyRange::prefix(&self.join(Family::Member, place, &[]));
        match after {
            Some(number) => range.after(&self.member(place, number)),
            None => range,
        }
    }

    pub(crate) fn item(self, number: u64) -> Vec<u8> {
        self.item_array(number).to_vec()
    }

    /// The key of an item for a look at it, of which a query takes many.
    pub(crate) fn item_array(self, number: u64) -> [u8; PREFIX_BYTES + 8] {
        let [i0, i1, i2, i3, i4, i5, i6, i7] = self.incarnation.to_be_bytes();
        let [n0, n1, n2, n3, n4, n5, n6, n7] = number.to_be_bytes();
        let family = Family::Item as u8;
        [i0, i1, i2, i3, i4, i5, i6, i7, family, n0, n1, n2, n3, n4, n5, n6, n7]
    }

    /// The items created after item `after`, in creation order.
    pub(crate) fn items(self, after: Option<u64>) -> KeyRange {
        let range = self.family(Family::Item);
        match after {
            Some(number) => range.after(&self.item(number)),
            None => range,
        }
    }

    pub(crate) fn change(self, moment: CommitPosition) -> Vec<u8> {
        self.moment(Family::Change, moment)
    }

    /// The latest-version entries of commits after `lsn`.
    pub(crate) fn changes(self, after: Lsn) -> KeyRange {
        self.commits(Family::Change, after)
    }

    pub(crate) fn version(self, moment: CommitPosition) -> Vec<u8> {
        self.moment(Family::Version, moment)
    }

    /// The all-versions entries of commits after `lsn`.
    pub(crate) fn versions(self, after: Lsn) -> KeyRange {
        self.commits(Family::Version, after)
    }

    pub(crate) fn expiry(self, due: u32, number: u64) -> Vec<u8> {
        let mut key = self.start(Family::Expiry, 12);
        key.extend_from_slice(&due.to_be_bytes());
        key.extend_from_slice(&number.to_be_bytes());
        key
    }

    pub(crate) fn unique(self, place: &LogicalPrefix, index: u8, digest: &[u8]) -> Vec<u8> {
        debug_assert_eq!(digest.len(), UNIQUE_DIGEST_BYTES, "unique values are stored as a digest");
        let mut key = self.start(Family::Unique, place.0.len() + 1 + digest.len());
        key.extend_from_slice(&place.0);
        key.push(index);
        key.extend_from_slice(digest);
        key
    }

    pub(crate) fn logical(self, place: &LogicalPrefix) -> Vec<u8> {
        self.join(Family::Logical, place, &[])
    }

    /// The logical partitions above `after`, in order of epk.
    pub(crate) fn logicals(self, after: Option<&LogicalPrefix>) -> KeyRange {
        let range = self.family(Family::Logical);
        match after {
            Some(place) => range.after(&self.logical(place)),
            None => range,
        }
    }

    /// The logical partitions with an epk of a range, in order of epk.
    pub(crate) fn logicals_in(self, epks: &model::EpkRange) -> KeyRange {
        let bound = |epk: &Epk| {
            let mut key = self.start(Family::Logical, epk.as_bytes().len() + 2);
            key.extend(place_bound(epk));
            key
        };
        KeyRange::new(bound(epks.min()), bound(epks.max()))
    }

    pub(crate) fn purge(self, place: &LogicalPrefix) -> Vec<u8> {
        self.join(Family::Purge, place, &[])
    }

    /// One entry of the index.
    pub(crate) fn term(self, path: u16, term: &[u8], number: u64) -> Vec<u8> {
        debug_assert!(number >> 56 == 0, "item numbers have 56 bits");
        let mut key = self.start(Family::Index, TERM_PATH_BYTES + term.len() + TERM_NUMBER_BYTES);
        key.extend_from_slice(&path.to_be_bytes());
        key.extend_from_slice(term);
        key.extend(number.to_be_bytes().into_iter().skip(8 - TERM_NUMBER_BYTES));
        key
    }

    /// The entries of a path between two terms.
    pub(crate) fn terms(self, path: u16, start: &[u8], end: &[u8]) -> KeyRange {
        let bound = |term: &[u8]| {
            let mut key = self.start(Family::Index, TERM_PATH_BYTES + term.len());
            key.extend_from_slice(&path.to_be_bytes());
            key.extend_from_slice(term);
            key
        };
        KeyRange::new(bound(start), bound(end))
    }

    /// All entries of a path.
    pub(crate) fn terms_of(self, path: u16) -> KeyRange {
        let mut key = self.start(Family::Index, TERM_PATH_BYTES);
        key.extend_from_slice(&path.to_be_bytes());
        KeyRange::prefix(&key)
    }

    /// The record of a path, which gives it its number.
    pub(crate) fn path(self, path: &str) -> Vec<u8> {
        let mut key = self.start(Family::Path, path.len());
        key.extend_from_slice(path.as_bytes());
        key
    }

    pub(crate) fn index_state(self) -> Vec<u8> {
        self.start(Family::IndexState, 0)
    }

    /// The entry that gives the number of an attachment by its id.
    pub(crate) fn attachment_name(self, item: u64, id: &str) -> Vec<u8> {
        let mut key = self.start(Family::AttachmentName, 8 + id.len());
        key.extend_from_slice(&item.to_be_bytes());
        key.extend_from_slice(id.as_bytes());
        key
    }

    pub(crate) fn attachment(self, at: AttachmentAt) -> Vec<u8> {
        self.attached(Family::Attachment, at, 0)
    }

    /// The attachments of an item with numbers above `after`, in creation order.
    pub(crate) fn attachments_of(self, item: u64, after: Option<u32>) -> KeyRange {
        let mut prefix = self.start(Family::Attachment, 8);
        prefix.extend_from_slice(&item.to_be_bytes());
        let range = KeyRange::prefix(&prefix);
        match after {
            Some(number) => range.after(&self.attachment(AttachmentAt { item, number })),
            None => range,
        }
    }

    /// The attachments of all items behind `after`, by item.
    pub(crate) fn attachments(self, after: Option<AttachmentAt>) -> KeyRange {
        let range = self.family(Family::Attachment);
        match after {
            Some(at) => range.after(&self.attachment(at)),
            None => range,
        }
    }

    /// One piece of the media of an attachment.
    pub(crate) fn media_chunk(self, at: AttachmentAt, index: u32) -> Vec<u8> {
        let mut key = self.attached(Family::Media, at, 4);
        key.extend_from_slice(&index.to_be_bytes());
        key
    }

    fn attached(self, family: Family, at: AttachmentAt, room: usize) -> Vec<u8> {
        let mut key = self.start(family, 12 + room);
        key.extend_from_slice(&at.item.to_be_bytes());
        key.extend_from_slice(&at.number.to_be_bytes());
        key
    }

    /// Adds to `bytes` the key that an entry of another partition has in this one.
    pub(crate) fn push_moved(self, key: &[u8], bytes: &mut BytesMut) {
        bytes.extend_from_slice(&self.incarnation.to_be_bytes());
        bytes.extend_from_slice(key.get(INCARNATION_BYTES..).unwrap_or_default());
    }

    fn start(self, family: Family, room: usize) -> Vec<u8> {
        let mut key = Vec::with_capacity(PREFIX_BYTES + room);
        key.extend_from_slice(&self.incarnation.to_be_bytes());
        key.push(family as u8);
        key
    }

    fn moment(self, family: Family, moment: CommitPosition) -> Vec<u8> {
        let mut key = self.start(family, 10);
        key.extend_from_slice(&moment.lsn.0.to_be_bytes());
        key.extend_from_slice(&moment.seq.to_be_bytes());
        key
    }

    fn commits(self, family: Family, after: Lsn) -> KeyRange {
        self.family(family)
            .after(&self.moment(family, CommitPosition { lsn: after, seq: u16::MAX }))
    }

    fn join(self, family: Family, place: &LogicalPrefix, rest: &[u8]) -> Vec<u8> {
        let mut key = self.start(family, place.0.len() + rest.len());
        key.extend_from_slice(&place.0);
        key.extend_from_slice(rest);
        key
    }
}

impl LogicalPrefix {
    pub(crate) fn new(at: &Logical, definition: &PartitionKeyDefinition) -> LogicalPrefix {
        let epk = at.epk.as_bytes();
        let key = at.key.encode(definition);
        let mut bytes = Vec::with_capacity(epk.len() + key.len() + 4);
        push_escaped(&at.epk, &mut bytes);
        bytes.extend_from_slice(&[0, 0]);
        bytes.extend_from_slice(&key);
        LogicalPrefix(bytes.into())
    }

    /// Takes bytes that were a place before; they are checked when they are split.
    pub(crate) fn from_bytes(bytes: Bytes) -> LogicalPrefix {
        LogicalPrefix(bytes)
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        &self.0
    }

    pub(crate) fn into_bytes(self) -> Bytes {
        self.0
    }

    pub(crate) fn to_logical(&self) -> Result<Logical> {
        let (epk, used) = split_epk(&self.0)?;
        let key = self.0.get(used..).unwrap_or_default();
        match PartitionKey::decode(key) {
            Some((decoded, n_bytes)) if n_bytes == key.len() => Ok(Logical { key: decoded, epk }),
            _ => Err(Error::Corrupt("a stored partition key cannot be decoded")),
        }
    }
}

fn push_escaped(epk: &Epk, bytes: &mut Vec<u8>) {
    for byte in epk.as_bytes() {
        bytes.push(*byte);
        if *byte == 0 {
            bytes.push(0xFF);
        }
    }
}

/// The lowest bytes of places with this epk.
pub(crate) fn place_bound(epk: &Epk) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(epk.as_bytes().len() + 2);
    push_escaped(epk, &mut bytes);
    bytes
}

/// Reads the epk at the start of a place and says where it ends.
pub(crate) fn split_epk(place: &[u8]) -> Result<(Epk, usize)> {
    const TORN: Error = Error::Corrupt("a stored place has no end of its epk");
    let mut epk = Vec::with_capacity(place.len().min(48));
    let mut at = 0;
    loop {
        match place.get(at..).unwrap_or_default() {
            [0, 0, ..] => return Ok((Epk::from_bytes(epk), at + 2)),
            [0, 0xFF, ..] => {
                epk.push(0);
                at += 2;
            }
            [0, ..] | [] => return Err(TORN),
            [byte, ..] => {
                epk.push(*byte);
                at += 1;
            }
        }
    }
}

/// Returns the family that a key belongs to.
pub(crate) fn family_of(key: &[u8]) -> Result<Family> {
    let byte = key.get(INCARNATION_BYTES).copied().map(usize::from);
    // They are numbered from one on.
    let family = byte.and_then(|byte| Family::ALL.get(byte.checked_sub(1)?));
    family.copied().ok_or(Error::Corrupt("a key belongs to no family"))
}

/// Splits the part of a family's key after the incarnation and the family byte.
pub(crate) fn rest(key: &[u8]) -> &[u8] {
    key.get(PREFIX_BYTES..).unwrap_or_default()
}

fn take_number(bytes: &[u8]) -> Option<u64> {
    Some(u64::from_be_bytes(bytes.try_into().ok()?))
}

pub(crate) fn number_of_item(key: &[u8]) -> Result<u64> {
    take_number(rest(key)).ok_or(Error::Corrupt("an item key is not a number"))
}

/// The number in a key of any family, if it is an item's.
pub(crate) fn number_if_item(key: &[u8]) -> Option<u64> {
    let family = key.get(PREFIX_BYTES - 1)?;
    if *family == Family::Item as u8 { take_number(rest(key)) } else { None }
}

/// The attachment in a key of any family, if it is an attachment's own record.
pub(crate) fn attachment_if_record(key: &[u8]) -> Option<AttachmentAt> {
    let family = key.get(PREFIX_BYTES - 1)?;
    if *family == Family::Attachment as u8 { attachment_of(key).ok() } else { None }
}

/// The attachment that an attachment's record, or a piece of its media, belongs to.
pub(crate) fn attachment_of(key: &[u8]) -> Result<AttachmentAt> {
    let split = rest(key).split_first_chunk::<8>().and_then(|(item, rest)| {
        let number = rest.first_chunk::<4>()?;
        Some(AttachmentAt { item: u64::from_be_bytes(*item), number: u32::from_be_bytes(*number) })
    });
    split.ok_or(Error::Corrupt("an attachment key is not two numbers"))
}

/// The item of any entry that belongs to attachments.
pub(crate) fn item_of_attached(key: &[u8]) -> Result<u64> {
    let item = rest(key).first_chunk::<8>().map(|bytes| u64::from_be_bytes(*bytes));
    item.ok_or(Error::Corrupt("an attachment key has no item"))
}

/// The id in the name entry of an attachment.
pub(crate) fn attachment_id_of(key: &[u8]) -> Result<&str> {
    let id = rest(key).get(8..).and_then(|id| std::str::from_utf8(id).ok());
    id.ok_or(Error::Corrupt("the name of an attachment is not text"))
}

pub(crate) fn number_of_member(key: &[u8]) -> Result<u64> {
    let number = rest(key).last_chunk::<8>().map(|bytes| u64::from_be_bytes(*bytes));
    number.ok_or(Error::Corrupt("a member key has no number"))
}

pub(crate) fn moment_of(key: &[u8]) -> Result<CommitPosition> {
    let split = rest(key).split_first_chunk::<8>().and_then(|(lsn, seq)| {
        Some(CommitPosition {
            lsn: Lsn(u64::from_be_bytes(*lsn)),
            seq: u16::from_be_bytes(seq.try_into().ok()?),
        })
    });
    split.ok_or(Error::Corrupt("a feed key is not an lsn and a sequence number"))
}

/// The item of an index entry.
pub(crate) fn number_of_term(key: &[u8]) -> Result<u64> {
    let number = rest(key)
        .last_chunk::<TERM_NUMBER_BYTES>()
        .map(|bytes| bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)));
    number.ok_or(Error::Corrupt("an index entry has no number"))
}

/// The term of an index entry.
pub(crate) fn term_of(key: &[u8]) -> Result<&[u8]> {
    let rest = rest(key);
    let end = rest.len().checked_sub(TERM_NUMBER_BYTES);
    let term = end.and_then(|end| rest.get(TERM_PATH_BYTES..end));
    term.ok_or(Error::Corrupt("an index entry has no term"))
}

/// The text of a path.
pub(crate) fn path_of(key: &[u8]) -> Result<&str> {
    std::str::from_utf8(rest(key)).map_err(|_| Error::Corrupt("a path is not text"))
}

/// Due time and item number of an expiry entry.
pub(crate) fn due_of(key: &[u8]) -> Result<(u32, u64)> {
    let split = rest(key)
        .split_first_chunk::<4>()
        .and_then(|(due, number)| Some((u32::from_be_bytes(*due), take_number(number)?)));
    split.ok_or(Error::Corrupt("an expiry key is not a time and a number"))
}

/// The id in a key entry of `place`.
pub(crate) fn id_of(key: &[u8], place: &LogicalPrefix) -> Result<String> {
    let id = rest(key).get(place.0.len()..).and_then(|id| std::str::from_utf8(id).ok());
    id.map(str::to_owned).ok_or(Error::Corrupt("a key entry does not end in an id"))
}

/// The key of a feed entry with a sequence number that is higher by `shift`; `None` if it is the same.
pub(crate) fn with_seq_shifted(key: &[u8], shift: u16) -> Result<Option<Bytes>> {
    if shift == 0 {
        return Ok(None);
    }
    let seq = moment_of(key)?.seq.checked_add(shift);
    let seq = seq.ok_or(Error::Corrupt("sequence numbers of a feed do not fit"))?;
    let mut shifted = BytesMut::from(key);
    if let Some(bytes) = shifted.last_chunk_mut() {
        *bytes = seq.to_be_bytes();
    }
    Ok(Some(shifted.freeze()))
}

/// The key of an index entry at another path number; `None` if it is the same.
pub(crate) fn with_path(key: &[u8], path: u16) -> Option<Bytes> {
    let path = path.to_be_bytes();
    if rest(key).starts_with(&path) {
        return None;
    }
    let mut changed = BytesMut::from(key);
    if let Some(bytes) = changed.get_mut(PREFIX_BYTES..PREFIX_BYTES + TERM_PATH_BYTES) {
        bytes.copy_from_slice(&path);
    }
    Some(changed.freeze())
}

/// The place in a logical or purge key, which has nothing after it.
pub(crate) fn place_of(key: &Bytes) -> LogicalPrefix {
    LogicalPrefix(key.slice(PREFIX_BYTES.min(key.len())..))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn definition(paths: &str, kind: &str) -> PartitionKeyDefinition {
        let text = format!(r#"{{"paths":{paths},"kind":"{kind}","version":2}}"#);
        PartitionKeyDefinition::from_value(&model::json::parse(text.as_bytes()).unwrap()).unwrap()
    }

    fn place(epk: &[u8], key: &PartitionKey, definition: &PartitionKeyDefinition) -> LogicalPrefix {
        LogicalPrefix::new(&Logical { key: key.clone(), epk: Epk::from_bytes(epk) }, definition)
    }

    #[test]
    fn places_split_into_what_they_were_made_of() {
        let definition = definition(r#"["/a","/b"]"#, "MultiHash");
        let keys = [
            r#"["x","y"]"#,
            r#"["",null]"#,
            "[1.5,true]",
            r#"[{},"\u0000"]"#,
            r#"["a\u0000b",false]"#,
        ];
        for key in keys {
            let key = PartitionKey::from_header(key).unwrap();
            let at = Logical::new(&definition, key);
            let split = LogicalPrefix::new(&at, &definition).to_logical().unwrap();
            assert_eq!((split.key, split.epk), (at.key, at.epk));
        }
    }

    #[test]
    fn places_sort_by_epk_first() {
        let definition = definition(r#"["/a"]"#, "Hash");
        let key = PartitionKey::from_header(r#"["zz"]"#).unwrap();
        let low = PartitionKey::from_header("[null]").unwrap();
        #[rustfmt::skip]
        let ascending: [&[u8]; 6] = [b"", b"\0", b"\0\0", b"\0\x01", b"\x01", b"\x01\xff"];
        for pair in ascending.windows(2) {
            let below = place(pair[0], &key, &definition);
            let above = place(pair[1], &low, &definition);
            assert!(below.as_bytes() < above.as_bytes(), "{pair:?}");
        }
    }

    #[test]
    fn torn_places_are_reported_and_not_read() {
        for torn in [&b""[..], b"\x01", b"\0", b"\x01\0", b"\0\x07\0\0"] {
            assert!(split_epk(torn).is_err(), "{torn:?}");
        }
        assert!(LogicalPrefix::from_bytes(Bytes::from_static(b"\0\0\xEE")).to_logical().is_err());
    }

    #[test]
    fn keys_give_back_their_parts() {
        let keys = Keys::new(7);
        let moment = CommitPosition { lsn: Lsn(258), seq: 3 };
        assert_eq!(number_of_item(&keys.item(9)).unwrap(), 9);
        assert_eq!(moment_of(&keys.change(moment)).unwrap(), moment);
        assert_eq!(due_of(&keys.expiry(5, 6)).unwrap(), (5, 6));
        let definition = definition(r#"["/a"]"#, "Hash");
        let at = Logical::new(&definition, PartitionKey::from_header(r#"["p"]"#).unwrap());
        let place = LogicalPrefix::new(&at, &definition);
        assert_eq!(id_of(&keys.key(&place, "ä/1"), &place).unwrap(), "ä/1");
        assert_eq!(number_of_member(&keys.member(&place, 4)).unwrap(), 4);
        assert_eq!(place_of(&keys.logical(&place).into()), place);
        let entry = keys.term(300, b"\x08term\0", (5 << 40) + 77);
        assert_eq!(term_of(&entry).unwrap(), b"\x08term\0");
        assert_eq!(number_of_term(&entry).unwrap(), (5 << 40) + 77);
        assert!(keys.terms(300, b"\x08", b"\x09").contains(&entry));
        assert!(!keys.terms(301, b"\x08", b"\x09").contains(&entry));
        assert_eq!(path_of(&keys.path("/a/[]")).unwrap(), "/a/[]");
        let attachment = AttachmentAt { item: (5 << 40) + 77, number: 9 };
        assert_eq!(attachment_of(&keys.attachment(attachment)).unwrap(), attachment);
        assert_eq!(attachment_if_record(&keys.attachment(attachment)), Some(attachment));
        let chunk = keys.media_chunk(attachment, 3);
        assert_eq!(attachment_of(&chunk).unwrap(), attachment);
        assert_eq!(attachment_if_record(&chunk), None);
        let name = keys.attachment_name(attachment.item, "ä b");
        assert_eq!(attachment_id_of(&name).unwrap(), "ä b");
        assert_eq!(item_of_attached(&name).unwrap(), attachment.item);
        assert!(
            !keys.attachments_of(attachment.item, Some(9)).contains(&keys.attachment(attachment))
        );
        assert!(
            keys.attachments_of(attachment.item, Some(8)).contains(&keys.attachment(attachment))
        );
        assert!(keys.after_head().contains(&chunk) && !keys.after_head().contains(&keys.head()));
        assert!(!keys.between_heads().contains(&name));
        let other = Keys::new(u64::MAX);
        let mut moved = BytesMut::new();
        other.push_moved(&keys.member(&place, 4), &mut moved);
        assert_eq!(moved, other.member(&place, 4));
        let above = Epk::from_bytes([at.epk.as_bytes(), &[0]].concat());
        assert!(rest(&keys.member(&place, 4)) < place_bound(&above).as_slice());
        assert!(rest(&keys.key(&place, "")) >= place_bound(&at.epk).as_slice());
    }

    #[test]
    fn a_scan_after_an_lsn_starts_at_the_next_commit() {
        let keys = Keys::new(1);
        let range = keys.changes(Lsn(4));
        assert!(!range.contains(&keys.change(CommitPosition { lsn: Lsn(4), seq: u16::MAX })));
        assert!(range.contains(&keys.change(CommitPosition { lsn: Lsn(5), seq: 0 })));
        assert!(!range.contains(&keys.version(CommitPosition { lsn: Lsn(5), seq: 0 })));
    }
}
