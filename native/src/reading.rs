//! One walk over the tree of a page: as in `process/markup/reading.py`, which says how and why.

use crate::areas::{area_of, Words, NAVIGATION, OPEN, SILENT};
use crate::lexbor::{decoded, Node};
use crate::links::ANCHOR_CHARS_MAX;
use crate::said::Said;
use crate::tables::{Name, Tables};
use crate::text::{cut, folded, lower, stripped, stripped_right};

const TITLE_CHARS_MAX: usize = 1000;
const HEADING_CHARS_MAX: usize = 200;
const HEADINGS_MAX: usize = 100;
const LINKS_READ_MAX: usize = 100_000;
pub const LINE_END: char = '\x0b';

// What an element does to the text before and after it, in the order of reading.py.
const PIECE: u8 = 0;
const LINK: u8 = 2;
const WORD: u8 = 3;
const HIDDEN: u8 = 4;
const BLOCK: u8 = 5;
const AREA: u8 = 6;
const HEADING: u8 = 7;
const CONTROL: u8 = 9;

// What an element says of the white space before it.
const PARAGRAPH: u8 = 1;
const CELL: u8 = 3;

pub struct Found {
    pub href: String,
    pub anchor: String,
    pub rel: String,
    pub area: u8,
    pub block: usize,
}

pub struct Block {
    start: usize, // of its text, in that of all blocks
    end: usize,
    pub area: u8,
    gap: Gap,
    pub code: Option<String>,
}

enum Gap {
    Usual(&'static str),
    Odd(String),
}

impl Block {
    pub fn gap(&self) -> &str {
        match &self.gap {
            Gap::Usual(gap) => gap,
            Gap::Odd(gap) => gap,
        }
    }
}

/// Elements that the walk asks for by their numbers.
struct Tags {
    a: usize,
    br: usize,
    h1: usize,
    img: usize,
    pre: usize,
    svg: usize,
    title: usize,
    td: usize,
    th: usize,
}

pub struct Reading<'t> {
    tables: &'t Tables,
    words: Words<'t>,
    tags: Tags,
    pub title: Option<String>,
    pub headings: Vec<String>,
    pub links: Vec<Found>,
    room: usize,
    area: u8,
    run: String,
    run_pieces: usize,
    pub blocks: Vec<Block>,
    text: String, // of all blocks, each stripped, with the spaces inside as they are in the page
    gap: String,
    is_code: bool,
    bytes: Vec<u8>,
}

/// The children that are left of an element that the walk is in.
struct Around<'d> {
    next: Option<Node<'d>>,
    with_text: bool,
    with_empty: bool,
    kind: u8,
    area: u8,
    is_code: bool,
}

impl<'d> Around<'d> {
    fn take(&mut self) -> Option<Node<'d>> {
        while let Some(node) = self.next {
            self.next = node.next();
            if !node.is_text() || (self.with_text && (self.with_empty || !is_empty_text(node))) {
                return Some(node);
            }
        }
        None
    }
}

fn is_empty_text(node: Node) -> bool {
    node.is_text() && node.data().iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\x0c' | b'\r'))
}

impl<'t> Reading<'t> {
    pub fn new(tables: &'t Tables) -> Option<Self> {
        let tag = |name| tables.tag(name);
        Some(Reading {
            tables,
            words: Words::of(tables)?,
            tags: Tags {
                a: tag("a"),
                br: tag("br"),
                h1: tag("h1"),
                img: tag("img"),
                pre: tag("pre"),
                svg: tag("svg"),
                title: tag("title"),
                td: tag("td"),
                th: tag("th"),
            },
            title: None,
            headings: Vec::new(),
            links: Vec::new(),
            room: LINKS_READ_MAX,
            area: OPEN,
            run: String::new(),
            run_pieces: 0,
            blocks: Vec::new(),
            text: String::new(),
            gap: String::new(),
            is_code: false,
            bytes: Vec::new(),
        })
    }

    fn kind(&self, tag: usize) -> u8 {
        self.tables.kinds.get(tag).copied().unwrap_or(BLOCK)
    }

    /// Do something with the text of all that is inside a node.
    fn with_text_of<T>(&mut self, node: Node, what: impl FnOnce(&mut Self, &str) -> T) -> T {
        if let Some(only) = node.first_child().filter(|child| child.is_text() && child.next().is_none()) {
            return what(self, &decoded(only.data()));
        }
        let mut bytes = std::mem::take(&mut self.bytes);
        bytes.clear();
        for each in node.descendants() {
            bytes.extend_from_slice(each.data());
        }
        let done = what(self, &decoded(&bytes));
        self.bytes = bytes;
        done
    }

    fn folded_text_of(&mut self, node: Node) -> String {
        self.with_text_of(node, |_, text| folded(text))
    }

    /// A link that is no <a>.
    pub fn add(&mut self, href: &str, anchor: &str, rel: &str, is_somewhere: bool) {
        if href.is_empty() || self.room == 0 {
            return;
        }
        self.room -= 1;
        let area = if is_somewhere { self.area } else { SILENT };
        self.links.push(Found {
            href: href.to_owned(),
            anchor: cut(anchor, ANCHOR_CHARS_MAX).to_owned(),
            rel: rel.to_owned(),
            area,
            block: self.blocks.len(),
        });
    }

    fn add_a(&mut self, node: Node, area: u8) {
        let (mut href, mut rel) = (&[][..], &[][..]);
        for attribute in node.attributes() {
            match self.tables.attribute(attribute) {
                Name::Href => href = attribute.value(),
                Name::Rel => rel = attribute.value(),
                _ => {}
            }
        }
        if href.is_empty() || self.room == 0 {
            return;
        }
        self.room -= 1;
        let mut anchor = self.folded_text_of(node);
        anchor.truncate(cut(&anchor, ANCHOR_CHARS_MAX).len());
        if anchor.is_empty() {
            anchor = self.picture_text(node);
        }
        self.links.push(Found {
            href: decoded(href).into_owned(),
            anchor,
            rel: lower(&decoded(rel)).into_owned(),
            area,
            block: self.blocks.len(),
        });
    }

    fn picture_text(&self, anchor: Node) -> String {
        let Some(picture) = anchor.descendants().find(|node| node.tag() == self.tags.img) else { return String::new() };
        let alt = picture.attributes().find(|attribute| self.tables.attribute(*attribute) == Name::Alt);
        let alt = alt.map_or(String::new(), |alt| folded(&decoded(alt.value())));
        cut(&alt, ANCHOR_CHARS_MAX).to_owned()
    }

    fn add_piece(&mut self, piece: &str) {
        self.run.push_str(piece);
        self.run_pieces += 1;
    }

    /// Text that is in no leaf, or an element that is part of a line.
    fn add_to_run(&mut self, node: Node, kind: u8) {
        if self.run_pieces > 0 && self.is_apart(node) {
            self.add_piece(" ");
        }
        if kind == PIECE {
            self.add_piece(&decoded(node.data()));
        } else if kind == LINK {
            self.add_a(node, self.area);
        } else if node.tag() == self.tags.br && self.run_pieces > 0 {
            self.run.push(LINE_END);
            self.run_pieces += 1;
        } else if kind >= WORD {
            self.end(kind);
        }
    }

    /// An element of this kind has started or ended.
    fn end(&mut self, kind: u8) {
        if self.run_pieces == 0 {
            return;
        }
        if kind >= BLOCK {
            let text = std::mem::take(&mut self.run);
            self.run_pieces = 0;
            self.add_block(&text, self.area, self.is_code);
        } else if kind >= WORD {
            self.add_piece(" ");
        }
    }

    fn add_block(&mut self, text: &str, area: u8, is_code: bool) {
        let own = stripped(text);
        if own.is_empty() || area == SILENT {
            return;
        }
        let code = is_code.then(|| {
            let lines = text.replace(LINE_END, "\n");
            stripped_right(lines.trim_matches('\n')).to_owned()
        });
        let gap = match self.gap.as_str() {
            "" | "\n" => Gap::Usual("\n"),
            "\n\n" => Gap::Usual("\n\n"),
            "\t" => Gap::Usual("\t"),
            odd => Gap::Odd(odd.to_owned()),
        };
        self.gap.clear();
        let start = self.text.len();
        self.text.push_str(own);
        self.blocks.push(Block { start, end: self.text.len(), area, gap, code });
    }

    pub fn text_of_block(&self, block: &Block) -> &str {
        &self.text[block.start..block.end]
    }

    /// Of all blocks, without anything between them.
    pub fn all_text(&self) -> &str {
        &self.text
    }

    fn add_heading(&mut self, node: Node) {
        let text = self.folded_text_of(node);
        let heading = stripped_right(text.strip_suffix('¶').unwrap_or(&text));
        if !heading.is_empty() && self.headings.len() < HEADINGS_MAX {
            self.headings.push(cut(heading, HEADING_CHARS_MAX).to_owned());
        }
    }

    fn add_title(&mut self, node: Node) {
        let is_of_a_drawing = node.parent().is_some_and(|parent| parent.tag() == self.tags.svg);
        if self.title.is_none() && !is_of_a_drawing {
            self.title = Some(cut(&self.folded_text_of(node), TITLE_CHARS_MAX).to_owned());
        }
    }

    /// Whether a word ends before this node that the walk has not seen to end: by white space, or link by link.
    fn is_apart(&self, node: Node) -> bool {
        node.prev().is_some_and(|before| is_empty_text(before) || self.follows_a_link(node))
    }

    fn follows_a_link(&self, node: Node) -> bool {
        node.tag() == self.tags.a && node.prev().is_some_and(|before| before.tag() == self.tags.a)
    }

    /// What the element says of the white space before it.
    fn hear_gap(&mut self, node: Node) {
        let gap = self.tables.gaps.get(node.tag()).copied().unwrap_or(0);
        if gap == CELL {
            let mut before = node.prev();
            while let Some(each) = before {
                if each.tag() == self.tags.td || each.tag() == self.tags.th {
                    self.gap.push('\t');
                    return;
                }
                before = each.prev();
            }
            if self.gap.is_empty() {
                self.gap.push('\n');
            }
        } else if gap != 0 && self.gap.is_empty() {
            self.gap.push_str(if gap == PARAGRAPH { "\n\n" } else { "\n" });
        }
    }

    /// The links of a block that has only text and inline elements inside; None: it has more.
    fn links_of_leaf<'d>(&self, node: Node<'d>, links: &mut Vec<Node<'d>>) -> bool {
        links.clear();
        for each in node.descendants() {
            if each.is_text() {
                continue;
            }
            let tag = each.tag();
            if tag == self.tags.a {
                if !links.is_empty() && self.follows_a_link(each) {
                    return false; // there a space is missing
                }
                links.push(each);
            } else if self.kind(tag) > LINK {
                return false;
            }
        }
        true
    }

    pub fn walk<'d>(&mut self, root: Node<'d>, said: &mut Said) {
        let mut around: Vec<Around<'d>> = Vec::new();
        let mut links: Vec<Node<'d>> = Vec::new();
        let mut only_root = Some(root);
        loop {
            let node = match around.last_mut() {
                Some(inside) => inside.take(),
                None => only_root.take(),
            };
            let Some(node) = node else {
                let Some(left) = around.pop() else { return };
                self.end(left.kind);
                if left.kind == CONTROL {
                    self.set_gap(" "); // it stands in a line
                }
                (self.area, self.is_code) = (left.area, left.is_code);
                continue;
            };
            let tag = node.tag();
            let kind = self.kind(tag);
            if kind < BLOCK {
                self.add_to_run(node, kind);
                if tag == self.tags.title {
                    self.add_title(node);
                } else if kind >= WORD {
                    said.hear(node, self);
                }
                if kind != PIECE && node.first_child().is_some() {
                    around.push(Around {
                        next: node.first_child(),
                        with_text: kind != HIDDEN,
                        with_empty: true,
                        kind,
                        area: self.area,
                        is_code: self.is_code,
                    });
                }
                continue;
            }
            self.end(BLOCK);
            self.hear_gap(node);
            let is_code = tag == self.tags.pre || self.is_code;
            let mut inside = self.area;
            if kind == AREA || kind == CONTROL {
                inside = area_of(node, inside, self.tables, &self.words);
            } else if kind != BLOCK && !said.hear(node, self) {
                let is_heading = kind == HEADING && self.area < NAVIGATION;
                if tag == self.tags.h1 || is_heading {
                    self.add_heading(node); // an <h1> is that of the page even in its <header>
                }
            }
            if !self.links_of_leaf(node, &mut links) {
                around.push(Around {
                    next: node.first_child(),
                    with_text: true,
                    with_empty: false,
                    kind,
                    area: self.area,
                    is_code: self.is_code,
                });
                (self.area, self.is_code) = (inside, is_code);
                continue;
            }
            for link in links.drain(..) {
                self.add_a(link, inside);
            }
            self.with_text_of(node, |reading, text| reading.add_block(text, inside, is_code));
            if kind == CONTROL && !is_code {
                self.set_gap(" ");
            }
        }
    }

    fn set_gap(&mut self, gap: &str) {
        self.gap.clear();
        self.gap.push_str(gap);
    }
}
