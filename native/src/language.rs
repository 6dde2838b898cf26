//! The language of a text: as in `process/markup/language.py`.

use crate::tables::Tables;
use crate::text;

const SAMPLE_CHARS: usize = 200;
const SCORE_MIN: f64 = 8.0;
const WORDS_MIN: usize = 3;
const NEAR: f64 = 0.9;
const FOREIGN_SHARE_MIN: f64 = 0.2;
const LETTERS_LOOKED_AT: usize = 100;

pub const LANGUAGES_MAX: usize = 32;

/// For the languages of a script: what each word and each run of three letters says of them.
///
/// Looked up some 260 times a page, so that it has to be found in one place: runs are known by a hash of 64 bits, and
/// what one says stands beside it.
pub struct Model {
    pub languages: Vec<String>,
    slots: Vec<(u64, [u8; LANGUAGES_MAX])>,
}

impl Model {
    /// None: two of the runs have one hash.
    pub fn of(languages: Vec<String>, rows: impl ExactSizeIterator<Item = (Vec<u8>, [u8; LANGUAGES_MAX])>) -> Option<Self> {
        let mut model = Model { languages, slots: vec![(0, [0; LANGUAGES_MAX]); rows.len() * 4 / 3 + 1] };
        for (run, row) in rows {
            let hash = hash_of(&run);
            let place = model.place(hash);
            if model.slots[place].0 == hash {
                return None;
            }
            model.slots[place] = (hash, row);
        }
        Some(model)
    }

    fn first_place(&self, hash: u64) -> usize {
        ((u128::from(hash) * self.slots.len() as u128) >> 64) as usize
    }

    fn place(&self, hash: u64) -> usize {
        let mut place = self.first_place(hash);
        while self.slots[place].0 != 0 && self.slots[place].0 != hash {
            place = if place + 1 == self.slots.len() { 0 } else { place + 1 };
        }
        place
    }

    /// What each of these says; of one that it does not know: zeros.
    fn rows<'m>(&'m self, hashes: &'m [u64]) -> impl Iterator<Item = &'m [u8; LANGUAGES_MAX]> {
        // They are all over a large table. Asked for one after the other each waits for the memory; so all are touched
        // before the first is looked at.
        let touched = hashes.iter().fold(0, |all, &hash| all ^ self.slots[self.first_place(hash)].0);
        std::hint::black_box(touched);
        hashes.iter().map(|&hash| &self.slots[self.place(hash)].1)
    }
}

fn hash_of(run: &[u8]) -> u64 {
    let mut hash = run.len() as u64;
    for eight in run.chunks(8) {
        let mut word = [0; 8];
        word[..eight.len()].copy_from_slice(eight);
        hash = (hash ^ u64::from_le_bytes(word)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        hash ^= hash >> 32;
    }
    hash.wrapping_mul(0xD6E8_FEB8_6659_FD93) | 1
}

pub fn language_of(text: &str, chars: usize, declared: &str, tables: &Tables) -> String {
    let start = if chars > 4 * SAMPLE_CHARS { chars / 3 } else { 0 };
    let from = &text[text::cut(text, start).len()..];
    let sample = text::cut(from, SAMPLE_CHARS);
    let said = code(declared, tables);
    let script = script(sample, tables);
    if !script.is_empty() && tables.has("codes", script) {
        let others = tables.same_script.get(script);
        return if others.is_some_and(|others| others.contains(said)) { said } else { script }.to_owned();
    }
    let model = &tables.models[usize::from(script == "cyrillic")];
    let Some(scores) = fits(sample, model, tables) else { return said.to_owned() };
    let best = scores.iter().copied().max().unwrap_or(0);
    let share = |language: &str| {
        let place = model.languages.iter().position(|each| each == language);
        place.map_or(0.0, |place| f64::from(scores[place]) / f64::from(best))
    };
    let meant = if matches!(said, "nb" | "nn") { "no" } else { said };
    if !said.is_empty() && (!tables.has("known_languages", meant) || share(meant) >= NEAR) {
        return said.to_owned();
    }
    let first_best = scores.iter().position(|&score| score == best).unwrap_or(0);
    model.languages[first_best].clone()
}

/// The score of each language; None: none fits.
fn fits(sample: &str, model: &Model, tables: &Tables) -> Option<[u16; LANGUAGES_MAX]> {
    let small = text::lower(sample);
    let mut joined = String::with_capacity(small.len() + 2);
    let mut letters: Vec<char> = Vec::with_capacity(64);
    let mut words: Vec<(usize, usize)> = Vec::with_capacity(64);
    joined.push(' ');
    let mut is_open = false;
    for c in small.chars() {
        if tables.is_letter(c) {
            if !is_open {
                words.push((joined.len(), 0));
                is_open = true;
            }
            joined.push(c);
            if !letters.contains(&c) {
                letters.push(c);
            }
        } else if is_open {
            end_word(&mut words, &mut joined);
            is_open = false;
        }
    }
    if is_open {
        end_word(&mut words, &mut joined);
    }
    if words.is_empty() {
        joined.push(' '); // as two spaces around no word
    }
    let starts: Vec<usize> = joined.char_indices().map(|(at, _)| at).chain([joined.len()]).collect();
    let grams = starts.windows(4).map(|window| &joined.as_bytes()[window[0]..window[3]]);
    let whole = words.iter().map(|&(start, end)| &joined.as_bytes()[start..end]);
    let mut hashes: Vec<u64> = grams.chain(whole).map(hash_of).collect();
    hashes.extend(letters.iter().map(|c| hash_of(c.encode_utf8(&mut [0; 4]).as_bytes())));
    let mut scores = [0u16; LANGUAGES_MAX]; // of a sample they stay far below
    for row in model.rows(&hashes) {
        for (score, &more) in scores.iter_mut().zip(row) {
            *score += u16::from(more);
        }
    }
    let runs = hashes.len();
    let best = scores.iter().copied().max().unwrap_or(0);
    let is_known = f64::from(best) >= SCORE_MIN * runs as f64 && words.len() >= WORDS_MIN;
    is_known.then_some(scores)
}

fn end_word(words: &mut [(usize, usize)], joined: &mut String) {
    if let Some(word) = words.last_mut() {
        word.1 = joined.len();
    }
    joined.push(' ');
}

/// The ISO 639-1 code in `en-GB`, `EN_us`, `eng`; empty where there is none.
fn code<'t>(declared: &str, tables: &'t Tables) -> &'t str {
    let text = declared.trim_start_matches(text::is_space);
    let letters = text.bytes().take_while(u8::is_ascii_alphabetic).count();
    if !(2..=3).contains(&letters) {
        return "";
    }
    let primary = text[..letters].to_ascii_lowercase();
    let primary = tables.meant.get(&primary).cloned().unwrap_or(primary);
    tables.member("codes", &primary)
}

/// The script that most letters are of, or the language where it has a script of its own; empty: Latin.
fn script<'t>(sample: &str, tables: &'t Tables) -> &'t str {
    if sample.chars().all(|c| c <= '\u{ff}') {
        return "";
    }
    let beyond = |c: &char| matches!(c, '\u{370}'..='\u{1fff}' | '\u{3041}'..='\u{d7a3}');
    let letters: Vec<char> = sample.chars().filter(beyond).collect();
    if (letters.len() as f64) < FOREIGN_SHARE_MIN * text::chars(sample) as f64 {
        return "";
    }
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for &letter in letters.iter().take(LETTERS_LOOKED_AT) {
        let script = tables.script_of(letter);
        match counts.iter_mut().find(|(name, _)| *name == script) {
            Some((_, count)) => *count += 1,
            None => counts.push((script, 1)),
        }
    }
    let count_of = |script: &str| counts.iter().find(|(name, _)| *name == script).map_or(0, |(_, count)| *count);
    if count_of("ja") as f64 > 0.1 * count_of("zh") as f64 {
        return "ja"; // Chinese characters with anything between them that only Japanese has
    }
    let mut most = ("", 0);
    for &(script, count) in &counts {
        if count > most.1 {
            most = (script, count);
        }
    }
    if most.0 != "arabic" {
        return most.0;
    }
    for (language, letters) in &tables.arabic {
        if sample.chars().any(|c| letters.contains(c)) {
            return language;
        }
    }
    "ar"
}
