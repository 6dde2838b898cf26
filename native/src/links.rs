//! The links of one page: as in `process/links.py` and `process/markup/context.py`.

#![allow(unsafe_code)]

use std::collections::HashMap;

use crate::canonical::{canonicalize, folder_of, path_at, Base, Choice};
use crate::tables::{Quick, Tables};
use crate::text;

pub const ANCHOR_CHARS_MAX: usize = 200;
const PLAIN_CHARS_MAX: usize = 500;
const SITES_REMEMBERED: usize = 4096;
const GENERIC_CHARS_MAX: usize = 30;

const OF_POSITION: f64 = 0.4;
const OF_ANCHOR: f64 = 0.3;
const OF_RELATION: f64 = 0.2;
const OF_SITE: f64 = 0.1;
const SAYS_SOMETHING: f64 = 1.0;
const GENERIC: f64 = 0.4;
const NUMBER: f64 = 0.3;
const EMPTY: f64 = 0.2;
const LEAVES: f64 = 1.0;
const STAYS: f64 = 0.5;

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Position {
    Main,
    Unknown,
    Navigation,
    Footer,
}

impl Position {
    pub fn name(self) -> &'static str {
        match self {
            Position::Main => "main",
            Position::Unknown => "",
            Position::Navigation => "navigation",
            Position::Footer => "footer",
        }
    }

    fn worth(self) -> f64 {
        match self {
            Position::Main => 1.0,
            Position::Unknown => 0.6,
            Position::Navigation => 0.4,
            Position::Footer => 0.1,
        }
    }
}

pub struct Link {
    pub url: String,
    pub anchor: String,
    pub rel: String,
    pub position: Position,
    pub context: f64,
}

pub type Sites = HashMap<String, String, Quick>;

/// The page cannot be read here: its links are escaped in the encoding of the page.
pub struct InItsEncoding;

pub struct Links<'t> {
    tables: &'t Tables,
    choice: &'t Choice,
    sites: &'t mut Sites,
    is_utf8: bool,
    base: Base,
    origin: String,
    folder: String,
    home: String,
    site: String,
    found: Vec<Link>,
    by_url: HashMap<String, usize, std::collections::hash_map::RandomState>,
}

impl<'t> Links<'t> {
    /// `is_utf8`: or in another encoding in which queries are not escaped.
    pub fn of(
        page: &str,
        base: &str,
        is_utf8: bool,
        tables: &'t Tables,
        choice: &'t Choice,
        sites: &'t mut Sites,
    ) -> Self {
        let functions = &tables.functions;
        let mut at = Base::of(page, choice, functions);
        if !base.is_empty() {
            if let Some(base) = canonicalize(base, Some(&at), choice, functions) {
                at = Base::of(&base, choice, functions);
            }
        }
        let is_usual = at.page == at.given && at.given.starts_with("http");
        let origin = if is_usual { at.origin.clone() } else { String::new() };
        let folder = folder_of(&at.given);
        let page_origin = &page[..path_at(page)];
        let home = format!("{page_origin}/");
        let site = site_of(host_of(page), tables, sites);
        Links {
            tables,
            choice,
            sites,
            is_utf8,
            base: at,
            origin,
            folder,
            home,
            site,
            found: Vec::new(),
            by_url: HashMap::new(),
        }
    }

    pub fn len(&self) -> usize {
        self.found.len()
    }

    /// The page's origin, with a slash.
    pub fn home(&self) -> &str {
        &self.home
    }

    pub fn into_found(self) -> Vec<Link> {
        self.found
    }

    pub fn resolve(&self, href: &str) -> Result<Option<String>, InItsEncoding> {
        if !self.origin.is_empty() && (href.len() <= PLAIN_CHARS_MAX || text::chars(href) <= PLAIN_CHARS_MAX) {
            let (path, query) = text::partition(text::partition(href, '#').0, '?');
            if is_plain_path(path) && query.map_or(true, is_plain_query) {
                let start = if path.starts_with('/') { &self.origin } else { &self.folder };
                let mut url = String::with_capacity(start.len() + href.len());
                url.push_str(start);
                url.push_str(path);
                if let Some(query) = query {
                    self.choice.add_query(query, &mut url);
                }
                return Ok(Some(url));
            }
        }
        if !self.is_utf8 && !href.is_ascii() && href.contains('?') {
            return Err(InItsEncoding);
        }
        Ok(canonicalize(href, Some(&self.base), self.choice, &self.tables.functions))
    }

    pub fn add(&mut self, href: &str, anchor: &str, rel: &str, position: Position) -> Result<(), InItsEncoding> {
        let Some(url) = self.resolve(href)? else { return Ok(()) };
        let known = self.by_url.get(&url).copied();
        let (mut anchor, mut rel, mut position) = (anchor, rel, position);
        if let Some(place) = known {
            let link = &self.found[place];
            let is_better = position.worth() > link.position.worth();
            let is_allowed_now = is_nofollow(&link.rel) && !is_nofollow(rel);
            if !(is_better || is_allowed_now || (!anchor.is_empty() && link.anchor.is_empty())) {
                return Ok(());
            }
            anchor = if link.anchor.is_empty() { anchor } else { &link.anchor };
            rel = if is_allowed_now { rel } else { &link.rel };
            position = if is_better { position } else { link.position };
        }
        let leaves = !url.starts_with(&self.home) && site_of(host_of(&url), self.tables, self.sites) != self.site;
        let context = place_worth(position, rel, leaves, self.tables) + OF_ANCHOR * anchor_worth(anchor, self.tables);
        let link = Link { anchor: anchor.to_owned(), rel: rel.to_owned(), position, context, url };
        match known {
            Some(place) => self.found[place] = link,
            None => {
                self.by_url.insert(link.url.clone(), self.found.len());
                self.found.push(link);
            }
        }
        Ok(())
    }
}

/// Parts of unreserved characters, none of them empty or starting with a dot.
fn is_plain_path(path: &str) -> bool {
    let is_first = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'~' | b'-');
    let mut before = b'/';
    for (at, byte) in path.bytes().enumerate() {
        let is_plain = if before == b'/' { is_first(byte) || (byte == b'/' && at == 0) } else {
            is_first(byte) || byte == b'.' || byte == b'/'
        };
        if !is_plain {
            return false;
        }
        before = byte;
    }
    !path.is_empty()
}

fn is_plain_query(query: &str) -> bool {
    query.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"_~.=&+-".contains(&byte))
}

pub fn is_nofollow(rel: &str) -> bool {
    rel.contains("nofollow") && text::words(rel).any(|word| word == "nofollow")
}

fn host_of(url: &str) -> &str {
    let authority = url.split('/').nth(2).unwrap_or("");
    if let Some(rest) = authority.strip_prefix('[') {
        return text::partition(rest, ']').0;
    }
    text::partition(authority, ':').0
}

/// By the public suffix list, which Python has; what it said is remembered.
fn site_of(host: &str, tables: &Tables, sites: &mut Sites) -> String {
    if let Some(site) = sites.get(host) {
        return site.clone();
    }
    let mut written = vec![0u8; host.len()];
    // SAFETY: it writes at most as many bytes as it is told, and says how many there are.
    let length = unsafe {
        (tables.functions.site_of)(host.as_ptr(), host.len(), written.as_mut_ptr(), written.len())
    };
    written.truncate(length);
    let site = String::from_utf8(written).unwrap_or_else(|_| host.to_owned());
    if sites.len() >= SITES_REMEMBERED {
        sites.clear();
    }
    sites.insert(host.to_owned(), site.clone());
    site
}

fn place_worth(position: Position, rel: &str, leaves: bool, tables: &Tables) -> f64 {
    let relation = if rel.is_empty() { 1.0 } else {
        let worths = text::words(rel).filter_map(|word| tables.relations.get(word));
        worths.copied().reduce(f64::min).unwrap_or(1.0)
    };
    let parts = OF_POSITION * position.worth() + OF_RELATION * relation + OF_SITE * if leaves { LEAVES } else { STAYS };
    parts.min(1.0 - OF_ANCHOR)
}

fn anchor_worth(anchor: &str, tables: &Tables) -> f64 {
    if anchor.is_empty() {
        return EMPTY;
    }
    if anchor.len() > GENERIC_CHARS_MAX && text::chars(anchor) > GENERIC_CHARS_MAX {
        return SAYS_SOMETHING;
    }
    let words = anchor.trim_matches(|c| tables.no_letters.contains(c));
    if words.is_empty() {
        return NUMBER;
    }
    if tables.has("generic", &text::lower(words)) { GENERIC } else { SAYS_SOMETHING }
}
