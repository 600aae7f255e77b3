//! Resource ids: the opaque ids that we choose, byte by byte as clients parse them.
//!
//! Wire: standard base64 with padding and `-` in place of `/`.
//!
//! | resource | bytes | layout |
//! |---|---|---|
//! | offer | 3 | number, big-endian |
//! | database | 4 | number, big-endian |
//! | container | 8 | database(4), number big-endian with the top bit set |
//! | user | 8 | database(4), number big-endian with the top bit clear |
//! | encryption key | 12 | database(4), number big-endian |
//! | item, script, range, … | 16 | container(8), ordinal little-endian, kind in the top nibble |
//! | permission | 16 | user(8), ordinal little-endian |
//! | attachment | 20 | item(16), number big-endian |
//! | managed media | 21 | attachment(20), `01`; not a rid, but made of one |
//!
//! Invariant: the length is one of those above, and bytes past it are zero.

use std::{cmp::Ordering, fmt, str::FromStr};

use base64::{
    Engine as _,
    alphabet::Alphabet,
    engine::{GeneralPurpose, general_purpose::PAD},
};

const BYTES_MAX: usize = 20;
const TEXT_BYTES_MAX: usize = BYTES_MAX.div_ceil(3) * 4;

/// The last byte of the id of managed media: which storage it lies in; there is one.
const MEDIA_MARK: u8 = 1;

/// The top bit of byte 4 tells containers from users.
const CONTAINER_MARK: u8 = 0x80;

/// Limit: ordinals inside a container, because the top nibble of the last byte holds the kind.
pub const ORDINAL_MAX: u64 = (1 << 60) - 1;

const ENGINE: GeneralPurpose = GeneralPurpose::new(&alphabet(), PAD);

const fn alphabet() -> Alphabet {
    const LETTERS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+-";
    match Alphabet::new(LETTERS) {
        Ok(alphabet) => alphabet,
        Err(_) => base64::alphabet::STANDARD, // unreachable; the test below pins the `-`
    }
}

/// The resource id of one resource. Wire: `_rid`.
///
/// Order: resources of one owner are ordered by their ordinal, hence by the time of creation.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Rid {
    length: u8,
    bytes: [u8; BYTES_MAX],
}

/// What lives directly in a container. The value is the top nibble of the last byte.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ChildKind {
    /// An item.
    Item = 0x0,
    /// A conflict.
    Conflict = 0x4,
    /// A range.
    Range = 0x5,
    /// A user-defined function.
    Udf = 0x6,
    /// A trigger.
    Trigger = 0x7,
    /// A stored procedure.
    StoredProcedure = 0x8,
}

/// What kind of resource a rid names.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RidKind {
    /// An offer (a throughput setting).
    Offer,
    /// A database.
    Database,
    /// A container.
    Container,
    /// A user.
    User,
    /// A permission of a user.
    Permission,
    /// A client encryption key.
    EncryptionKey,
    /// An item.
    Item,
    /// A conflict.
    Conflict,
    /// A range.
    Range,
    /// A user-defined function.
    Udf,
    /// A trigger.
    Trigger,
    /// A stored procedure.
    StoredProcedure,
    /// An attachment of an item.
    Attachment,
    /// A child of a container with a nibble that we do not use.
    Unknown,
}

impl Rid {
    /// Returns the rid of a database.
    pub fn database(number: u32) -> Rid {
        Rid::from_parts(&[&number.to_be_bytes()])
    }

    /// Returns the rid of a container. The top bit of `container` is not part of the number.
    pub fn container(database: u32, container: u32) -> Rid {
        let container = container | u32::from(CONTAINER_MARK) << 24;
        Rid::from_parts(&[&database.to_be_bytes(), &container.to_be_bytes()])
    }

    /// Returns the rid of a user. The top bit of `user` is not part of the number.
    pub fn user(database: u32, user: u32) -> Rid {
        let user = user & !(u32::from(CONTAINER_MARK) << 24);
        Rid::from_parts(&[&database.to_be_bytes(), &user.to_be_bytes()])
    }

    /// Returns the rid of something inside a container. `ordinal` is at most [`ORDINAL_MAX`].
    pub fn child(container: &Rid, kind: ChildKind, ordinal: u64) -> Rid {
        debug_assert!(ordinal <= ORDINAL_MAX, "the top nibble of an ordinal holds the kind");
        let word = ordinal & ORDINAL_MAX | (kind as u64) << 60;
        Rid::from_parts(&[container.owner(), &word.to_le_bytes()])
    }

    /// Returns the rid of an item.
    pub fn item(container: &Rid, ordinal: u64) -> Rid {
        Rid::child(container, ChildKind::Item, ordinal)
    }

    /// Returns the rid of an attachment of an item. Clients take the number zero for none.
    pub fn attachment(item: &Rid, number: u32) -> Rid {
        Rid::from_parts(&[item.bytes.get(..16).unwrap_or_default(), &number.to_be_bytes()])
    }

    /// Returns the rid of the item that an attachment belongs to, and the attachment's number.
    pub fn split_attachment(&self) -> Option<(Rid, u32)> {
        let (item, number) = self.as_bytes().split_first_chunk::<16>()?;
        let number = u32::from_be_bytes(number.try_into().ok()?);
        Some((Rid::from_parts(&[item]), number))
    }

    /// Returns the id of the media that the server keeps for an attachment. Wire: `media/<id>`.
    pub fn to_media_id(&self) -> String {
        ENGINE.encode([self.as_bytes(), &[MEDIA_MARK]].concat())
    }

    /// Reads the attachment out of the id of its media.
    pub fn from_media_id(text: &str) -> Option<Rid> {
        if text.len() > TEXT_BYTES_MAX {
            return None;
        }
        let mut bytes = [0; BYTES_MAX + 4];
        let length = ENGINE.decode_slice(text, &mut bytes).ok()?;
        match bytes.get(..length)?.split_last()? {
            (&MEDIA_MARK, rid) if rid.len() == BYTES_MAX => Rid::from_bytes(rid),
            _ => None,
        }
    }

    /// Returns the rid of a permission.
    pub fn permission(user: &Rid, ordinal: u64) -> Rid {
        Rid::from_parts(&[user.owner(), &(ordinal & ORDINAL_MAX).to_le_bytes()])
    }

    /// Returns the rid of a client encryption key.
    pub fn encryption_key(database: u32, ordinal: u64) -> Rid {
        Rid::from_parts(&[&database.to_be_bytes(), &ordinal.to_be_bytes()])
    }

    /// Returns the rid of an offer, from the lower 24 bits of `number`.
    pub fn offer(number: u32) -> Rid {
        Rid::from_parts(&[&number.to_be_bytes()[1..]])
    }

    /// Parses the wire form; `None` unless it is exactly what `to_string` would give.
    pub fn parse(text: &str) -> Option<Rid> {
        if text.len() > TEXT_BYTES_MAX {
            return None;
        }
        // The engine wants room for its estimate, which is up to two bytes more than the answer.
        let mut bytes = [0; BYTES_MAX + 4];
        let length = ENGINE.decode_slice(text, &mut bytes).ok()?;
        Rid::from_bytes(bytes.get(..length)?)
    }

    /// Takes the bytes of a rid; `None` if no resource has that length.
    pub fn from_bytes(bytes: &[u8]) -> Option<Rid> {
        matches!(bytes.len(), 3 | 4 | 8 | 12 | 16 | 20).then(|| Rid::from_parts(&[bytes]))
    }

    /// Returns what kind of resource this names.
    pub fn kind(&self) -> RidKind {
        match self.length {
            3 => RidKind::Offer,
            4 => RidKind::Database,
            8 if self.is_in_container() => RidKind::Container,
            8 => RidKind::User,
            12 => RidKind::EncryptionKey,
            16 if self.is_in_container() => self.child_kind(),
            16 => RidKind::Permission,
            _ => RidKind::Attachment,
        }
    }

    /// Returns the rid of the database around this resource; of an offer, itself.
    #[must_use]
    pub fn database_rid(&self) -> Rid {
        if self.length < 4 { *self } else { Rid::from_parts(&[&self.bytes[..4]]) }
    }

    /// Returns the rid of the container that this is or is in.
    pub fn container_rid(&self) -> Option<Rid> {
        let is_deep_enough = matches!(self.length, 8 | 16 | 20);
        (is_deep_enough && self.is_in_container()).then(|| Rid::from_parts(&[&self.bytes[..8]]))
    }

    /// Returns the number of this resource among its siblings, if its layout has one of 64 bits.
    pub fn ordinal(&self) -> Option<u64> {
        match self.length {
            12 => Some(u64::from_be_bytes(self.word(4))),
            16 | 20 => Some(self.ordinal_word() & ORDINAL_MAX),
            _ => None,
        }
    }

    /// Returns the bytes behind the text.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.length)]
    }

    /// Lends the text.
    pub(crate) fn with_text<T>(&self, read: impl FnOnce(&[u8]) -> T) -> T {
        let mut text = [0; TEXT_BYTES_MAX];
        // Invariant: the text of every rid fits.
        let length = ENGINE.encode_slice(self.as_bytes(), &mut text).unwrap_or_default();
        read(&text[..length])
    }

    fn from_parts(parts: &[&[u8]]) -> Rid {
        let mut rid = Rid { length: 0, bytes: [0; BYTES_MAX] };
        for part in parts {
            let start = usize::from(rid.length);
            let end = (start + part.len()).min(BYTES_MAX);
            rid.bytes[start..end].copy_from_slice(&part[..end - start]);
            rid.length = u8::try_from(end).unwrap_or(u8::MAX);
        }
        rid
    }

    /// The first eight bytes: the container or user that this is or is in.
    fn owner(&self) -> &[u8] {
        &self.bytes[..8]
    }

    fn is_in_container(&self) -> bool {
        self.bytes[4] & CONTAINER_MARK != 0
    }

    fn word(&self, start: usize) -> [u8; 8] {
        let mut word = [0; 8];
        word.copy_from_slice(&self.bytes[start..start + 8]);
        word
    }

    fn ordinal_word(&self) -> u64 {
        u64::from_le_bytes(self.word(8))
    }

    fn child_kind(&self) -> RidKind {
        match self.bytes[15] >> 4 {
            0x0 => RidKind::Item,
            0x4 => RidKind::Conflict,
            0x5 => RidKind::Range,
            0x6 => RidKind::Udf,
            0x7 => RidKind::Trigger,
            0x8 => RidKind::StoredProcedure,
            _ => RidKind::Unknown,
        }
    }
}

impl Ord for Rid {
    fn cmp(&self, other: &Rid) -> Ordering {
        // Invariant: bytes past the length are zero, so words of short rids are comparable too.
        let owners = self.owner().cmp(other.owner());
        let ordinals = || match (self.length, other.length) {
            (12, 12) => self.bytes.cmp(&other.bytes),
            _ => self.ordinal_word().cmp(&other.ordinal_word()),
        };
        let rest = || self.bytes[16..].cmp(&other.bytes[16..]).then(self.length.cmp(&other.length));
        owners.then_with(ordinals).then_with(rest)
    }
}

impl PartialOrd for Rid {
    fn partial_cmp(&self, other: &Rid) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for Rid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.with_text(|text| f.write_str(std::str::from_utf8(text).map_err(|_| fmt::Error)?))
    }
}

impl fmt::Debug for Rid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Rid({self})")
    }
}

/// A text that is no resource id.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a resource id")]
pub struct RidError;

impl FromStr for Rid {
    type Err = RidError;

    fn from_str(text: &str) -> Result<Rid, RidError> {
        Rid::parse(text).ok_or(RidError)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layouts_are_those_that_clients_parse() {
        let database = Rid::database(0x0100_0000);
        assert_eq!(database.to_string(), "AQAAAA==");
        let container = Rid::container(0x0100_0000, 0x1D1F_8137);
        assert_eq!(container.to_string(), "AQAAAJ0fgTc=");
        let range = Rid::child(&container, ChildKind::Range, 2);
        assert_eq!(range.to_string(), "AQAAAJ0fgTcCAAAAAAAAUA==");
        assert_eq!(Rid::offer(0x0095_4B57).to_string(), "lUtX");
        assert_eq!(Rid::user(1, u32::MAX).as_bytes()[4], 0x7F);
    }

    #[test]
    fn kinds_and_owners_are_read_from_the_bytes() {
        let container = Rid::container(7, 9);
        let user = Rid::user(7, 9);
        #[rustfmt::skip]
        let table = [
            (Rid::offer(5), RidKind::Offer, None, None),
            (Rid::database(7), RidKind::Database, None, None),
            (container, RidKind::Container, Some(container), None),
            (user, RidKind::User, None, None),
            (Rid::permission(&user, 3), RidKind::Permission, None, Some(3)),
            (Rid::encryption_key(7, 4), RidKind::EncryptionKey, None, Some(4)),
            (Rid::item(&container, ORDINAL_MAX), RidKind::Item, Some(container), Some(ORDINAL_MAX)),
            (Rid::child(&container, ChildKind::Conflict, 1), RidKind::Conflict, Some(container), Some(1)),
            (Rid::child(&container, ChildKind::Range, 1), RidKind::Range, Some(container), Some(1)),
            (Rid::child(&container, ChildKind::Udf, 1), RidKind::Udf, Some(container), Some(1)),
            (Rid::child(&container, ChildKind::Trigger, 1), RidKind::Trigger, Some(container), Some(1)),
            (Rid::child(&container, ChildKind::StoredProcedure, 1), RidKind::StoredProcedure, Some(container), Some(1)),
        ];
        for (rid, kind, container, ordinal) in table {
            assert_eq!(rid.kind(), kind, "{rid}");
            assert_eq!(rid.container_rid(), container, "{rid}");
            assert_eq!(rid.ordinal(), ordinal, "{rid}");
            assert_eq!(Rid::parse(&rid.to_string()), Some(rid));
            if kind != RidKind::Offer {
                assert_eq!(rid.database_rid(), Rid::database(7), "{rid}");
            }
        }
    }

    #[test]
    fn attachments_are_below_their_item_and_media_below_them() {
        let item = Rid::item(&Rid::container(7, 9), 5);
        let attachment = Rid::attachment(&item, 0x0102_0304);
        assert_eq!(attachment.kind(), RidKind::Attachment);
        assert_eq!(attachment.split_attachment(), Some((item, 0x0102_0304)));
        assert_eq!(attachment.container_rid(), Some(Rid::container(7, 9)));
        assert_eq!(item.split_attachment(), None);
        let media = attachment.to_media_id();
        assert_eq!(media.len(), 28);
        assert_eq!(Rid::from_media_id(&media), Some(attachment));
        for bad in ["", "AAAA", &attachment.to_string(), &media[..24], &media.replace('B', "A")] {
            assert_ne!(Rid::from_media_id(bad), Some(attachment), "{bad}");
        }
        // Wire: how clients read ids of the service.
        let known = Rid::from_media_id("6hl2ALdWbQCxAgAAAAAAAC4-1VoB").map(|rid| rid.to_string());
        assert_eq!(known.as_deref(), Some("6hl2ALdWbQCxAgAAAAAAAC4-1Vo="));
    }

    #[test]
    fn slashes_become_dashes() {
        let rid = Rid::database(u32::MAX);
        assert_eq!(rid.to_string(), "-----w==");
        assert_eq!(Rid::parse("-----w=="), Some(rid));
        assert_eq!(Rid::parse("/////w=="), None);
    }

    #[test]
    fn other_texts_are_not_rids() {
        let long = "A".repeat(1 << 20);
        for bad in
            ["", "A", "AQAAAA", "AQAAAA=", "AQAAAB==", "AQAA AA==", "AAAAAAAA", "é===", &long]
        {
            assert_eq!(Rid::parse(bad), None, "{bad:.20}");
        }
    }

    #[test]
    fn items_sort_by_ordinal_not_by_bytes() {
        let container = Rid::container(1, 1);
        let ordinals = [0, 1, 255, 256, 65_536, 1 << 40, ORDINAL_MAX];
        let rids: Vec<Rid> = ordinals.iter().map(|&n| Rid::item(&container, n)).collect();
        assert!(rids.is_sorted());
        assert!(Rid::item(&container, 5) < Rid::item(&Rid::container(1, 2), 1));
        assert!(Rid::encryption_key(1, 1) < Rid::encryption_key(1, 256));
    }
}
