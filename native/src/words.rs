//! Words, shingles, SimHash and sketch of a text: as in `process/fingerprints/`, to the bit.

const SHINGLE_WORDS: usize = 3;
const CHARS_MAX: usize = 1 << 18;
pub const PIECE_CHARS: usize = 30_000;
const BASE: u32 = 0x9E37_79B1;
const STEP: u64 = 0xD134_2543_DE82_EF95;
const STIR: u64 = 0xD6E8_FEB8_6659_FD93;
const INSIDE: u32 = 11;
const SIGN: u32 = 1 << 23;
const LETTER: u32 = 0x40; // a bit that all letters of ASCII have and no digit, whose codes are 1 to 10

const BITS: u32 = 1024;
const SAMPLE: usize = 2048;
const SHORT_SHINGLES: usize = 20;
const NUMBERS_MAX: usize = 40;
const SKETCH_STIR: u32 = 0x85EB_CA6B;

#[derive(Default)]
pub struct Words {
    hashes: Vec<u32>,
    are_numbers: Vec<bool>,
    shingles: Vec<u64>,
    halves: Vec<u32>,
    others: Vec<u32>,
}

pub struct Fingerprint {
    pub simhash: u64,
    pub words: usize,
    pub sketch: Vec<u8>,
}

impl Words {
    /// `letters`: for each character what it counts as; the last entry stands for all behind it.
    pub fn fingerprint(&mut self, text: &str, letters: &[u32]) -> Fingerprint {
        self.read(text, letters);
        let numbers = self.are_numbers.iter().filter(|&&is_number| is_number).count();
        if numbers > 0 {
            let words = self.hashes.iter().zip(&self.are_numbers);
            self.others.clear();
            self.others.extend(words.filter(|(_, &is_number)| !is_number).map(|(&hash, _)| hash));
            shingles(&self.others, &mut self.shingles);
        } else {
            shingles(&self.hashes, &mut self.shingles);
        }
        let simhash = votes(&self.shingles);
        if numbers > 0 {
            shingles(&self.hashes, &mut self.shingles);
        }
        Fingerprint { simhash, words: self.hashes.len() - numbers, sketch: self.sketch() }
    }

    fn read(&mut self, text: &str, letters: &[u32]) {
        self.hashes.clear();
        self.are_numbers.clear();
        let mut rest = crate::text::cut(text, CHARS_MAX);
        loop {
            let piece = first_piece(rest);
            self.read_piece(piece, letters);
            rest = &rest[piece.len()..];
            if rest.is_empty() {
                return;
            }
        }
    }

    fn read_piece(&mut self, piece: &str, letters: &[u32]) {
        let bytes = piece.as_bytes();
        // Most characters are letters and digits of ASCII: those are looked up in a small table, and the only branch
        // that cannot be foreseen is that at the end of a word.
        let mut usual = [0u32; 256];
        for (code, &letter) in usual.iter_mut().zip(&letters[..0x80]) {
            *code = if letter == INSIDE { 0 } else { letter };
        }
        let mut word = Word::default();
        let (mut at, mut before) = (0, 0); // before: the code of the character before, 0 where it is a gap
        while let Some(&byte) = bytes.get(at) {
            let mut code = usual[usize::from(byte)];
            if code != 0 {
                if before >= SIGN {
                    self.end(&mut word);
                }
                if word.letters < POWERS.len() {
                    (at, before) = word.add_usual(bytes, at, &usual);
                } else {
                    word.add(code);
                    (at, before) = (at + 1, code);
                }
                continue;
            }
            if byte < 0x80 && letters[usize::from(byte)] == 0 {
                self.end(&mut word);
                (at, before) = (at + 1, 0);
                continue;
            }
            let width;
            (code, width) = code_at(bytes, at, letters);
            at += width;
            if code == INSIDE && !(is_digit(before) && at < bytes.len() && is_digit(code_at(bytes, at, letters).0)) {
                code = 0;
            }
            if code == 0 || code >= SIGN || before >= SIGN {
                self.end(&mut word);
            }
            if code != 0 {
                word.add(code);
            }
            before = code;
        }
        self.end(&mut word);
    }

    fn end(&mut self, word: &mut Word) {
        if word.letters > 0 {
            self.hashes.push(word.hash);
            self.are_numbers.push(word.is_number);
            *word = Word::default();
        }
    }

    /// Empty where there is not a word.
    fn sketch(&mut self) -> Vec<u8> {
        if self.hashes.is_empty() {
            return Vec::new();
        }
        let halves = &mut self.halves;
        halves.clear();
        halves.extend(self.shingles.iter().map(|shingle| (shingle >> 32) as u32));
        sort(halves, &mut self.others);
        halves.dedup();
        let mut odd = [0u8; BITS as usize / 8];
        for half in halves.iter().take(SAMPLE) {
            let bit = half & (BITS - 1);
            odd[bit as usize / 8] ^= 0x80 >> (bit % 8);
        }
        let mut sketch = Vec::with_capacity(4 + odd.len());
        sketch.extend_from_slice(&(self.halves.len() as u32).to_be_bytes());
        sketch.extend_from_slice(&odd);
        self.add_short(&mut sketch);
        sketch
    }

    /// Of a short text: what stands for its words without the numbers, and the numbers.
    fn add_short(&self, sketch: &mut Vec<u8>) {
        if self.hashes.len() >= SHORT_SHINGLES * (SHINGLE_WORDS + 1) {
            return;
        }
        let numbers = self.numbers();
        if numbers.len() > NUMBERS_MAX {
            return;
        }
        let words = self.hashes.iter().zip(&self.are_numbers);
        let masked: Vec<u32> = words.map(|(&hash, &is_number)| if is_number { 1 } else { hash }).collect();
        let mut found = Vec::new();
        shingles(&masked, &mut found);
        let sum = found.into_iter().fold(0u64, u64::wrapping_add);
        sketch.extend_from_slice(&((sum >> 32) as u32).to_be_bytes());
        for number in numbers {
            sketch.extend_from_slice(&((number.wrapping_mul(SKETCH_STIR) >> 16) as u16).to_be_bytes());
        }
    }

    /// Two next to each other are one, as a date and a time are; a row of a table is more.
    fn numbers(&self) -> Vec<u32> {
        let mut numbers: Vec<u32> = Vec::new();
        let mut pair: Option<usize> = None; // the place of a number that the next one may belong to
        for (place, &hash) in self.hashes.iter().enumerate().filter(|&(place, _)| self.are_numbers[place]) {
            match numbers.last_mut() {
                Some(last) if pair.is_some_and(|pair| pair + 1 == place) => {
                    *last = last.wrapping_mul(31).wrapping_add(hash);
                    pair = None;
                }
                _ => {
                    numbers.push(hash);
                    pair = Some(place);
                }
            }
        }
        numbers
    }
}

#[derive(Default)]
struct Word {
    hash: u32,
    letters: usize,
    is_number: bool,
}

impl Word {
    /// All that are usual from this place on, and at least one; the place behind them, and the code of the last.
    #[inline(always)]
    fn add_usual(&mut self, bytes: &[u8], at: usize, usual: &[u32; 256]) -> (usize, u32) {
        let (mut hash, mut count, mut shared) = (self.hash, 0, LETTER);
        for (&byte, &power) in bytes[at..].iter().zip(&POWERS[self.letters..]) {
            let code = usual[usize::from(byte)];
            if code == 0 {
                break;
            }
            hash = hash.wrapping_add(code.wrapping_mul(power));
            shared &= code;
            count += 1;
        }
        self.hash = hash;
        self.letters += count;
        self.is_number |= shared == 0;
        (at + count, usual[usize::from(bytes[at + count - 1])])
    }

    fn add(&mut self, code: u32) {
        let power = POWERS.get(self.letters).copied().unwrap_or_else(|| BASE.wrapping_pow(self.letters as u32));
        self.hash = self.hash.wrapping_add(code.wrapping_mul(power));
        self.letters += 1;
        self.is_number |= is_digit(code);
    }
}

const POWERS: [u32; 64] = {
    let mut powers = [1u32; 64];
    let mut at = 1;
    while at < powers.len() {
        powers[at] = powers[at - 1].wrapping_mul(BASE);
        at += 1;
    }
    powers
};

#[inline(always)]
fn is_digit(code: u32) -> bool {
    code.wrapping_sub(1) < INSIDE - 1
}

/// What the character at this place counts as, and how many bytes it has.
#[inline(always)]
fn code_at(text: &[u8], at: usize, letters: &[u32]) -> (u32, usize) {
    let rest = |place: usize| usize::from(text.get(at + place).copied().unwrap_or(0) & 0x3f);
    let first = usize::from(text[at]);
    let (character, width) = match first {
        0..=0x7f => (first, 1),
        0..=0xdf => ((first & 0x1f) << 6 | rest(1), 2),
        0..=0xef => ((first & 0x0f) << 12 | rest(1) << 6 | rest(2), 3),
        _ => ((first & 0x07) << 18 | rest(1) << 12 | rest(2) << 6 | rest(3), 4),
    };
    (letters.get(character).or(letters.last()).copied().unwrap_or(0), width)
}

/// Up to a space, which is in no word, where there is one.
fn first_piece(text: &str) -> &str {
    let piece = crate::text::cut(text, PIECE_CHARS);
    if piece.len() == text.len() {
        return piece;
    }
    piece.rfind(' ').map_or(piece, |at| &piece[..=at])
}

/// By their first eleven bits, then what has the same ones by comparing, which are few: they look like chance.
fn sort(numbers: &mut Vec<u32>, others: &mut Vec<u32>) {
    if numbers.len() < 200 {
        numbers.sort_unstable();
        return;
    }
    let mut ends = [0u32; 2048];
    for number in numbers.iter() {
        ends[(number >> 21) as usize] += 1;
    }
    let mut start = 0;
    for end in &mut ends {
        start += std::mem::replace(end, start);
    }
    others.resize(numbers.len(), 0);
    for &number in numbers.iter() {
        let end = &mut ends[(number >> 21) as usize];
        others[*end as usize] = number;
        *end += 1;
    }
    std::mem::swap(numbers, others);
    let mut start = 0;
    for end in ends.iter().map(|&end| end as usize) {
        match end - start {
            0 | 1 => {}
            2 => {
                let (one, two) = (numbers[start], numbers[start + 1]);
                (numbers[start], numbers[start + 1]) = (one.min(two), one.max(two));
            }
            _ => numbers[start..end].sort_unstable(),
        }
        start = end;
    }
}

/// A hash of each run of three words; of too few words all together are one.
fn shingles(words: &[u32], out: &mut Vec<u64>) {
    let stirred = |hash: u64| (hash ^ (hash >> 32)).wrapping_mul(STIR);
    let with = |hash: u64, word: u32| hash.wrapping_mul(STEP).wrapping_add(u64::from(word));
    out.clear();
    if words.len() < SHINGLE_WORDS {
        out.extend(words.iter().copied().map(u64::from).reduce(|hash, word| with(hash, word as u32)).map(stirred));
    } else {
        let runs = words.windows(SHINGLE_WORDS);
        out.extend(runs.map(|run| stirred(with(with(u64::from(run[0]), run[1]), run[2]))));
    }
}

/// The SimHash of these; 0 of none.
fn votes(shingles: &[u64]) -> u64 {
    let mut votes = [0f64; 128];
    for &shingle in shingles {
        let mut chance = ((shingle & ((1 << 57) - 1)) as i64) as f64 + 1.0;
        chance *= chance;
        chance *= chance;
        votes[(shingle >> 57) as usize] += 1.0 / chance;
    }
    (0..64).fold(0, |bits, pair| bits << 1 | u64::from(votes[2 * pair + 1] > votes[2 * pair]))
}
