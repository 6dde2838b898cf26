//! The canonical form of a URL: as in `gossamer/url/canonical.py` and `parameters.py`.

#![allow(unsafe_code)]

use crate::lexbor::decoded;
use crate::tables::{Functions, Set};
use crate::text;

const URL_CHARS_MAX: usize = 8192;
const INPUT_CHARS_MAX: usize = 65536;
const NOWHERE: &str = "about:blank";

/// What this process crawls and which parameters it drops (`url.canonical.choose`).
#[derive(Default)]
pub struct Choice {
    schemes: Vec<String>,
    names: Set,
    prefixes: Vec<String>,
    doubtful: Set,
    kept: Set,
    kept_prefixes: Vec<String>,
    in_path: Vec<String>,
}

impl Choice {
    /// A line for each list: its name and its members, between tabs.
    pub fn read(text: &str) -> Self {
        let mut choice = Choice::default();
        for line in text.split('\n') {
            let mut values = line.split('\t').map(str::to_owned);
            match values.next().as_deref() {
                Some("schemes") => choice.schemes = values.collect(),
                Some("names") => choice.names = values.collect(),
                Some("prefixes") => choice.prefixes = values.collect(),
                Some("doubtful") => choice.doubtful = values.collect(),
                Some("kept") => choice.kept = values.collect(),
                Some("kept_prefixes") => choice.kept_prefixes = values.collect(),
                Some("in_path") => choice.in_path = values.collect(),
                _ => {}
            }
        }
        choice
    }

    fn is_noise(&self, parameter: &str) -> bool {
        let (name, value) = text::partition(parameter, '=');
        let name = text::lower(name);
        let name = name.as_ref();
        if self.names.contains(name) {
            return true;
        }
        if self.prefixes.iter().any(|prefix| name.starts_with(prefix)) {
            return !(self.kept.contains(name) || self.kept_prefixes.iter().any(|prefix| name.starts_with(prefix)));
        }
        self.doubtful.contains(name) && looks_like_a_session(value.unwrap_or(""))
    }

    /// Without noise, and sorted; behind a `?` where anything is left.
    pub fn add_query(&self, query: &str, out: &mut String) {
        let mut kept: Vec<&str> = query.split('&').filter(|each| !each.is_empty() && !self.is_noise(each)).collect();
        if kept.len() > 1 {
            kept.sort_by_key(|parameter| text::partition(parameter, '=').0);
        }
        for (place, parameter) in kept.iter().enumerate() {
            out.push(if place == 0 { '?' } else { '&' });
            out.push_str(parameter);
        }
    }

    fn is_crawled(&self, href: &str) -> bool {
        self.schemes.iter().any(|scheme| href.starts_with(scheme))
    }

    /// The end of the sessions that begin at this `;`.
    fn session_end(&self, rest: &[u8], at: usize) -> Option<usize> {
        if rest[..at].ends_with(b"/.") || rest[..at].ends_with(b"/..") {
            return None;
        }
        let mut end = at;
        loop {
            let from = &rest[end..];
            let name = self.in_path.iter().find(|name| {
                from.len() > name.len() + 1
                    && from[0] == b';'
                    && from[1..=name.len()].eq_ignore_ascii_case(name.as_bytes())
                    && from[name.len() + 1] == b'='
            });
            let Some(name) = name else { break };
            end += name.len() + 2;
            end += rest[end..].iter().take_while(|byte| !matches!(byte, b'/' | b'?' | b'&' | b';')).count();
        }
        (end > at).then_some(end)
    }
}

/// 16 letters and digits or more, with both kinds among them.
fn looks_like_a_session(value: &str) -> bool {
    value.len() >= 16
        && value.bytes().all(|byte| byte.is_ascii_alphanumeric())
        && value.bytes().any(|byte| byte.is_ascii_digit())
        && value.bytes().any(|byte| byte.is_ascii_alphabetic())
}

/// A page that is crawled, its origin and its folder; all empty where it is none.
#[derive(Default)]
pub struct Base {
    pub given: String,
    pub page: String,
    pub origin: String,
    pub folder: String,
}

impl Base {
    pub fn of(given: &str, choice: &Choice, functions: &Functions) -> Self {
        let page = canonicalize(given, None, choice, functions).unwrap_or_default();
        let path_at = path_at(&page);
        let folder = folder_of(&page);
        Base { given: given.to_owned(), origin: page[..path_at].to_owned(), folder, page }
    }
}

pub fn path_at(url: &str) -> usize {
    let Some(authority_at) = url.find("//").map(|at| at + 2) else { return 0 };
    url[authority_at..].find('/').map_or(url.len(), |at| authority_at + at)
}

/// All up to the last slash of the path, and the slash.
pub fn folder_of(url: &str) -> String {
    let path = text::partition(url, '?').0;
    let end = path.rfind('/').unwrap_or(0);
    format!("{}/", &path[..end])
}

pub fn canonicalize(url: &str, base: Option<&Base>, choice: &Choice, functions: &Functions) -> Option<String> {
    let mut href = match joined_if_plain(text::partition(url, '#').0, base) {
        Some(href) => href,
        None => {
            if url.len() > INPUT_CHARS_MAX && text::chars(url) > INPUT_CHARS_MAX {
                return None;
            }
            join(base.map_or(NOWHERE, |base| &base.given), url, functions)?
        }
    };
    if !choice.is_crawled(&href) {
        return None;
    }
    if href.bytes().any(|byte| matches!(byte, b'?' | b'%' | b';' | b'#' | b'@')) {
        href = with_rules(&href, choice);
    }
    (href.len() <= URL_CHARS_MAX).then_some(href)
}

/// By ada, the parser of the URL standard.
fn join(base: &str, url: &str, functions: &Functions) -> Option<String> {
    // SAFETY: the functions are ada's; the bytes are read during the call, and what it gives is freed once.
    unsafe {
        let parsed = (functions.url_parse)(url.as_ptr(), url.len(), base.as_ptr(), base.len());
        let href = (functions.url_is_valid)(parsed).then(|| {
            let href = (functions.url_href)(parsed);
            decoded(std::slice::from_raw_parts(href.data, href.length)).into_owned()
        });
        (functions.url_free)(parsed);
        href
    }
}

/// What the parser would make of a plain reference; None: not plain.
fn joined_if_plain(url: &str, base: Option<&Base>) -> Option<String> {
    if base.is_some_and(|base| base.page.is_empty()) {
        return None;
    }
    if !url.starts_with("http") {
        let base = base?;
        if url.is_empty() {
            return Some(base.page.clone());
        }
        let is_absolute = url.starts_with('/');
        let (mut url, mut folder) = (url, base.folder.as_str());
        while let Some(rest) = url.strip_prefix("../") {
            url = rest;
            if folder.len() > base.origin.len() + 1 {
                folder = &folder[..=folder[..folder.len() - 1].rfind('/')?];
            }
        }
        if url.starts_with('?') || (url.starts_with('/') && !is_absolute) || !is_plain_path(url) {
            return None;
        }
        return Some([if is_absolute { &base.origin } else { folder }, url].concat());
    }
    let path_at = match base.filter(|base| url.starts_with(&base.origin)) {
        Some(base) => base.origin.len(),
        None => plain_origin_end(url)?,
    };
    let path = &url[path_at..];
    (path.starts_with('/') && is_plain_path(path)).then(|| url.to_owned())
}

/// Parts that are neither empty nor `.` or `..` in any spelling, and a query without anything that would be escaped.
fn is_plain_path(url: &str) -> bool {
    let bytes = url.as_bytes();
    let mut at = usize::from(bytes.first() == Some(&b'/'));
    loop {
        match bytes.get(at) {
            None => return true,
            Some(b'?') => {
                let is_plain = |&byte: &u8| byte.is_ascii_alphanumeric() || b"_~.,%&=+;:/-".contains(&byte);
                return bytes[at + 1..].iter().all(is_plain);
            }
            Some(b'%') => {
                if bytes.get(at + 1) == Some(&b'2') && matches!(bytes.get(at + 2), Some(b'E' | b'e')) {
                    return false;
                }
            }
            Some(byte) if byte.is_ascii_alphanumeric() || b"_~-".contains(byte) => {}
            Some(_) => return false,
        }
        at += 1;
        let is_plain = |byte: &&u8| byte.is_ascii_alphanumeric() || b"_~.,%-".contains(byte);
        at += bytes[at..].iter().take_while(is_plain).count();
        if bytes.get(at) == Some(&b'/') {
            at += 1;
        } else if !matches!(bytes.get(at), None | Some(b'?')) {
            return false;
        }
    }
}

/// `https://` and a name of letters, without a port, before a slash.
fn plain_origin_end(url: &str) -> Option<usize> {
    let start = if url.starts_with("https://") { 8 } else if url.starts_with("http://") { 7 } else { return None };
    let end = start + url[start..].find('/')?;
    let (labels, last) = url[start..end].rsplit_once('.')?;
    let is_last = (2..=20).contains(&last.len()) && last.bytes().all(|byte| byte.is_ascii_lowercase());
    let is_label = |label: &str| {
        (1..=61).contains(&label.len())
            && !label.starts_with('-')
            && !label.starts_with("xn--")
            && label.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
    };
    (is_last && labels.split('.').count() <= 3 && labels.split('.').all(is_label)).then_some(end)
}

fn with_rules(href: &str, choice: &Choice) -> String {
    let href = text::partition(href, '#').0;
    let (origin, rest) = href.split_at(path_at(href));
    let mut out = String::with_capacity(href.len());
    match origin.rfind('@') {
        Some(at) => {
            let (scheme, authority) = origin.split_at(origin.find("//").map_or(0, |at| at + 2));
            out.push_str(scheme);
            out.push_str(&authority[at + 1 - scheme.len()..]);
        }
        None => out.push_str(origin),
    }
    let escaped = if rest.contains('%') { with_normal_escapes(rest) } else { rest.to_owned() };
    let rest = if escaped.contains(';') { without_sessions(&escaped, choice) } else { escaped };
    let (path, query) = text::partition(&rest, '?');
    out.push_str(path);
    if let Some(query) = query {
        choice.add_query(query, &mut out);
    }
    out
}

/// Escapes of unreserved characters are decoded, all others are in upper case; one that follows `%` or `%` and a digit
/// is not decoded.
fn with_normal_escapes(rest: &str) -> String {
    let bytes = rest.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let is_escape = bytes[at] == b'%'
            && at + 2 < bytes.len()
            && bytes[at + 1].is_ascii_hexdigit()
            && bytes[at + 2].is_ascii_hexdigit();
        if !is_escape {
            out.push(bytes[at]);
            at += 1;
            continue;
        }
        let follows = at > 0 && bytes[at - 1] == b'%'
            || at > 1 && bytes[at - 2] == b'%' && bytes[at - 1].is_ascii_hexdigit();
        let code = (hex(bytes[at + 1]) << 4) | hex(bytes[at + 2]);
        if !follows && (code.is_ascii_alphanumeric() || b"-._~".contains(&code)) {
            out.push(code);
        } else {
            out.extend([b'%', bytes[at + 1].to_ascii_uppercase(), bytes[at + 2].to_ascii_uppercase()]);
        }
        at += 3;
    }
    String::from_utf8(out).unwrap_or_default()
}

fn hex(digit: u8) -> u8 {
    (digit as char).to_digit(16).unwrap_or(0) as u8
}

fn without_sessions(rest: &str, choice: &Choice) -> String {
    let bytes = rest.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == b';' {
            if let Some(end) = choice.session_end(bytes, at) {
                at = end;
                continue;
            }
        }
        out.push(bytes[at]);
        at += 1;
    }
    String::from_utf8(out).unwrap_or_default()
}
