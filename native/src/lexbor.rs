//! The tree that lexbor builds: the only place that follows its pointers.
//!
//! It is the very lexbor that selectolax carries (its library exports these functions), so both readers see one tree.
//! The layout of a node is that of lexbor 2.x; `gossamer/native.py` compares a page with the reference before this is
//! used at all.

#![allow(unsafe_code)]

use std::borrow::Cow;
use std::ffi::c_void;
use std::marker::PhantomData;
use std::slice;

use crate::tables::Functions;
use crate::text::is_utf8;

const ELEMENT: u32 = 1;
const TEXT: u32 = 3;
const WITHOUT_EVENTS: u32 = 1;

#[repr(C)]
struct RawNode {
    events: *const c_void,
    local_name: usize,
    prefix: usize,
    namespace: usize,
    document: *const c_void,
    next: *const RawNode,
    prev: *const RawNode,
    parent: *const RawNode,
    first_child: *const RawNode,
    last_child: *const RawNode,
    user: *const c_void,
    kind: u32,
}

#[repr(C)]
struct RawText {
    node: RawNode,
    data: RawString,
}

#[repr(C)]
struct RawElement {
    node: RawNode,
    upper_name: usize,
    qualified_name: usize,
    is_value: *const c_void,
    first_attribute: *const RawAttribute,
}

#[repr(C)]
struct RawAttribute {
    node: RawNode,
    upper_name: usize,
    qualified_name: usize,
    value: *const RawString,
    owner: *const c_void,
    next: *const RawAttribute,
}

#[repr(C)]
struct RawString {
    data: *const u8,
    length: usize,
}

impl RawString {
    fn bytes(&self) -> &[u8] {
        if self.data.is_null() {
            return &[];
        }
        // SAFETY: lexbor keeps so many bytes there for as long as the document is.
        unsafe { slice::from_raw_parts(self.data, self.length) }
    }
}

/// Bytes of the tree, which are UTF-8 unless the page was not; what is not becomes U+FFFD.
pub fn decoded(bytes: &[u8]) -> Cow<'_, str> {
    if is_utf8(bytes) {
        // SAFETY: every byte was looked at just now. To have that done once more takes an eighth of a page's time.
        return Cow::Borrowed(unsafe { std::str::from_utf8_unchecked(bytes) });
    }
    String::from_utf8_lossy(bytes)
}

/// A parsed page; its nodes live as long as it does. One is made for each page: lexbor could clean it and use it again,
/// in 7 % less time, but keeps the mode of the page before, in which tables stand in paragraphs or do not.
pub struct Document<'f> {
    raw: *mut c_void,
    functions: &'f Functions,
}

impl<'f> Document<'f> {
    /// None: lexbor could not parse it, for want of memory.
    pub fn parse(functions: &'f Functions, markup: &[u8]) -> Option<Self> {
        // SAFETY: the functions are lexbor's; the bytes are only read during the call.
        unsafe {
            let raw = (functions.document_create)();
            if raw.is_null() {
                return None;
            }
            let document = Document { raw, functions };
            (functions.document_options)(raw, WITHOUT_EVENTS);
            let status = (functions.document_parse)(raw, markup.as_ptr(), markup.len());
            (status == 0).then_some(document)
        }
    }

    pub fn root(&self) -> Option<Node<'_>> {
        // SAFETY: the document was parsed and lives as long as the node.
        unsafe { Node::from((self.functions.document_root)(self.raw).cast()) }
    }
}

impl Drop for Document<'_> {
    fn drop(&mut self) {
        // SAFETY: it was created by `parse`, and no node outlives it.
        unsafe { (self.functions.document_destroy)(self.raw) };
    }
}

#[derive(Clone, Copy)]
pub struct Node<'d> {
    raw: &'d RawNode,
}

impl PartialEq for Node<'_> {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self.raw, other.raw)
    }
}

impl<'d> Node<'d> {
    /// # Safety
    /// The pointer is null or that of a node which lives as long as `'d`.
    unsafe fn from(raw: *const RawNode) -> Option<Self> {
        unsafe { raw.as_ref() }.map(|raw| Node { raw })
    }

    pub fn tag(self) -> usize {
        self.raw.local_name
    }

    pub fn is_text(self) -> bool {
        self.raw.kind == TEXT
    }

    pub fn next(self) -> Option<Self> {
        unsafe { Self::from(self.raw.next) }
    }

    pub fn prev(self) -> Option<Self> {
        unsafe { Self::from(self.raw.prev) }
    }

    pub fn parent(self) -> Option<Self> {
        unsafe { Self::from(self.raw.parent) }
    }

    pub fn first_child(self) -> Option<Self> {
        unsafe { Self::from(self.raw.first_child) }
    }

    /// What a text node holds; empty for all others.
    pub fn data(self) -> &'d [u8] {
        if !self.is_text() {
            return &[];
        }
        // SAFETY: a node of this kind is the start of a RawText.
        let text: &'d RawText = unsafe { &*std::ptr::from_ref(self.raw).cast() };
        text.data.bytes()
    }

    pub fn attributes(self) -> Attributes<'d> {
        let first = if self.raw.kind == ELEMENT {
            // SAFETY: a node of this kind is the start of a RawElement.
            let element: &'d RawElement = unsafe { &*std::ptr::from_ref(self.raw).cast() };
            element.first_attribute
        } else {
            std::ptr::null()
        };
        Attributes { next: first, document: PhantomData }
    }

    /// All that is inside, in the order of the document.
    pub fn descendants(self) -> Descendants<'d> {
        Descendants { top: self, at: self }
    }
}

pub struct Descendants<'d> {
    top: Node<'d>,
    at: Node<'d>,
}

impl<'d> Iterator for Descendants<'d> {
    type Item = Node<'d>;

    fn next(&mut self) -> Option<Node<'d>> {
        let mut at = self.at;
        let found = at.first_child().or_else(|| loop {
            if at == self.top {
                return None;
            }
            if let Some(next) = at.next() {
                return Some(next);
            }
            at = at.parent()?;
        })?;
        self.at = found;
        Some(found)
    }
}

pub struct Attributes<'d> {
    next: *const RawAttribute,
    document: PhantomData<&'d RawNode>,
}

impl<'d> Iterator for Attributes<'d> {
    type Item = Attribute<'d>;

    fn next(&mut self) -> Option<Attribute<'d>> {
        // SAFETY: null, or an attribute of a node of the document.
        let raw: &'d RawAttribute = unsafe { self.next.as_ref() }?;
        self.next = raw.next;
        Some(Attribute { raw })
    }
}

#[derive(Clone, Copy)]
pub struct Attribute<'d> {
    raw: &'d RawAttribute,
}

impl<'d> Attribute<'d> {
    /// lexbor's number for its name; one that lexbor does not know, or with a prefix, has a number of its own.
    pub fn number(self) -> Option<usize> {
        (self.raw.qualified_name == 0).then_some(self.raw.node.local_name)
    }

    pub fn name(self, functions: &Functions) -> &'d [u8] {
        let mut length = 0usize;
        // SAFETY: the attribute is one of lexbor's, and so is its name.
        unsafe {
            let name = (functions.attribute_name)(std::ptr::from_ref(self.raw).cast(), &mut length);
            if name.is_null() {
                return &[];
            }
            slice::from_raw_parts(name, length)
        }
    }

    /// Empty where it has none.
    pub fn value(self) -> &'d [u8] {
        // SAFETY: null, or a string that lives as long as the document.
        let value: Option<&'d RawString> = unsafe { self.raw.value.as_ref() };
        value.map_or(&[], RawString::bytes)
    }
}
