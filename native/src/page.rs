//! HTML to a page: as `process` in `process/html.py`, with the fingerprint of its text.

use std::borrow::Cow;

use crate::areas::{choose, FOOTER, MAIN, NAVIGATION, OPEN, SILENT};
use crate::canonical::Choice;
use crate::language::language_of;
use crate::lexbor::Document;
use crate::links::{InItsEncoding, Link, Links, Position, Sites};
use crate::nesting::{find_byte, harmless, MustBeCut};
use crate::pack::Pack;
use crate::reading::{Block, Reading, LINE_END};
use crate::said::Said;
use crate::tables::Tables;
use crate::text::{chars, cut, fold_into, folded, has_odd_spaces, is_utf8};
use crate::words::{Fingerprint, Words, PIECE_CHARS};

const DESCRIPTION_CHARS_MAX: usize = 1000;
const LINKS_MAX: usize = 20_000;
const FIELDS: usize = 25;
const SHORT_BYTES: usize = 4096;
const LARGE_BYTES: usize = 128 << 10;
const MEMORY_FACTOR: usize = 16; // of a page of many small elements

/// Why a page is not read here; the Python code reads it then.
pub enum Refusal {
    MustBeCut = 1,
    InItsEncoding = 2,
    Failed = 3,
    IsNotUtf8 = 4,
}

impl From<MustBeCut> for Refusal {
    fn from(_: MustBeCut) -> Self {
        Refusal::MustBeCut
    }
}

impl From<InItsEncoding> for Refusal {
    fn from(_: InItsEncoding) -> Self {
        Refusal::InItsEncoding
    }
}

pub struct Wanted<'p> {
    pub markup: &'p [u8],
    pub url: &'p str,
    pub agent: &'p str,
    pub images: bool,
    pub scripts: bool,
    pub is_utf8: bool,
    pub is_harmless: bool,
    pub is_guess: bool, // nobody said that it is UTF-8
    pub texts: bool,    // also where they are long
}

#[derive(Default)]
pub struct Scratch {
    pub sites: Sites,
    pub words: Words,
    pub out: Pack,
}

struct Texts {
    full: String,
    main: String,
    chosen: Vec<usize>,
}

pub fn read(wanted: &Wanted, tables: &Tables, choice: &Choice, scratch: &mut Scratch) -> Result<(), Refusal> {
    // An escape may begin Japanese in ASCII.
    if wanted.is_guess && (wanted.markup.contains(&0x1b) || !is_utf8(wanted.markup)) {
        return Err(Refusal::IsNotUtf8);
    }
    if !has_memory_for(wanted.markup.len()) {
        return Err(Refusal::Failed);
    }
    let markup = spelled_out(wanted.markup);
    let markup = if wanted.is_harmless { Cow::Borrowed(markup.as_ref()) } else { harmless(&markup)? };
    let mut reading = Reading::new(tables).ok_or(Refusal::Failed)?;
    let mut said = Said::new(tables, wanted.agent, wanted.images, wanted.scripts);
    let document = Document::parse(&tables.functions, &markup).ok_or(Refusal::Failed)?;
    if let Some(root) = document.root() {
        reading.walk(root, &mut said);
    }
    drop(document);
    let texts = texts_of(&reading);
    let base = said.base.as_deref().unwrap_or("");
    let mut links = Links::of(wanted.url, base, wanted.is_utf8, tables, choice, &mut scratch.sites);
    add_links(&mut links, &reading, &texts.chosen)?;
    let canonical = match said.canonical.as_deref().filter(|href| !href.is_empty()) {
        Some(href) => links.resolve(href)?,
        None => None,
    };
    let mut alternates = Vec::new();
    for (name, href) in &said.alternates {
        if let Some(target) = links.resolve(href)? {
            alternates.push((name.as_str(), target));
        }
    }
    let home = links.home().to_owned();
    let links = links.into_found();
    let language = language_of(&texts.main, chars(&texts.main), &said.language, tables);
    let fingerprint = fingerprint_of(&texts, tables, &mut scratch.words);
    let description = if said.description.is_empty() { &said.social_description } else { &said.description };

    let out = &mut scratch.out;
    out.bytes.clear();
    out.map(FIELDS);
    field(out, "url", wanted.url);
    field(out, "media_type", "text/html");
    field(out, "title", reading.title.as_deref().unwrap_or(""));
    field(out, "language", &language);
    field(out, "description", cut(description, DESCRIPTION_CHARS_MAX));
    out.text("packed_links");
    pack_links(out, links.iter(), wanted.url);
    out.text("link_count");
    out.number(links.len() as u64);
    pack_apart(out, &links, &home, wanted.url);
    out.text("canonical");
    match canonical {
        Some(url) => out.text(&url),
        None => out.nothing(),
    }
    out.text("noindex");
    out.truth(said.forbids("noindex"));
    out.text("nofollow");
    out.truth(said.forbids("nofollow"));
    out.text("noarchive");
    out.truth(said.robots.contains("noarchive"));
    out.text("has_scripts");
    out.truth(said.has_scripts);
    out.text("headings");
    out.list(reading.headings.len());
    reading.headings.iter().for_each(|heading| out.text(heading));
    out.text("alternates");
    out.list(alternates.len());
    for (name, target) in &alternates {
        out.list(2);
        out.text(name);
        out.text(target);
    }
    out.text("written_links");
    out.raw(&written(&links));
    out.text("simhash");
    out.number(fingerprint.simhash);
    out.text("words");
    out.number(fingerprint.words as u64);
    out.text("sketch");
    out.raw(&fingerprint.sketch);
    // Few ask for a long text, and then the page is read once more: to hand it over takes memory that others need.
    let is_told = wanted.texts || texts.full.len() <= SHORT_BYTES;
    out.text("text_utf8");
    out.raw(if is_told { texts.full.as_bytes() } else { &[] });
    out.text("main_text_utf8");
    out.raw(if is_told { texts.main.as_bytes() } else { &[] });
    out.text("has_texts");
    out.truth(is_told);
    Ok(())
}

/// For the tree and the texts. Without it the allocator would end this process, where Python raises and goes on.
fn has_memory_for(markup_bytes: usize) -> bool {
    if markup_bytes < LARGE_BYTES {
        return true; // what it takes is below what the process has at hand
    }
    let mut room: Vec<u8> = Vec::new();
    let is_there = room.try_reserve_exact(MEMORY_FACTOR * markup_bytes).is_ok();
    std::hint::black_box(&room);
    is_there
}

fn field(out: &mut Pack, name: &str, value: &str) {
    out.text(name);
    out.text(value);
}

/// What the frontier wants to know of links to the page's own origin, and all of the others.
fn pack_apart(out: &mut Pack, links: &[Link], home: &str, source: &str) {
    let (own, others): (Vec<&Link>, Vec<&Link>) = links.iter().partition(|link| link.url.starts_with(home));
    out.text("own_urls");
    out.list(own.len());
    own.iter().for_each(|link| out.text(&link.url));
    out.text("own_rels");
    out.list(own.len());
    own.iter().for_each(|link| out.text(&link.rel));
    out.text("own_contexts");
    out.list(own.len());
    own.iter().for_each(|link| out.real(link.context));
    out.text("other_links");
    pack_links(out, others.into_iter(), source);
}

fn pack_links<'l>(out: &mut Pack, links: impl ExactSizeIterator<Item = &'l Link>, source: &str) {
    out.list(links.len());
    for link in links {
        let position = link.position.name();
        let count = 3 + [&link.anchor, &link.rel].iter().filter(|text| !text.is_empty()).count();
        out.map(count + usize::from(!position.is_empty()));
        field(out, "url", &link.url);
        if !link.anchor.is_empty() {
            field(out, "anchor", &link.anchor);
        }
        if !link.rel.is_empty() {
            field(out, "rel", &link.rel);
        }
        field(out, "source", source);
        if !position.is_empty() {
            field(out, "position", position);
        }
        out.text("context");
        out.real(link.context);
    }
}

/// The lines that the archive keeps of links: as `outlinks` in `archive/warc.py`. Empty where a URL is not plain.
fn written(links: &[Link]) -> Vec<u8> {
    let mut lines = Vec::with_capacity(links.len() * 100);
    for link in links {
        if !link.url.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Vec::new();
        }
        lines.extend_from_slice(b"outlink: ");
        lines.extend_from_slice(link.url.as_bytes());
        lines.extend_from_slice(b" L {");
        let notes = [("anchor", link.anchor.as_str()), ("rel", &link.rel), ("position", link.position.name())];
        let mut is_first = true;
        for (name, value) in notes.into_iter().filter(|(_, value)| !value.is_empty()) {
            lines.extend_from_slice(if is_first { b"\"" } else { b",\"" });
            is_first = false;
            lines.extend_from_slice(name.as_bytes());
            lines.extend_from_slice(b"\":\"");
            add_json(value, &mut lines);
            lines.push(b'"');
        }
        lines.extend_from_slice(b"}\r\n");
    }
    lines
}

/// A string as msgspec writes it, without its quotes.
fn add_json(text: &str, out: &mut Vec<u8>) {
    for byte in text.bytes() {
        match byte {
            b'"' | b'\\' => out.extend([b'\\', byte]),
            b'\n' => out.extend(b"\\n"),
            b'\r' => out.extend(b"\\r"),
            b'\t' => out.extend(b"\\t"),
            0x08 => out.extend(b"\\b"),
            0x0c => out.extend(b"\\f"),
            0..=0x1f => out.extend(format!("\\u{byte:04x}").into_bytes()),
            _ => out.push(byte),
        }
    }
}

/// lexbor writes behind the room that it made for these two references (see nesting.py).
fn spelled_out(markup: &[u8]) -> Cow<'_, [u8]> {
    let Some(first) = find_growing(markup, 0) else { return Cow::Borrowed(markup) };
    let mut out = Vec::with_capacity(markup.len() + 64);
    let (mut at, mut found) = (0, Some(first));
    while let Some(place) = found {
        out.extend_from_slice(&markup[at..place]);
        out.extend_from_slice(if markup[place + 2] == b'G' { "\u{226b}\u{20d2}" } else { "\u{226a}\u{20d2}" }.as_bytes());
        at = place + 5;
        found = find_growing(markup, at);
    }
    out.extend_from_slice(&markup[at..]);
    Cow::Owned(out)
}

fn find_growing(markup: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        at = find_byte(markup, b'&', at);
        let rest = markup.get(at..)?;
        if rest.starts_with(b"&nGt;") || rest.starts_with(b"&nLt;") {
            return Some(at);
        }
        if rest.is_empty() {
            return None;
        }
        at += 1;
    }
}

fn texts_of(reading: &Reading) -> Texts {
    let blocks = &reading.blocks;
    // Two spaces, or what is half of a character, do not come of two blocks that are beside each other: both are stripped.
    let is_folded = has_odd_spaces(reading.all_text());
    let mut full = String::with_capacity(reading.all_text().len() + blocks.len());
    let mut ranges: Vec<(usize, usize)> = Vec::with_capacity(blocks.len());
    for block in blocks {
        if !ranges.is_empty() {
            full.push(' ');
        }
        let start = full.len();
        if is_folded {
            fold_into(reading.text_of_block(block), &mut full);
        } else {
            full.push_str(reading.text_of_block(block));
        }
        ranges.push((start, full.len()));
    }
    let text_of = |number: usize| &full[ranges[number].0..ranges[number].1];
    let lengths: Vec<usize> = (0..blocks.len()).map(|number| chars(text_of(number))).collect();
    let areas: Vec<u8> = blocks.iter().map(|block| block.area).collect();
    let of_links = reading.links.iter().map(|link| (chars(&link.anchor), link.block));
    let chosen = choose(&lengths, &areas, of_links);
    let mut main = String::with_capacity(full.len());
    let mut is_first = true;
    let mut add = |number: usize| {
        let block: &Block = &blocks[number];
        let text = reading.text_of_block(block);
        if !is_first {
            main.push_str(block.gap());
        }
        is_first = false;
        if let Some(code) = &block.code {
            main.push_str(code);
        } else if is_folded && text.contains(LINE_END) {
            for (place, line) in text.split(LINE_END).enumerate() {
                if place > 0 {
                    main.push('\n');
                }
                fold_into(line, &mut main);
            }
        } else {
            main.push_str(text_of(number));
        }
    };
    if chosen.is_empty() {
        (0..blocks.len()).for_each(&mut add);
    } else {
        chosen.iter().copied().for_each(&mut add);
    }
    Texts { full, main, chosen }
}

/// Links with their positions.
fn add_links(links: &mut Links, reading: &Reading, chosen: &[usize]) -> Result<(), InItsEncoding> {
    let mut is_chosen = vec![false; reading.blocks.len() + 1];
    chosen.iter().for_each(|&number| is_chosen[number] = true);
    let area_of = |block: usize| reading.blocks.get(block).map_or(SILENT, |block| block.area);
    for found in &reading.links {
        // A picture behind the last block of its area counts to that; before the first block there is none.
        let block = if area_of(found.block) == found.area { Some(found.block) } else { found.block.checked_sub(1) };
        let stands_there = block.is_some_and(|block| is_chosen[block] && area_of(block) == found.area);
        let position = if found.area < FOOTER && (chosen.is_empty() || stands_there) {
            Position::Main
        } else {
            match found.area {
                OPEN | MAIN | NAVIGATION => Position::Navigation,
                FOOTER => Position::Footer,
                _ => Position::Unknown,
            }
        };
        links.add(&found.href, &found.anchor, &found.rel, position)?;
        if links.len() >= LINKS_MAX {
            break;
        }
    }
    Ok(())
}

fn fingerprint_of(texts: &Texts, tables: &Tables, words: &mut Words) -> Fingerprint {
    let text = if texts.main.is_empty() { &texts.full } else { &texts.main };
    if text.is_empty() || tables.letters.is_empty() {
        return Fingerprint { simhash: 0, words: 0, sketch: Vec::new() };
    }
    if text.len() > PIECE_CHARS && chars(text) > PIECE_CHARS {
        return words.fingerprint(&folded(text), &tables.letters);
    }
    words.fingerprint(text, &tables.letters)
}
