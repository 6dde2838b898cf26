//! Text as Python has it: the same white space, the same lengths, the same stripping.

use std::borrow::Cow;

/// What `str.split()` and `str.strip()` take for white space.
pub fn is_space(c: char) -> bool {
    matches!(c, '\x1c'..='\x1f') || c.is_whitespace()
}

/// As `std::str::from_utf8` has it, in a fourth of the time where one letter in thirty is not ASCII.
pub fn is_utf8(bytes: &[u8]) -> bool {
    const HIGH: u64 = 0x8080_8080_8080_8080;
    let continues = |at: usize| bytes.get(at).is_some_and(|byte| byte & 0xc0 == 0x80);
    let between = |at: usize, low: u8, high: u8| bytes.get(at).is_some_and(|byte| (low..=high).contains(byte));
    let mut at = 0;
    loop {
        while let Some(Ok(eight)) = bytes.get(at..at + 8).map(<[u8; 8]>::try_from) {
            let high = u64::from_le_bytes(eight) & HIGH;
            if high != 0 {
                at += high.trailing_zeros() as usize / 8;
                break;
            }
            at += 8;
        }
        let Some(&first) = bytes.get(at) else { return true };
        let is_good = match first {
            0..=0x7f => true,
            0xc2..=0xdf => continues(at + 1),
            0xe0 => between(at + 1, 0xa0, 0xbf) && continues(at + 2),
            0xed => between(at + 1, 0x80, 0x9f) && continues(at + 2), // no halves of surrogate pairs
            0xe1..=0xef => continues(at + 1) && continues(at + 2),
            0xf0 => between(at + 1, 0x90, 0xbf) && continues(at + 2) && continues(at + 3),
            0xf1..=0xf3 => continues(at + 1) && continues(at + 2) && continues(at + 3),
            0xf4 => between(at + 1, 0x80, 0x8f) && continues(at + 2) && continues(at + 3),
            _ => false,
        };
        if !is_good {
            return false;
        }
        at += width(first);
    }
}

/// How many bytes a character has that begins so.
pub fn width(first: u8) -> usize {
    match first {
        0..=0xbf => 1,
        0xc0..=0xdf => 2,
        0xe0..=0xef => 3,
        _ => 4,
    }
}

pub fn stripped(text: &str) -> &str {
    text.trim_matches(is_space)
}

pub fn stripped_right(text: &str) -> &str {
    text.trim_end_matches(is_space)
}

pub fn words(text: &str) -> impl Iterator<Item = &str> {
    text.split(is_space).filter(|word| !word.is_empty())
}

/// Every run of white space becomes one space, behind what is in `out` already.
pub fn fold_into(text: &str, out: &mut String) {
    let bytes = text.as_bytes();
    let (mut start, mut at, mut is_first) = (0, 0, true);
    let mut add = |from: usize, to: usize| {
        if from < to {
            if !is_first {
                out.push(' ');
            }
            is_first = false;
            out.push_str(&text[from..to]);
        }
    };
    while at < bytes.len() {
        let byte = bytes[at];
        let spaces = if byte < 0x80 {
            usize::from(matches!(byte, b'\t'..=b'\r' | 0x1c..=b' '))
        } else if matches!(byte, 0xc2 | 0xe1..=0xe3) {
            // The characters that are white space beyond ASCII begin with one of these.
            text[at..].chars().next().filter(|&c| is_space(c)).map_or(0, char::len_utf8)
        } else {
            0
        };
        if spaces > 0 {
            add(start, at);
            at += spaces;
            start = at;
        } else {
            at += width(byte);
        }
    }
    add(start, bytes.len());
}

pub fn folded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    fold_into(text, &mut out);
    out
}

/// Whether folding would change a stripped text; as `_has_odd_spaces` in html.py, for one block.
pub fn has_odd_spaces(text: &str) -> bool {
    // Without a way out on the way: so the compiler looks at many bytes at once.
    let bytes = text.as_bytes();
    let odd = bytes.iter().fold(false, |odd, &byte| odd | matches!(byte, b'\t' | b'\n' | 0x0b | b'\r'));
    let seconds = bytes.get(1..).unwrap_or(&[]);
    let pair = |one: u8, two: u8| (one == b' ' && two == b' ') | (one == 0xc2 && two == 0xa0);
    let odd = odd | bytes.iter().zip(seconds).fold(false, |odd, (&one, &two)| odd | pair(one, two));
    odd || (!text.is_ascii() && text.contains('\u{3000}'))
}

/// Its length as Python counts it.
pub fn chars(text: &str) -> usize {
    if text.is_ascii() {
        return text.len();
    }
    // Few enough at a time that a byte can count them.
    let starts = |bytes: &[u8]| bytes.iter().fold(0u8, |count, &byte| count + u8::from(byte & 0xc0 != 0x80));
    text.as_bytes().chunks(255).map(|bytes| usize::from(starts(bytes))).sum()
}

/// The first so many characters.
pub fn cut(text: &str, most: usize) -> &str {
    if text.len() <= most {
        return text;
    }
    if text.as_bytes()[..most].is_ascii() {
        return &text[..most];
    }
    let (mut at, mut left) = (0, most);
    while left >= 64 && at + 64 <= text.len() {
        let starts = text.as_bytes()[at..at + 64].iter().fold(0u8, |count, &byte| count + u8::from(byte & 0xc0 != 0x80));
        at += 64;
        left -= usize::from(starts);
    }
    // To the start of a character, then one by one.
    while !text.is_char_boundary(at) {
        at += 1;
    }
    text[at..].char_indices().nth(left).map_or(text, |(more, _)| &text[..at + more])
}

pub fn lower(text: &str) -> Cow<'_, str> {
    if text.bytes().any(|byte| byte >= 0x80) {
        Cow::Owned(text.to_lowercase())
    } else if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(text.to_ascii_lowercase())
    } else {
        Cow::Borrowed(text)
    }
}

/// Before and behind the first of a character; all and nothing where there is none.
pub fn partition(text: &str, sign: char) -> (&str, Option<&str>) {
    match text.split_once(sign) {
        Some((before, behind)) => (before, Some(behind)),
        None => (text, None),
    }
}
