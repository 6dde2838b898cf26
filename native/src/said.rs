//! What elements say about the page as a whole, and the links that are not <a>: as `_Said` in `process/html.py`.

use std::collections::HashSet;

use crate::lexbor::{decoded, Node};
use crate::reading::Reading;
use crate::srcset::candidates;
use crate::tables::{Name, Tables};
use crate::text::{cut, folded, lower, partition, stripped, words};

const ALTERNATES_MAX: usize = 500;
const CANDIDATES_MAX: usize = 500;
const ALT_CHARS_MAX: usize = 10_000;

pub struct Said<'t> {
    tables: &'t Tables,
    agent: &'t str,
    wants_images: bool,
    wants_scripts: bool,
    tags: Tags,
    pub base: Option<String>,
    pub canonical: Option<String>,
    pub language: String,
    pub has_scripts: bool, // of any kind, data as well
    pub description: String,
    pub social_description: String,
    pub robots: HashSet<String>,
    pub alternates: Vec<(String, String)>,
}

struct Tags {
    area: usize,
    base: usize,
    frame: usize,
    html: usize,
    iframe: usize,
    link: usize,
    meta: usize,
    script: usize,
    pictures: [usize; 4],
}

/// The values of the attributes of one element, by name; the last of a name counts.
struct Values<'d>([Option<&'d [u8]>; 22]);

impl<'d> Values<'d> {
    fn of(node: Node<'d>, tables: &Tables) -> Self {
        let mut values = Values([None; 22]);
        for attribute in node.attributes() {
            values.0[tables.attribute(attribute) as usize] = Some(attribute.value());
        }
        values
    }

    /// Empty where there is none.
    fn get(&self, name: Name) -> std::borrow::Cow<'d, str> {
        decoded(self.0[name as usize].unwrap_or(&[]))
    }
}

impl<'t> Said<'t> {
    pub fn new(tables: &'t Tables, agent: &'t str, wants_images: bool, wants_scripts: bool) -> Self {
        let tag = |name| tables.tag(name);
        Said {
            tables,
            agent,
            wants_images,
            wants_scripts,
            tags: Tags {
                area: tag("area"),
                base: tag("base"),
                frame: tag("frame"),
                html: tag("html"),
                iframe: tag("iframe"),
                link: tag("link"),
                meta: tag("meta"),
                script: tag("script"),
                pictures: [tag("img"), tag("input"), tag("source"), tag("video")],
            },
            base: None,
            canonical: None,
            language: String::new(),
            has_scripts: false,
            description: String::new(),
            social_description: String::new(),
            robots: HashSet::new(),
            alternates: Vec::new(),
        }
    }

    /// Whether the element is one that is heard.
    pub fn hear(&mut self, node: Node, reading: &mut Reading) -> bool {
        let tag = node.tag();
        let tags = &self.tags;
        if tag == tags.meta {
            self.meta(&Values::of(node, self.tables), reading);
        } else if tag == tags.link {
            self.link(&Values::of(node, self.tables), reading);
        } else if tag == tags.html {
            let values = Values::of(node, self.tables);
            let language = values.get(Name::Lang);
            self.language = if language.is_empty() { values.get(Name::XmlLang) } else { language }.into_owned();
        } else if tag == tags.base {
            if self.base.is_none() {
                let values = Values::of(node, self.tables);
                self.base = values.0[Name::Href as usize].map(|href| decoded(href).into_owned());
            }
        } else if tag == tags.area {
            let values = Values::of(node, self.tables);
            let rel = values.get(Name::Rel);
            reading.add(&values.get(Name::Href), &folded(&values.get(Name::Alt)), &lower(&rel), true);
        } else if tag == tags.frame || tag == tags.iframe {
            reading.add(&Values::of(node, self.tables).get(Name::Src), "", "frame", true);
        } else if tag == tags.script {
            self.has_scripts = true;
            if !self.wants_scripts {
                return false;
            }
            reading.add(&Values::of(node, self.tables).get(Name::Src), "", "script", true);
        } else if self.wants_images && tags.pictures.contains(&tag) {
            self.picture(node, reading);
        } else {
            return false;
        }
        true
    }

    fn meta(&mut self, values: &Values, reading: &mut Reading) {
        let content = values.get(Name::Content);
        let mut name = values.get(Name::Name);
        if name.is_empty() {
            name = values.get(Name::Property);
        }
        let name = lower(stripped(&name));
        let command = values.get(Name::HttpEquiv);
        let command = lower(stripped(&command));
        if name == "robots" || name == self.agent {
            let spaced = lower(&content).replace([',', ';'], " ");
            self.robots.extend(words(&spaced).map(str::to_owned));
        } else if name == "description" {
            if self.description.is_empty() {
                self.description = folded(&content);
            }
        } else if name == "og:description" {
            if self.social_description.is_empty() {
                self.social_description = folded(&content);
            }
        } else if command == "refresh" {
            if let Some(target) = refresh(&content) {
                reading.add(&target, "", "refresh", false);
            }
        } else if command == "content-language" && self.language.is_empty() {
            self.language = content.into_owned();
        }
    }

    fn link(&mut self, values: &Values, reading: &mut Reading) {
        let href = values.get(Name::Href);
        let rel = values.get(Name::Rel);
        let rel = lower(&rel);
        let has = |wanted: &str| words(&rel).any(|word| word == wanted);
        if self.wants_images && has("icon") {
            reading.add(&href, "", "image", false);
        }
        let is_followed = words(&rel).any(|word| self.tables.has("followed_rels", word));
        if href.is_empty() || !is_followed || has("stylesheet") {
            return;
        }
        if has("alternate") {
            let declared = values.get(Name::Type);
            let media_type = lower(stripped(partition(&declared, ';').0));
            if !media_type.is_empty() && !self.tables.has("followed_alternates", &media_type) {
                return;
            }
            let hreflang = values.get(Name::Hreflang);
            let hreflang = lower(stripped(&hreflang));
            if !hreflang.is_empty() && self.alternates.len() < ALTERNATES_MAX {
                self.alternates.push((hreflang.into_owned(), href.clone().into_owned()));
            }
        }
        reading.add(&href, &folded(&values.get(Name::Title)), &rel, false);
        if has("canonical") && self.canonical.is_none() {
            self.canonical = Some(href.into_owned());
        }
    }

    fn picture(&mut self, node: Node, reading: &mut Reading) {
        let alt = Values::of(node, self.tables).get(Name::Alt).into_owned();
        let anchor = folded(cut(&alt, ALT_CHARS_MAX));
        for attribute in node.attributes() {
            let value = decoded(attribute.value());
            match self.tables.attribute(attribute) {
                Name::Src | Name::Picture => reading.add(&value, &anchor, "image", true),
                Name::Pictures => {
                    for candidate in candidates(&value).take(CANDIDATES_MAX) {
                        reading.add(candidate, &anchor, "image", true);
                    }
                }
                _ => {}
            }
        }
    }

    pub fn forbids(&self, word: &str) -> bool {
        self.robots.contains(word) || self.robots.contains("none")
    }
}

/// Where a refresh leads; None: nowhere else, or it is none.
fn refresh(content: &str) -> Option<String> {
    let is_space = |c: char| matches!(c, ' ' | '\t' | '\n' | '\x0c' | '\r');
    let rest = content.trim_start_matches(is_space);
    if !rest.starts_with(|c: char| c.is_ascii_digit() || c == '.') {
        return None;
    }
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit());
    let rest = rest.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
    if !rest.is_empty() && !rest.starts_with(|c: char| c == ';' || c == ',' || is_space(c)) {
        return None;
    }
    let rest = rest.trim_start_matches(is_space);
    let rest = rest.strip_prefix([';', ',']).unwrap_or(rest).trim_start_matches(is_space);
    let mut target = rest;
    if rest.get(..3).is_some_and(|word| word.eq_ignore_ascii_case("url")) {
        if let Some(behind) = rest[3..].trim_start_matches(is_space).strip_prefix('=') {
            target = behind.trim_start_matches(is_space);
        }
    }
    if let Some(quote @ ('"' | '\'')) = target.chars().next() {
        target = partition(&target[1..], quote).0;
    }
    let target: String = target.chars().filter(|c| !matches!(c, '\t' | '\n' | '\r')).collect();
    let target = target.trim_matches([' ', '\x0c']);
    (!target.is_empty()).then(|| target.to_owned())
}
