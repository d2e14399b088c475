//! `%` escapes in URLs.

use percent_encoding::percent_decode_str;

/// Resolves `%` escapes; nothing at all is `None`.
///
/// A `%` without two digits is refused: the library leaves it as it is, and a password with one would be another password.
pub(crate) fn decode(text: &str) -> Result<Option<String>, &'static str> {
    const BAD: &str = "a % is not followed by two hexadecimal digits of UTF-8 text";
    let is_escape = |rest: &str| {
        rest.as_bytes().first_chunk::<2>().is_some_and(|two| two.iter().all(u8::is_ascii_hexdigit))
    };
    if !text.split('%').skip(1).all(is_escape) {
        return Err(BAD);
    }
    let decoded = percent_decode_str(text).decode_utf8().map_err(|_| BAD)?;
    Ok((!decoded.is_empty()).then(|| decoded.into_owned()))
}

#[cfg(test)]
mod tests {
    use super::decode;

    #[test]
    fn escapes_are_resolved_and_half_of_one_is_refused() {
        for (text, resolved) in
            [("p%40ss", "p@ss"), ("a+b", "a+b"), ("%25%2f%2F", "%//"), ("%C3%BC", "ü")]
        {
            assert_eq!(decode(text), Ok(Some(resolved.to_owned())), "{text}");
        }
        assert_eq!(decode(""), Ok(None));
        for text in ["%", "a%", "%4", "%zz", "%4g", "%%40", "%ff", "%4ü", "%+1"] {
            assert!(decode(text).is_err(), "{text}");
        }
    }
}
