//! Rust source as words and signs, without comments and the insides of strings.

/// A word, or one sign; `::` is one sign.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) text: String,
    pub(crate) line: usize,
}

/// Splits source text. A string becomes `"`, a lifetime or a character `'`.
pub(crate) fn split(source: &str) -> Vec<Token> {
    let chars: Vec<char> = source.chars().collect();
    let (mut tokens, mut index, mut line) = (Vec::new(), 0, 1);
    while index < chars.len() {
        let start = index;
        let next = chars.get(index + 1).copied();
        let text = match chars[index] {
            '/' if next == Some('/') => {
                index = find(&chars, index, "\n").0;
                None
            }
            '/' if next == Some('*') => {
                index = find(&chars, index + 2, "*/").1;
                None
            }
            'b' | 'r' | 'c' if raw_string(&chars, index).is_some() => {
                index = raw_string(&chars, index).unwrap_or(chars.len());
                Some("\"".to_owned())
            }
            '"' => {
                index = string_end(&chars, index + 1, '"');
                Some("\"".to_owned())
            }
            '\'' => {
                let is_char = next == Some('\\') || chars.get(index + 2) == Some(&'\'');
                index = if is_char { string_end(&chars, index + 1, '\'') } else { index + 1 };
                Some("'".to_owned())
            }
            first if first.is_alphanumeric() || first == '_' => {
                while chars.get(index).is_some_and(|c| c.is_alphanumeric() || *c == '_') {
                    index += 1;
                }
                Some(chars[start..index].iter().collect())
            }
            ':' if next == Some(':') => {
                index += 2;
                Some("::".to_owned())
            }
            sign => {
                index += 1;
                (!sign.is_whitespace()).then(|| sign.to_string())
            }
        };
        tokens.extend(text.map(|text| Token { text, line }));
        line += chars[start..index.min(chars.len())].iter().filter(|c| **c == '\n').count();
    }
    tokens
}

/// Returns where `wanted` begins and ends, from `from` on.
fn find(chars: &[char], from: usize, wanted: &str) -> (usize, usize) {
    let wanted: Vec<char> = wanted.chars().collect();
    let begin = (from..chars.len()).find(|index| chars[*index..].starts_with(&wanted));
    begin.map_or((chars.len(), chars.len()), |begin| (begin, begin + wanted.len()))
}

/// Returns where a string that has escapes ends.
fn string_end(chars: &[char], mut index: usize, quote: char) -> usize {
    while index < chars.len() && chars[index] != quote {
        index += if chars[index] == '\\' { 2 } else { 1 };
    }
    index + 1
}

/// Returns where a raw string that begins here ends; nothing where none begins.
fn raw_string(chars: &[char], index: usize) -> Option<usize> {
    let raw = (index..index + 2).find(|index| chars.get(*index) == Some(&'r'))?;
    let hashes = chars[raw + 1..].iter().take_while(|c| **c == '#').count();
    if chars.get(raw + 1 + hashes) != Some(&'"') {
        return None;
    }
    let end = format!("\"{}", "#".repeat(hashes));
    Some(find(chars, raw + 2 + hashes, &end).1)
}
