//! Text as Python has it: the same white space, the same lengths, the same stripping.

use std::borrow::Cow;

/// What `str.split()` and `str.strip()` take for white space.
pub fn is_space(c: char) -> bool {
    matches!(c, '\x1c'..='\x1f') || c.is_whitespace()
}

/// Bytes that may be UTF-8; what is not becomes U+FFFD.
pub fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    match std::str::from_utf8(bytes) {
        Ok(text) => Cow::Borrowed(text),
        Err(_) => String::from_utf8_lossy(bytes),
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
        let width = if byte < 0x80 {
            usize::from(matches!(byte, b'\t'..=b'\r' | 0x1c..=b' '))
        } else if matches!(byte, 0xc2 | 0xe1..=0xe3) {
            // The characters that are white space beyond ASCII begin with one of these.
            text[at..].chars().next().filter(|&c| is_space(c)).map_or(0, char::len_utf8)
        } else {
            0
        };
        if width > 0 {
            add(start, at);
            at += width;
            start = at;
        } else {
            at += if byte < 0xc0 { 1 } else if byte < 0xe0 { 2 } else if byte < 0xf0 { 3 } else { 4 };
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
