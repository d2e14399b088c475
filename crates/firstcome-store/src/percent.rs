//! `%` escapes in URLs.

/// Resolves `%` escapes; nothing at all is `None`.
pub(crate) fn decode(text: &str) -> Result<Option<String>, &'static str> {
    if text.is_empty() {
        return Ok(None);
    }
    let bad = || "a % is not followed by two hexadecimal digits of UTF-8 text";
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte == b'%' {
            let mut digit = || rest.next().and_then(|b| char::from(b).to_digit(16));
            let (high, low) = (digit().ok_or_else(bad)?, digit().ok_or_else(bad)?);
            bytes.push(u8::try_from(high * 16 + low).map_err(|_| bad())?);
        } else {
            bytes.push(byte);
        }
    }
    String::from_utf8(bytes).map(Some).map_err(|_| bad())
}
