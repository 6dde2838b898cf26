//! What the Python code hands over when it loads this library: the functions of lexbor and ada, and its own tables.
//!
//! So every list of words stands in one place, which is the reference. A line holds a name and values, between tabs.

#![allow(unsafe_code)]

use std::collections::{HashMap, HashSet};
use std::ffi::c_void;
use std::hash::{BuildHasherDefault, Hasher};

use crate::language::{Model, LANGUAGES_MAX};

#[derive(Clone, Copy)]
#[repr(C)]
pub struct AdaString {
    pub data: *const u8,
    pub length: usize,
}

pub struct Functions {
    pub document_create: unsafe extern "C" fn() -> *mut c_void,
    pub document_destroy: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    pub document_options: unsafe extern "C" fn(*mut c_void, u32),
    pub document_parse: unsafe extern "C" fn(*mut c_void, *const u8, usize) -> u32,
    pub document_root: unsafe extern "C" fn(*mut c_void) -> *mut c_void,
    pub attribute_name: unsafe extern "C" fn(*const c_void, *mut usize) -> *const u8,
    pub url_parse: unsafe extern "C" fn(*const u8, usize, *const u8, usize) -> *mut c_void,
    pub url_is_valid: unsafe extern "C" fn(*mut c_void) -> bool,
    pub url_href: unsafe extern "C" fn(*mut c_void) -> AdaString,
    pub url_free: unsafe extern "C" fn(*mut c_void),
    pub site_of: unsafe extern "C" fn(*const u8, usize, *mut u8, usize) -> usize,
}

/// FNV-1a: short words, and a table that nobody else fills.
#[derive(Default)]
pub struct Fnv(u64);

impl Hasher for Fnv {
    fn finish(&self) -> u64 {
        self.0 ^ (self.0 >> 32)
    }
    fn write(&mut self, bytes: &[u8]) {
        for &byte in bytes {
            self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3);
        }
    }
    fn write_usize(&mut self, _length: usize) {}
}

pub type Quick = BuildHasherDefault<Fnv>;
pub type Set = HashSet<String, Quick>;

const TAGS: usize = 512; // lexbor's numbers for the elements that it knows
const ATTRIBUTES: usize = 1024;

pub struct Tables {
    pub functions: Functions,
    pub kinds: [u8; TAGS],
    pub gaps: [u8; TAGS],
    pub areas: [u8; TAGS],
    attributes: [u8; ATTRIBUTES],
    attribute_names: HashMap<Vec<u8>, u8, Quick>,
    tags: HashMap<String, usize>,
    sets: HashMap<String, Set>,
    pub roles: HashMap<String, u8, Quick>,
    pub relations: HashMap<String, f64, Quick>,
    pub no_letters: String,
    pub meant: HashMap<String, String>,
    scripts: Vec<(char, char, String)>,
    pub arabic: Vec<(String, String)>,
    pub same_script: HashMap<String, Set>,
    pub models: Vec<Model>,
    letter_runs: Vec<(u32, u32)>,
    latin_letters: [bool; 0x600],
    pub letters: Vec<u32>,
}

/// The attributes that say something to us, in the order in which `gossamer/native.py` names them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub enum Name {
    Other,
    Href,
    Rel,
    Class,
    Id,
    Role,
    Hidden,
    AriaHidden,
    Style,
    Lang,
    XmlLang,
    Name,
    Property,
    Content,
    HttpEquiv,
    Type,
    Hreflang,
    Title,
    Alt,
    Src,
    Picture,
    Pictures,
}

const NAMES: [Name; 22] = [
    Name::Other, Name::Href, Name::Rel, Name::Class, Name::Id, Name::Role, Name::Hidden, Name::AriaHidden, Name::Style,
    Name::Lang, Name::XmlLang, Name::Name, Name::Property, Name::Content, Name::HttpEquiv, Name::Type, Name::Hreflang,
    Name::Title, Name::Alt, Name::Src, Name::Picture, Name::Pictures,
];

struct Lines<'t>(HashMap<&'t str, Vec<Vec<&'t str>>>);

impl<'t> Lines<'t> {
    fn read(text: &'t str) -> Self {
        let mut lines: HashMap<&str, Vec<Vec<&str>>> = HashMap::new();
        for line in text.split('\n').filter(|line| !line.is_empty()) {
            let mut values = line.split('\t');
            let name = values.next().unwrap_or("");
            lines.entry(name).or_default().push(values.collect());
        }
        Lines(lines)
    }

    fn all(&self, name: &str) -> impl Iterator<Item = &Vec<&'t str>> + '_ {
        self.0.get(name).into_iter().flatten()
    }

    fn address(&self, name: &str) -> Result<usize, String> {
        let found = self.all("function").find(|line| line.first() == Some(&name)).and_then(|line| line.get(1));
        let address = found.and_then(|text| text.parse().ok()).unwrap_or(0);
        if address == 0 { Err(format!("there is no function {name}")) } else { Ok(address) }
    }
}

macro_rules! function {
    // SAFETY: who loads this library got the address from the library that has a function of this name and type.
    ($lines:expr, $name:literal) => { unsafe { std::mem::transmute($lines.address($name)?) } };
}

fn number<T: std::str::FromStr>(text: Option<&&str>) -> Result<T, String> {
    text.and_then(|text| text.parse().ok()).ok_or_else(|| "a number is missing in a table".to_owned())
}

fn written(text: Option<&&str>) -> String {
    text.map_or_else(String::new, |text| (*text).to_owned())
}

/// # Safety
/// There are so many bytes at this address.
unsafe fn bytes_at<'b>(address: usize, length: usize) -> &'b [u8] {
    unsafe { std::slice::from_raw_parts(address as *const u8, length) }
}

impl Tables {
    /// # Safety
    /// The addresses in the text are those of such functions and of so many bytes.
    pub unsafe fn read(text: &str) -> Result<Self, String> {
        let lines = Lines::read(text);
        let functions = Functions {
            document_create: function!(lines, "lxb_html_document_create"),
            document_destroy: function!(lines, "lxb_html_document_destroy"),
            document_options: function!(lines, "lxb_html_document_dom_opt_set_noi"),
            document_parse: function!(lines, "lxb_html_document_parse"),
            document_root: function!(lines, "lxb_dom_document_root"),
            attribute_name: function!(lines, "lxb_dom_attr_qualified_name"),
            url_parse: function!(lines, "ada_parse_with_base"),
            url_is_valid: function!(lines, "ada_is_valid"),
            url_href: function!(lines, "ada_get_href"),
            url_free: function!(lines, "ada_free"),
            site_of: function!(lines, "site_of"),
        };
        let block: u8 = number(lines.all("block").next().and_then(|line| line.first()))?;
        let mut tables = Tables {
            functions,
            kinds: [block; TAGS],
            gaps: [0; TAGS],
            areas: [0; TAGS],
            attributes: [0; ATTRIBUTES],
            attribute_names: HashMap::default(),
            tags: HashMap::new(),
            sets: HashMap::new(),
            roles: HashMap::default(),
            relations: HashMap::default(),
            no_letters: written(lines.all("no_letters").next().and_then(|line| line.first())),
            meant: HashMap::new(),
            scripts: Vec::new(),
            arabic: Vec::new(),
            same_script: HashMap::new(),
            models: Vec::new(),
            letter_runs: Vec::new(),
            latin_letters: [false; 0x600],
            letters: Vec::new(),
        };
        tables.read_elements(&lines)?;
        tables.read_words(&lines)?;
        tables.read_languages(&lines)?;
        Ok(tables)
    }

    fn read_elements(&mut self, lines: &Lines) -> Result<(), String> {
        for (name, table) in [("kind", &mut self.kinds), ("gap", &mut self.gaps), ("area", &mut self.areas)] {
            for line in lines.all(name) {
                let tag: usize = number(line.first())?;
                *table.get_mut(tag).ok_or("an element has a large number")? = number(line.get(1))?;
            }
        }
        for line in lines.all("tag") {
            self.tags.insert(written(line.first()), number(line.get(1))?);
        }
        for line in lines.all("attribute") {
            self.attribute_names.insert(written(line.first()).into_bytes(), number(line.get(1))?);
        }
        // lexbor has numbers for the names that it knows: they are learnt from an element that has them all.
        let names: Vec<&Vec<u8>> = self.attribute_names.keys().collect();
        let markup = [b"<p ".as_slice(), &names.into_iter().map(Vec::as_slice).collect::<Vec<_>>().join(&b' '), b">"];
        let learnt: Vec<(usize, u8)> = {
            let document = crate::lexbor::Document::parse(&self.functions, &markup.concat()).ok_or("no document")?;
            let root = document.root().ok_or("no root")?;
            let of_all = root.descendants().flat_map(|node| node.attributes());
            of_all
                .filter_map(|attribute| {
                    let code = self.attribute_names.get(attribute.name(&self.functions))?;
                    Some((attribute.number().filter(|&number| number < ATTRIBUTES)?, *code))
                })
                .collect()
        };
        for (number, code) in learnt {
            self.attributes[number] = code;
        }
        Ok(())
    }

    fn read_words(&mut self, lines: &Lines) -> Result<(), String> {
        for line in lines.all("set") {
            let members = line.iter().skip(1).map(|&member| member.to_owned()).collect();
            self.sets.insert(written(line.first()), members);
        }
        for line in lines.all("role") {
            self.roles.insert(written(line.first()), number(line.get(1))?);
        }
        for line in lines.all("relation") {
            self.relations.insert(written(line.first()), number(line.get(1))?);
        }
        Ok(())
    }

    fn read_languages(&mut self, lines: &Lines) -> Result<(), String> {
        for line in lines.all("meant") {
            self.meant.insert(written(line.first()), written(line.get(1)));
        }
        for line in lines.all("script") {
            let ends = [number(line.first())?, number(line.get(1))?].map(|code: u32| char::from_u32(code).unwrap_or('\0'));
            self.scripts.push((ends[0], ends[1], written(line.get(2))));
        }
        for line in lines.all("arabic") {
            self.arabic.push((written(line.first()), written(line.get(1))));
        }
        for line in lines.all("same_script") {
            let others = line.iter().skip(1).map(|&other| other.to_owned()).collect();
            self.same_script.insert(written(line.first()), others);
        }
        for line in lines.all("letters") {
            let (start, count): (u32, u32) = (number(line.first())?, number(line.get(1))?);
            self.letter_runs.push((start, start + count));
            for code in start..(start + count).min(self.latin_letters.len() as u32) {
                self.latin_letters[code as usize] = true;
            }
        }
        for line in lines.all("shingle_letters") {
            let (address, count): (usize, usize) = (number(line.first())?, number(line.get(1))?);
            // SAFETY: as `read` demands.
            let bytes = unsafe { bytes_at(address, 4 * count) };
            self.letters = bytes.chunks_exact(4).map(|four| u32::from_le_bytes([four[0], four[1], four[2], four[3]])).collect();
        }
        for line in lines.all("model") {
            self.models.push(read_model(line)?);
        }
        if self.models.len() != 2 { Err("two models are needed".to_owned()) } else { Ok(()) }
    }

    pub fn tag(&self, name: &str) -> usize {
        self.tags.get(name).copied().unwrap_or(usize::MAX)
    }

    pub fn has(&self, set: &str, member: &str) -> bool {
        self.sets.get(set).is_some_and(|members| members.contains(member))
    }

    pub fn set(&self, name: &str) -> Option<&Set> {
        self.sets.get(name)
    }

    /// The member itself, which lives as long as the tables; empty where it is none.
    pub fn member(&self, set: &str, member: &str) -> &str {
        self.sets.get(set).and_then(|members| members.get(member)).map_or("", String::as_str)
    }

    pub fn attribute(&self, attribute: crate::lexbor::Attribute) -> Name {
        let code = match attribute.number() {
            Some(number) if number < ATTRIBUTES => self.attributes[number],
            _ => self.attribute_names.get(attribute.name(&self.functions)).copied().unwrap_or(0),
        };
        NAMES.get(code as usize).copied().unwrap_or(Name::Other)
    }

    /// A letter of a word whose language is asked for.
    pub fn is_letter(&self, c: char) -> bool {
        let code = c as u32;
        if let Some(&is_letter) = self.latin_letters.get(code as usize) {
            return is_letter;
        }
        let place = self.letter_runs.partition_point(|&(start, _)| start <= code);
        place > 0 && code < self.letter_runs[place - 1].1
    }

    pub fn script_of(&self, letter: char) -> &str {
        let place = self.scripts.partition_point(|(start, _, _)| *start <= letter).max(1);
        let (_, end, script) = &self.scripts[place - 1];
        if letter <= *end { script } else { "" }
    }
}

fn read_model(line: &[&str]) -> Result<Model, String> {
    let languages: Vec<String> = written(line.first()).split(' ').map(str::to_owned).collect();
    // SAFETY: as `Tables::read` demands.
    let runs = unsafe { bytes_at(number(line.get(1))?, number(line.get(2))?) };
    let columns = unsafe { bytes_at(number(line.get(3))?, number(line.get(4))?) };
    let runs: Vec<&[u8]> = runs.split(|&byte| byte == b'\n').collect();
    if columns.len() < runs.len() * languages.len() || languages.len() > LANGUAGES_MAX {
        return Err("a model has another size".to_owned());
    }
    let count = runs.len();
    let rows = runs.iter().enumerate().map(|(place, run)| {
        let mut row = [0; LANGUAGES_MAX];
        (0..languages.len()).for_each(|language| row[language] = columns[language * count + place]);
        (run.to_vec(), row)
    });
    let rows: Vec<_> = rows.collect();
    Model::of(languages, rows.into_iter()).ok_or_else(|| "two runs of a model have one hash".to_owned())
}
