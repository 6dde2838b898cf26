//! Which part of a page is its main text: as in `process/markup/main_text.py`.

use crate::lexbor::{decoded, Node};
use crate::tables::{Name, Set, Tables};
use crate::text;

pub const OPEN: u8 = 0;
pub const MAIN: u8 = 1;
pub const NAVIGATION: u8 = 2;
pub const FOOTER: u8 = 3;
pub const SILENT: u8 = 4;

const LINK_SHARE: f64 = 0.5;
const LIST_LINKS_MIN: usize = 3;
const LEFT_SHARE_MIN: f64 = 0.25;
const MAIN_SHARE_MIN: f64 = 0.2;
const PROSE_RATIO_MAX: usize = 4;

/// The sets of words that names of classes are looked up in.
pub struct Words<'t> {
    navigation_names: &'t Set,
    not_the_area: &'t Set,
    footer: &'t Set,
    navigation: &'t Set,
}

impl<'t> Words<'t> {
    pub fn of(tables: &'t Tables) -> Option<Self> {
        Some(Words {
            navigation_names: tables.set("navigation_names")?,
            not_the_area: tables.set("not_the_area")?,
            footer: tables.set("footer_words")?,
            navigation: tables.set("navigation_words")?,
        })
    }

    fn area_of(&self, names: &str) -> u8 {
        for name in text::words(names) {
            if self.navigation_names.contains(text::lower(name).as_ref()) {
                return NAVIGATION;
            }
            let (mut is_footer, mut is_navigation, mut is_another) = (false, false, false);
            for_each_word(name, |word| {
                is_another |= self.not_the_area.contains(word);
                is_footer |= self.footer.contains(word);
                is_navigation |= self.navigation.contains(word);
            });
            if is_another {
                continue;
            }
            if is_footer {
                return FOOTER;
            }
            if is_navigation {
                return NAVIGATION;
            }
        }
        OPEN
    }
}

/// `main-nav`, `navMenu` and `c-nav__item` all hold the word "nav": small letters, the first of which may be large.
fn for_each_word(name: &str, mut each: impl FnMut(&str)) {
    let bytes = name.as_bytes();
    let mut small = [0u8; 32]; // longer words are in no list
    let mut at = 0;
    while at < bytes.len() {
        let start = at;
        at += usize::from(bytes[at].is_ascii_uppercase());
        let letters = bytes[at..].iter().take_while(|byte| byte.is_ascii_lowercase()).count();
        if letters == 0 {
            at = start + 1;
            continue;
        }
        at += letters;
        if let Some(word) = small.get_mut(..at - start) {
            word.copy_from_slice(&bytes[start..at]);
            word.make_ascii_lowercase();
            if let Ok(word) = std::str::from_utf8(word) {
                each(word);
            }
        }
    }
}

/// The area inside an element, which is that around it unless the element says otherwise.
pub fn area_of(node: Node, around: u8, tables: &Tables, words: &Words) -> u8 {
    let tag = node.tag();
    let named = named_area(node, tables.areas[tag], tables, words);
    if named == OPEN || around == SILENT {
        return around;
    }
    if tag == tables.tag("header") && around == MAIN {
        return MAIN; // the title of an article
    }
    if tag == tables.tag("article") && (around == NAVIGATION || around == FOOTER) {
        return around; // a teaser; yet a <main> is what it says wherever it is
    }
    if around == FOOTER && named == NAVIGATION { FOOTER } else { named }
}

fn named_area(node: Node, own: u8, tables: &Tables, words: &Words) -> u8 {
    if matches!(own, MAIN | FOOTER | SILENT) {
        return own;
    }
    let (mut role, mut style, mut class, mut id) = (&[][..], &[][..], &[][..], &[][..]);
    let mut is_hidden = false;
    for attribute in node.attributes() {
        match tables.attribute(attribute) {
            Name::Role => role = attribute.value(),
            Name::Style => style = attribute.value(),
            Name::Class => class = attribute.value(),
            Name::Id => id = attribute.value(),
            Name::Hidden => is_hidden = true,
            Name::AriaHidden => is_hidden |= attribute.value() == b"true",
            _ => {}
        }
    }
    if !role.is_empty() {
        let role = decoded(role);
        let area = tables.roles.get(text::lower(text::stripped(&role)).as_ref());
        if let Some(&area) = area.filter(|&&area| area != OPEN) {
            return area; // a role is meant for programs; it goes before what names suggest
        }
    }
    if is_hidden || (!style.is_empty() && is_invisible(&decoded(style))) {
        return NAVIGATION;
    }
    for names in [class, id] {
        if !names.is_empty() {
            let area = words.area_of(&decoded(names));
            if area != OPEN {
                return area;
            }
        }
    }
    own
}

/// `display\s*:\s*none|visibility\s*:\s*hidden`, whatever the case.
fn is_invisible(style: &str) -> bool {
    says(style, "display", "none") || says(style, "visibility", "hidden")
}

fn says(style: &str, property: &str, value: &str) -> bool {
    style.char_indices().any(|(at, _)| {
        let behind = after_word(&style[at..], property).map(|rest| rest.trim_start_matches(text::is_space));
        let behind = behind.and_then(|rest| rest.strip_prefix(':'));
        behind.is_some_and(|rest| after_word(rest.trim_start_matches(text::is_space), value).is_some())
    })
}

fn after_word<'s>(text: &'s str, word: &str) -> Option<&'s str> {
    let mut rest = text.chars();
    for wanted in word.chars() {
        let c = rest.next()?;
        // Letters that Python takes for these when case does not matter.
        let is_it = c.to_ascii_lowercase() == wanted
            || (wanted == 's' && c == '\u{17f}')
            || (wanted == 'i' && matches!(c, '\u{130}' | '\u{131}'));
        if !is_it {
            return None;
        }
    }
    Some(rest.as_str())
}

/// The numbers of the blocks that are main text. `links`: the characters of its anchor and the block of each.
pub fn choose(chars: &[usize], areas: &[u8], links: impl Iterator<Item = (usize, usize)>) -> Vec<usize> {
    let mut of_links = vec![(0usize, 0usize); chars.len() + 1]; // characters and count
    for (anchor_chars, block) in links {
        of_links[block].0 += anchor_chars;
        of_links[block].1 += 1;
    }
    let mut in_area = [0usize; SILENT as usize + 1];
    for (&area, &count) in areas.iter().zip(chars) {
        in_area[area as usize] += count;
    }
    let says_main = in_area[MAIN as usize] as f64 > MAIN_SHARE_MIN * in_area[OPEN as usize] as f64;
    let texts = |wanted: &[u8]| {
        let found = areas.iter().enumerate().filter(|(_, area)| wanted.contains(area)).map(|(number, _)| number);
        without_lists(found.collect(), chars, &of_links)
    };
    let chosen = if says_main { texts(&[MAIN]) } else { texts(&[OPEN, MAIN]) };
    let left = sum(&chosen, chars);
    if in_area[NAVIGATION as usize] > PROSE_RATIO_MAX * left {
        let prose = texts(&[OPEN, MAIN, NAVIGATION]);
        if sum(&prose, chars) > PROSE_RATIO_MAX * left {
            return prose;
        }
    }
    chosen
}

fn sum(numbers: &[usize], chars: &[usize]) -> usize {
    numbers.iter().map(|&number| chars[number]).sum()
}

fn without_lists(candidates: Vec<usize>, chars: &[usize], of_links: &[(usize, usize)]) -> Vec<usize> {
    let mut is_listed = vec![false; chars.len()];
    let mut run: Vec<usize> = Vec::new();
    let mut any = false;
    for number in candidates.iter().copied().chain([chars.len()]) {
        let (link_chars, count) = of_links[number];
        if count > 0 && number < chars.len() && link_chars as f64 > LINK_SHARE * chars[number] as f64 {
            run.push(number);
        } else if !run.is_empty() {
            if run.iter().map(|&each| of_links[each].1).sum::<usize>() >= LIST_LINKS_MIN {
                any = true;
                for &each in &run {
                    is_listed[each] = true;
                }
            }
            run.clear();
        }
    }
    if !any {
        return candidates;
    }
    let left: Vec<usize> = candidates.iter().copied().filter(|&number| !is_listed[number]).collect();
    if (sum(&left, chars) as f64) < LEFT_SHARE_MIN * sum(&candidates, chars) as f64 { candidates } else { left }
}
