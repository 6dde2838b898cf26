//! Whether a page may explode in a parser: as in `process/markup/nesting.py` and `tags.py`.
//!
//! What has to be cut is cut by the Python code; here it is only told. What has to be rewritten is rewritten here.

use std::borrow::Cow;
use std::collections::HashMap;

use crate::tables::Quick;

const SMALL_BYTES: usize = 32_768;
const LARGE_BYTES: usize = 65_536;
const BLOCK_BYTES: usize = 16_384;
const OPEN_HARMLESS: usize = 500;
const OPEN_HARMLESS_SMALL: isize = 1000;
const COPIES_MAX: usize = 500_000;
const ATTRIBUTES_MAX: usize = 500;
const STRETCH_BYTES: usize = 2048;

const FORMATTING: &[&[u8]] =
    &[b"b", b"big", b"code", b"em", b"font", b"i", b"nobr", b"s", b"small", b"strike", b"strong", b"tt", b"u"];
const VOID: &[&[u8]] = &[
    b"area", b"base", b"br", b"col", b"embed", b"frame", b"hr", b"img", b"input", b"link", b"meta", b"param",
    b"source", b"track", b"wbr",
];
const CLOSED_BY_NEXT: &[&[u8]] = &[b"p", b"li", b"dt", b"dd"];
const CLOSED_BY_NEXT_OUTSIDE: &[&[u8]] =
    &[b"a", b"td", b"th", b"tr", b"tbody", b"thead", b"tfoot", b"option", b"optgroup"];
const RAW: &[&[u8]] =
    &[b"script", b"style", b"textarea", b"title", b"xmp", b"iframe", b"noembed", b"noframes"];

/// The page must be cut, which Python does.
pub struct MustBeCut;

pub fn harmless(markup: &[u8]) -> Result<Cow<'_, [u8]>, MustBeCut> {
    let size = markup.len();
    if size < LARGE_BYTES && (size < SMALL_BYTES || !may_have_many_attributes(markup)) {
        return if may_hold_much_open(markup) { Err(MustBeCut) } else { Ok(Cow::Borrowed(markup)) };
    }
    let mut markup = replaced(markup, b"<![CDATA[", b"<! CDATA[");
    let mut tags = Tags::of(&markup);
    if tags.has_nameless || tags.hold_markup() {
        markup = Cow::Owned(rewritten(&markup));
        tags = Tags::of(&markup);
    }
    if tags.has_nameless || tags.hold_much_open() { Err(MustBeCut) } else { Ok(markup) }
}

fn replaced<'m>(markup: &'m [u8], what: &[u8], by: &[u8]) -> Cow<'m, [u8]> {
    let Some(mut found) = find(markup, what, 0) else { return Cow::Borrowed(markup) };
    let mut out = Vec::with_capacity(markup.len() + 16);
    let mut at = 0;
    loop {
        out.extend_from_slice(&markup[at..found]);
        out.extend_from_slice(by);
        at = found + what.len();
        match find(markup, what, at) {
            Some(next) => found = next,
            None => break,
        }
    }
    out.extend_from_slice(&markup[at..]);
    Cow::Owned(out)
}

fn find(bytes: &[u8], what: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at = find_byte(bytes, what[0], at);
        if at >= bytes.len() {
            return None;
        }
        if bytes[at..].starts_with(what) {
            return Some(at);
        }
        at += 1;
    }
}

/// The place of a byte, or the end.
pub fn find_byte(bytes: &[u8], byte: u8, from: usize) -> usize {
    const ONES: u64 = u64::from_ne_bytes([1; 8]);
    const HIGH: u64 = ONES << 7;
    let pattern = ONES * u64::from(byte);
    let mut at = from;
    while let Some(chunk) = bytes.get(at..at + 8) {
        let mut eight = [0; 8];
        eight.copy_from_slice(chunk);
        let different = u64::from_le_bytes(eight) ^ pattern;
        let hit = different.wrapping_sub(ONES) & !different & HIGH;
        if hit != 0 {
            return at + hit.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    bytes.get(at..).and_then(|rest| rest.iter().position(|&each| each == byte)).map_or(bytes.len(), |more| at + more)
}

fn count(bytes: &[u8], byte: u8) -> usize {
    // Few enough at a time that a byte can count them: so the compiler looks at many at once.
    let few = |bytes: &[u8]| bytes.iter().fold(0u8, |count, &each| count + u8::from(each == byte));
    bytes.chunks(255).map(|bytes| usize::from(few(bytes))).sum()
}

fn may_hold_much_open(markup: &[u8]) -> bool {
    if count(markup, b'<') < OPEN_HARMLESS_SMALL as usize {
        return false;
    }
    let mut opened = 0isize;
    for block in markup.chunks(BLOCK_BYTES) {
        let tags = count(block, b'<') as isize;
        let ends = block.windows(2).filter(|pair| *pair == b"</").count() as isize;
        if opened + tags - ends > OPEN_HARMLESS_SMALL {
            return true;
        }
        opened = 0.max(opened + tags - 2 * ends);
    }
    false
}

fn may_have_many_attributes(markup: &[u8]) -> bool {
    let stretches = markup.len().saturating_sub(STRETCH_BYTES).div_ceil(STRETCH_BYTES);
    let is_long = |number: usize| {
        let at = number * STRETCH_BYTES;
        find_byte(&markup[at..at + STRETCH_BYTES], b'>', 0) == STRETCH_BYTES
    };
    (0..stretches).any(is_long) || has_hidden_end(markup)
}

/// A `>` in the value of an attribute.
fn has_hidden_end(markup: &[u8]) -> bool {
    let mut at = 0;
    loop {
        at = find_byte(markup, b'=', at) + 1;
        if at >= markup.len() {
            return false;
        }
        let quote_at = at + spaces(&markup[at..]);
        if let Some(&quote @ (b'"' | b'\'')) = markup.get(quote_at) {
            let end = markup[quote_at + 1..].iter().find(|&&byte| byte == quote || byte == b'>');
            if end == Some(&b'>') {
                return true;
            }
        }
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\x0c' | b'\r')
}

fn spaces(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|&&byte| is_space(byte)).count()
}

fn spaces_and_slashes(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|&&byte| is_space(byte) || byte == b'/').count()
}

/// The end of a name that begins here: `/?[a-zA-Z][^ />]*`.
fn name_end(markup: &[u8], at: usize) -> Option<usize> {
    let first = at + usize::from(markup.get(at) == Some(&b'/'));
    if !markup.get(first).is_some_and(u8::is_ascii_alphabetic) {
        return None;
    }
    Some(first + markup[first..].iter().take_while(|&&byte| !is_space(byte) && byte != b'/' && byte != b'>').count())
}

/// The end of one attribute that begins here, with what is before it; None: there is none.
fn attribute_end(markup: &[u8], at: usize) -> Option<usize> {
    let mut at = at + spaces_and_slashes(&markup[at..]);
    if matches!(markup.get(at), None | Some(b'>')) {
        return None;
    }
    at += 1;
    at += markup[at..].iter().take_while(|&&byte| !is_space(byte) && !matches!(byte, b'/' | b'>' | b'=')).count();
    let equals = at + spaces(&markup[at..]);
    if markup.get(equals) != Some(&b'=') {
        return Some(at);
    }
    at = equals + 1;
    at += spaces(&markup[at..]);
    Some(match markup.get(at) {
        Some(&quote @ (b'"' | b'\'')) => (find_byte(markup, quote, at + 1) + 1).min(markup.len()),
        Some(b'>') | None => at,
        Some(_) => at + markup[at..].iter().take_while(|&&byte| !is_space(byte) && byte != b'>').count(),
    })
}

/// Behind at most so many attributes as a tag may have.
fn few_end(markup: &[u8], at: usize) -> usize {
    let mut end = at;
    for _ in 0..ATTRIBUTES_MAX {
        match attribute_end(markup, end) {
            Some(next) => end = next,
            None => break,
        }
    }
    end
}

/// Behind the `>` of a tag whose attributes end here; None: there are more of them.
fn tag_end(markup: &[u8], at: usize) -> Option<usize> {
    let at = at + spaces_and_slashes(&markup[at..]);
    match markup.get(at) {
        Some(b'>') => Some(at + 1),
        None => Some(at),
        Some(_) => None,
    }
}

/// Up to the next tag: text, comments and what is taken for comments.
fn no_tags_end(markup: &[u8], at: usize) -> usize {
    let mut at = find_byte(markup, b'<', at);
    while at < markup.len() && name_end(markup, at + 1).is_none() {
        at = not_a_tag_end(markup, at + 1);
        at = find_byte(markup, b'<', at);
    }
    at
}

/// Behind a comment, or what is taken for one, whose `<` is before this place.
fn not_a_tag_end(markup: &[u8], at: usize) -> usize {
    let rest = &markup[at..];
    if rest.starts_with(b"!--") {
        let inner = at + 3;
        if markup[inner..].starts_with(b"->") {
            return inner + 2;
        }
        if markup[inner..].starts_with(b">") {
            return inner + 1;
        }
        let mut from = inner;
        loop {
            from = find_byte(markup, b'-', from);
            if from >= markup.len() {
                return markup.len();
            }
            if markup[from..].starts_with(b"-->") {
                return from + 3;
            }
            if markup[from..].starts_with(b"--!>") {
                return from + 4;
            }
            from += 1;
        }
    }
    if matches!(rest.first(), Some(b'!' | b'?' | b'/')) {
        return (find_byte(markup, b'>', at + 1) + 1).min(markup.len());
    }
    at
}

/// The number of the raw element whose name begins here, and the end of the name.
fn raw_name(markup: &[u8], at: usize) -> Option<(usize, usize)> {
    if !matches!(markup.get(at)?.to_ascii_lowercase(), b's' | b't' | b'x' | b'i' | b'n') {
        return None;
    }
    RAW.iter().enumerate().find_map(|(number, name)| {
        let end = at + name.len();
        let is_it = markup.get(at..end)?.eq_ignore_ascii_case(name);
        let is_whole = markup.get(end).is_some_and(|&byte| is_space(byte) || byte == b'/' || byte == b'>');
        (is_it && is_whole).then_some((number, end))
    })
}

/// Whether something like a comment is the first markup behind a raw element that begins here.
fn is_raw_with_comment(markup: &[u8], at: usize) -> bool {
    let Some((_, name_end_at)) = raw_name(markup, at) else { return false };
    let Some(mut at) = tag_end(markup, few_end(markup, name_end_at)) else { return false };
    loop {
        at = find_byte(markup, b'<', at);
        if at >= markup.len() {
            return false;
        }
        if markup.get(at + 1).is_some_and(|byte| byte.is_ascii_alphabetic() || matches!(byte, b'!' | b'?' | b'/')) {
            return name_end(markup, at + 1).is_none();
        }
        at += 1;
    }
}

/// The tags of a page as the parser will see them, by numbers for their names.
struct Tags {
    all: Vec<u32>, // twice the number of the name, and one where it ends something
    names: HashMap<Vec<u8>, u32, Quick>,
    has_nameless: bool,
}

impl Tags {
    fn of(markup: &[u8]) -> Self {
        let mut tags = Tags { all: Vec::with_capacity(markup.len() / 20), names: HashMap::default(), has_nameless: false };
        let mut small = Vec::new();
        let mut at = no_tags_end(markup, 0);
        while at < markup.len() {
            let named = name_end(markup, at + 1).filter(|_| !is_raw_with_comment(markup, at + 1));
            let end = named.and_then(|end| Some((end, tag_end(markup, few_end(markup, end))?)));
            let Some((name_end, end)) = end else {
                tags.has_nameless = true;
                return tags; // it is rewritten, and looked at again
            };
            let is_end = markup[at + 1] == b'/';
            small.clear();
            small.extend(markup[at + 1 + usize::from(is_end)..name_end].iter().map(u8::to_ascii_lowercase));
            let number = match tags.names.get(&small) {
                Some(&number) => number,
                None => {
                    let number = tags.names.len() as u32;
                    tags.names.insert(small.clone(), number);
                    number
                }
            };
            tags.all.push(2 * number + u32::from(is_end));
            at = no_tags_end(markup, end);
        }
        tags
    }

    fn numbers(&self, names: &[&[u8]]) -> Vec<bool> {
        let mut are = vec![false; self.names.len()];
        for name in names {
            if let Some(&number) = self.names.get(*name) {
                are[number as usize] = true;
            }
        }
        are
    }

    /// Whether tags were found in what is no markup.
    fn hold_markup(&self) -> bool {
        let is_raw = self.numbers(RAW);
        let mut tags = self.all.iter().peekable();
        while let Some(&tag) = tags.next() {
            if tag & 1 == 0 && is_raw[tag as usize / 2] && tags.peek() != Some(&&(tag + 1)) {
                return true;
            }
        }
        false
    }

    /// Whether more may be open, or made anew, than is harmless: never too few are counted.
    fn hold_much_open(&self) -> bool {
        if self.all.len() < OPEN_HARMLESS {
            return false;
        }
        let drawings: Vec<u32> =
            [b"svg".as_slice(), b"math"].iter().filter_map(|name| self.names.get(*name).map(|number| 2 * number + 1)).collect();
        // As in the reference, where a drawing counts that is begun: its end tag alone does not.
        let has_drawing = drawings.iter().any(|end| self.all.contains(&(end - 1)));
        let is_void = self.numbers(VOID);
        let is_formatting = self.numbers(FORMATTING);
        let mut is_closed_by_next = self.numbers(CLOSED_BY_NEXT);
        if !has_drawing {
            let outside = self.numbers(CLOSED_BY_NEXT_OUTSIDE);
            is_closed_by_next.iter_mut().zip(outside).for_each(|(one, other)| *one |= other);
        }
        let formatting_max = COPIES_MAX / self.all.len();
        let mut opened: Vec<u32> = vec![u32::MAX]; // the end tags that are awaited
        let mut last = u32::MAX; // of the innermost
        let mut may_be_open = 0;
        for &tag in &self.all {
            let name = tag as usize / 2;
            if tag == last {
                last = opened.pop().unwrap_or(u32::MAX);
            } else if tag & 1 == 0 && !is_void[name] {
                if is_closed_by_next[name] || is_formatting[name] {
                    if last == tag + 1 && is_closed_by_next[name] {
                        continue;
                    }
                    if opened.len() + may_be_open > formatting_max {
                        let is_one = |end: &&u32| **end != u32::MAX && is_formatting[**end as usize / 2];
                        if opened.iter().filter(is_one).count() + may_be_open > formatting_max {
                            return true;
                        }
                    }
                }
                opened.push(last);
                last = tag + 1;
                if opened.len() + may_be_open > OPEN_HARMLESS {
                    return true;
                }
            } else if opened.contains(&tag) {
                while last != tag {
                    last = opened.pop().unwrap_or(tag);
                    may_be_open += 1;
                }
                last = opened.pop().unwrap_or(u32::MAX);
            } else if has_drawing && drawings.iter().any(|end| opened.contains(end) || last == *end) {
                may_be_open += 1;
            }
        }
        false
    }
}

/// Without what is no markup and looks like it, and without too many attributes.
fn rewritten(markup: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(markup.len());
    let mut at = 0;
    loop {
        let usual = usual_end(markup, at);
        let raw = raw_name(markup, usual + 1)
            .filter(|_| markup.get(usual) == Some(&b'<'))
            .and_then(|(number, end)| Some((number, tag_end(markup, few_end(markup, end))?)));
        if let Some((number, end)) = raw {
            out.extend_from_slice(&markup[at..end]);
            if markup[..end].ends_with(b"/>") {
                out.extend_from_slice(b"</");
                out.extend_from_slice(RAW[number]);
                out.push(b'>');
                at = end;
                continue;
            }
            at = raw_end(markup, end, number);
            if find_byte(&markup[..at], b'<', end) == at {
                out.extend_from_slice(&markup[end..at]);
            }
        } else if let Some(many) = name_end(markup, usual + 1).filter(|_| markup.get(usual) == Some(&b'<')) {
            let end = few_end(markup, many);
            out.extend_from_slice(&markup[at..end]);
            out.push(b'>');
            at = end + markup[end..].iter().take_while(|byte| !matches!(byte, b'<' | b'>')).count();
            at += usize::from(markup.get(at) == Some(&b'>'));
        } else {
            out.extend_from_slice(&markup[at..]);
            return out;
        }
    }
}

/// Up to a raw element, or a tag of too many attributes, or the end.
fn usual_end(markup: &[u8], at: usize) -> usize {
    let mut at = at;
    loop {
        at = no_tags_end(markup, at);
        if at >= markup.len() || raw_name(markup, at + 1).is_some() {
            return at;
        }
        match name_end(markup, at + 1).and_then(|end| tag_end(markup, few_end(markup, end))) {
            Some(end) => at = end,
            None => return at,
        }
    }
}

/// The place of the end tag of a raw element, or the end.
fn raw_end(markup: &[u8], from: usize, number: usize) -> usize {
    let mut at = from;
    loop {
        at = find_byte(markup, b'<', at);
        if at >= markup.len() {
            return at;
        }
        if markup.get(at + 1) == Some(&b'/') && raw_name(markup, at + 2).is_some_and(|(found, _)| found == number) {
            return at;
        }
        at += 1;
    }
}
