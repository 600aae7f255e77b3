//! Byte strings written by hand from the table of the format, and bytes without meaning.

use proptest::prelude::*;

use super::*;
use crate::json::error::JsonFault;

#[track_caller]
fn check(hex: &str, expected: &str) {
    let bytes: Vec<u8> = hex.split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
    assert_eq!(String::from_utf8(to_text(&bytes).unwrap()).unwrap(), expected, "{hex}");
}

#[track_caller]
fn refuse(hex: &str, expected: BinaryError) {
    let bytes: Vec<u8> = hex.split(' ').map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
    assert_eq!(to_text(&bytes), Err(expected), "{hex}");
}

#[test]
fn scalars() {
    check("80 D0", "null");
    check("80 D1", "false");
    check("80 D2", "true");
    check("80 00", "0");
    check("80 1F", "31");
    check("80 C8 C8", "200");
    check("80 C9 18 FC", "-1000");
    check("80 CA 70 11 01 00", "70000");
    check("80 CB 00 0E FA D5 FE FF FF FF", "-5000000000");
    check("80 C7 FE FF FF FF FF FF FF FF", "18446744073709551614");
    check("80 CC 00 00 00 00 00 00 0C 40", "3.5");
    check("80 D8 FB", "-5");
    check("80 DC FE FF FF FF", "4294967294");
    check("80 CD 00 00 C0 3F", "1.5");
}

#[test]
fn strings() {
    check("80 2C", "\"id\"");
    check("80 3F", "\"_id\"");
    check("80 80", "\"\"");
    check("80 82 68 22", "\"h\\\"\"");
    check("80 C0 02 C3 A9", "\"é\"");
    check("80 C1 01 00 61", "\"a\"");
    check("80 C2 01 00 00 00 61", "\"a\"");
    // "ab" and "abc" as two characters a byte; the last half of an odd length is empty.
    check("80 78 02 BA", "\"ab\"");
    check("80 78 03 BA 0C", "\"abc\"");
    check("80 7A 03 32 0B", "\"12:\"");
    // Four bits a character over the base 'a': 0, 1, 2.
    check("80 7B 03 61 10 02", "\"abc\"");
    // Seven bits a character: 'A' (41) and 'B' (42) fill fourteen bits.
    check("80 7E 02 41 21", "\"AB\"");
    check("80 71 01 00 00 00 00", "\"AAAA\"");
    check("80 71 01 01 00 00", "\"AAA=\"");
    check("80 71 01 FE 00 00", "\"AAA\"");
}

#[test]
fn guids() {
    let bytes = "10 32 54 76 98 BA DC FE 10 32 54 76 98 BA DC FE";
    check(&format!("80 75 {bytes}"), "\"01234567-89ab-cdef-0123-456789abcdef\"");
    check(&format!("80 76 {bytes}"), "\"01234567-89AB-CDEF-0123-456789ABCDEF\"");
    check(&format!("80 77 {bytes}"), "\"\\\"01234567-89ab-cdef-0123-456789abcdef\\\"\"");
    let value = "67 45 23 01 AB 89 EF CD 01 23 45 67 89 AB CD EF";
    check(&format!("80 D3 {value}"), "\"01234567-89ab-cdef-0123-456789abcdef\"");
}

#[test]
fn containers() {
    check("80 E0", "[]");
    check("80 E1 01", "[1]");
    check("80 E2 02 01 02", "[1,2]");
    check("80 E6 02 00 02 00 01 02", "[1,2]");
    check("80 E8", "{}");
    check("80 E9 2C 81 61", "{\"id\":\"a\"}");
    check("80 EA 05 2C 81 61 3C 01", "{\"id\":\"a\",\"value\":1}");
    check("80 ED 05 02 2C 81 61 3C 01", "{\"id\":\"a\",\"value\":1}");
    check("80 F0 D7 02 01 FF", "[1,255]");
    check("80 F2 F0 D7 02 02 01 02 03 04", "[[1,2],[3,4]]");
}

#[test]
fn references_repeat_an_earlier_string() {
    // {"ab": "ab"}: the name stands at offset 2, the value points there.
    check("80 E9 82 61 62 C3 02", "{\"ab\":\"ab\"}");
    refuse("80 E1 C3 02", BinaryError::Marker(0xC3));
    refuse("80 E1 C3 09", BinaryError::Truncated);
}

#[test]
fn malformed_bodies_are_refused() {
    refuse("80", BinaryError::Truncated);
    refuse("80 FF", BinaryError::Marker(0xFF));
    refuse("80 40", BinaryError::Marker(0x40));
    refuse("80 D0 D0", BinaryError::Length);
    refuse("80 E5 02 03 01 02", BinaryError::Length);
    refuse("80 E2 09 01", BinaryError::Truncated);
    refuse("80 E9 01 01", BinaryError::Marker(0x01));
    refuse("80 81 FF", BinaryError::Utf8);
    refuse("80 CC 00 00 00 00 00 00 F0 7F", BinaryError::NotFinite);
}

#[test]
fn deep_nesting_and_long_expansions_are_refused() {
    let mut deep = vec![PREAMBLE];
    deep.extend(std::iter::repeat_n(0xE1, 100_000));
    assert_eq!(to_text(&deep), Err(BinaryError::TooDeep));

    // One string of 60 KB and 60,000 references to it.
    let mut wide = vec![PREAMBLE, 0xE4, 0, 0, 0, 0, 0xC1, 0x60, 0xEA];
    wide.extend(std::iter::repeat_n(b'a', 60_000));
    for _ in 0..60_000 {
        wide.extend([0xC3, 6]);
    }
    let n_bytes = u32::try_from(wide.len() - 6).unwrap();
    wide[2..6].copy_from_slice(&n_bytes.to_le_bytes());
    assert_eq!(to_text(&wide), Err(BinaryError::TooLarge));
}

proptest! {
    #[test]
    fn any_bytes_end_in_valid_json_or_an_error(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
        let mut body = vec![PREAMBLE];
        body.extend(bytes);
        if let Ok(text) = to_text(&body) {
            prop_assert!(std::str::from_utf8(&text).is_ok());
            // Two members of one name are left to the item reader, which refuses them.
            let is_fine = match crate::json::parse(&text) {
                Ok(_) => true,
                Err(error) => matches!(error.fault, JsonFault::DuplicateName | JsonFault::Depth),
            };
            prop_assert!(is_fine, "{}", String::from_utf8_lossy(&text));
        }
    }
}
