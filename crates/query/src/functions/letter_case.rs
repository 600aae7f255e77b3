//! Upper and lower case, letter by letter.
//!
//! Wire: the service has pairs of letters, as of Unicode 5.1: a letter is mapped only if its counterpart is mapped back to it.
//! So `ς`, `ſ`, `µ` and `ı` stay as they are.

/// Small letters that got their capital after Unicode 5.1.
#[rustfmt::skip]
const LATE: &[(char, char)] = &[
    ('\u{19b}', '\u{19b}'), ('\u{264}', '\u{264}'), ('\u{1c8a}', '\u{1c8a}'), ('\u{23f}', '\u{240}'), ('\u{252}', '\u{252}'), ('\u{25c}', '\u{25c}'), ('\u{261}', '\u{261}'), ('\u{265}', '\u{266}'),
    ('\u{26a}', '\u{26a}'), ('\u{26c}', '\u{26c}'), ('\u{282}', '\u{282}'), ('\u{287}', '\u{287}'), ('\u{29d}', '\u{29e}'), ('\u{3f3}', '\u{3f3}'),
    ('\u{525}', '\u{52f}'), ('\u{10d0}', '\u{10ff}'), ('\u{13f8}', '\u{13fd}'), ('\u{1d8e}', '\u{1d8e}'), ('\u{2c5f}', '\u{2c5f}'),
    ('\u{2cec}', '\u{2cee}'), ('\u{2cf3}', '\u{2cf3}'), ('\u{2d27}', '\u{2d27}'), ('\u{2d2d}', '\u{2d2d}'), ('\u{a661}', '\u{a661}'),
    ('\u{a699}', '\u{a69b}'), ('\u{a791}', '\u{a794}'), ('\u{a797}', '\u{a7db}'), ('\u{a7f6}', '\u{a7f6}'), ('\u{ab53}', '\u{ab53}'),
    ('\u{ab70}', '\u{abbf}'),
];

/// Returns the capital of a letter, or what is given.
pub(super) fn upper(c: char) -> char {
    if c.is_ascii() {
        return c.to_ascii_uppercase();
    }
    let is_late = LATE.iter().any(|(first, last)| (*first..=*last).contains(&c));
    let capital = with_iota(c, true).unwrap_or_else(|| single(c, c.to_uppercase()));
    let small =
        with_iota(capital, false).unwrap_or_else(|| single(capital, capital.to_lowercase()));
    if small == c && !is_late { capital } else { c }
}

/// Returns the small form of a letter, or what is given.
pub(super) fn lower(c: char) -> char {
    if c.is_ascii() {
        return c.to_ascii_lowercase();
    }
    let small = with_iota(c, false).unwrap_or_else(|| single(c, c.to_lowercase()));
    if upper(small) == c { small } else { c }
}

/// Greek vowels with an iota below: Unicode writes their capitals as two letters, and has single ones for titles.
fn with_iota(c: char, is_upper: bool) -> Option<char> {
    let code = u32::from(c);
    let distance = match code {
        0x1F80..=0x1FAF => 8,
        0x1FB3 | 0x1FBC | 0x1FC3 | 0x1FCC | 0x1FF3 | 0x1FFC => 9,
        _ => return None,
    };
    let is_small = if distance == 8 { code & 8 == 0 } else { code & 0xF == 3 };
    match (is_small, is_upper) {
        (true, true) => char::from_u32(code + distance),
        (false, false) => char::from_u32(code - distance),
        _ => Some(c),
    }
}

/// Maps a character to one other; mappings to several characters are not used.
fn single(c: char, mut mapped: impl Iterator<Item = char>) -> char {
    match (mapped.next(), mapped.next()) {
        (Some(single), None) => single,
        _ => c,
    }
}

#[cfg(test)]
mod tests {
    use super::{lower, upper};

    #[test]
    fn letters_come_in_pairs() {
        for (small, capital) in [
            ('a', 'A'),
            ('ÿ', 'Ÿ'),
            ('σ', 'Σ'),
            ('\u{1f80}', '\u{1f88}'),
            ('\u{1fb3}', '\u{1fbc}'),
            ('ж', 'Ж'),
        ] {
            assert_eq!((upper(small), lower(capital)), (capital, small));
            assert_eq!((lower(small), upper(capital)), (small, capital));
        }
        for alone in [
            'ς', 'ſ', 'µ', 'ı', 'ß', 'İ', '\u{10d0}', '\u{1c90}', '\u{13a0}', '\u{ab70}',
            '\u{1c5}', '\u{212a}',
        ] {
            assert_eq!((upper(alone), lower(alone)), (alone, alone), "{alone}");
        }
        // The service has so many pairs beyond ASCII in the basic plane.
        let n_pairs = ('\u{80}'..='\u{ffef}').filter(|c| upper(*c) != *c).count();
        assert_eq!(n_pairs, 947);
        assert_eq!(('\u{80}'..='\u{ffef}').filter(|c| lower(*c) != *c).count(), n_pairs);
    }
}
