//! The pictures that a `srcset` offers: as in `process/markup/srcset.py`.

fn is_space(c: char) -> bool {
    matches!(c, ' ' | '\t' | '\n' | '\x0c' | '\r')
}

pub fn candidates(srcset: &str) -> impl Iterator<Item = &str> {
    let mut rest = srcset;
    std::iter::from_fn(move || loop {
        rest = rest.trim_start_matches(|c| is_space(c) || c == ',');
        if rest.is_empty() {
            return None;
        }
        let end = rest.find(is_space).unwrap_or(rest.len());
        let (url, behind) = rest.split_at(end);
        if url.ends_with(',') {
            rest = behind;
            return Some(url.trim_end_matches(','));
        }
        let end = descriptors_end(behind);
        rest = &behind[end..];
        if are_valid(&behind[..end]) {
            return Some(url);
        }
    })
}

/// Up to a comma that is in no parentheses.
fn descriptors_end(text: &str) -> usize {
    let mut at = 0;
    while let Some(more) = text[at..].find([',', '(']) {
        at += more;
        if text[at..].starts_with(',') {
            return at;
        }
        at = text[at..].find(')').map_or(text.len(), |end| at + end + 1);
    }
    text.len()
}

fn are_valid(text: &str) -> bool {
    let descriptors = split(text);
    let mut kinds: Vec<char> = descriptors.iter().filter_map(|each| each.chars().last()).collect();
    kinds.sort_unstable();
    if !matches!(kinds.as_slice(), [] | ['w'] | ['x'] | ['h', 'w']) {
        return false;
    }
    descriptors.iter().all(|each| {
        let value = &each[..each.len() - 1];
        if each.ends_with('x') { is_density(value) } else { is_whole(value) && value.contains(|c| c != '0') }
    })
}

fn split(text: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = text.trim_start_matches(is_space);
    while !rest.is_empty() {
        let mut at = 0;
        loop {
            match rest[at..].find(|c| is_space(c) || c == '(') {
                None => at = rest.len(),
                Some(more) if rest[at + more..].starts_with('(') => {
                    at = rest[at + more..].find(')').map_or(rest.len(), |end| at + more + end + 1);
                    continue;
                }
                Some(more) => at += more,
            }
            break;
        }
        found.push(&rest[..at]);
        rest = rest[at..].trim_start_matches(is_space);
    }
    found
}

fn is_whole(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_density(text: &str) -> bool {
    if let Some(zero) = text.strip_prefix('-') {
        let (whole, part) = crate::text::partition(zero, '.');
        let are_zeros = |digits: &str| !digits.is_empty() && digits.bytes().all(|byte| byte == b'0');
        return are_zeros(whole) && part.map_or(true, are_zeros);
    }
    let (number, exponent) = match text.find(['e', 'E']) {
        Some(at) => (&text[..at], Some(&text[at + 1..])),
        None => (text, None),
    };
    let (whole, part) = crate::text::partition(number, '.');
    let is_number = match part {
        Some(part) => (whole.is_empty() || is_whole(whole)) && is_whole(part),
        None => is_whole(whole),
    };
    is_number && exponent.map_or(true, |exponent| is_whole(exponent.strip_prefix(['+', '-']).unwrap_or(exponent)))
}
