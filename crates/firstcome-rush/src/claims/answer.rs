//! Reads answers off a connection with as little work as possible: a status line, a length, a small JSON body.

use serde::Deserialize;

/// One answer as it lies in the buffer.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) status: u16,
    pub(super) body: std::ops::Range<usize>,
    /// Whether the server closes the connection after it.
    pub(super) closes: bool,
}

/// The largest header and body accepted: answers to claims are a few hundred bytes.
const LARGEST: usize = 64 * 1024;

/// Finds a whole answer at the start of the buffer; `None` while more bytes are needed.
///
/// # Errors
///
/// Says what is not the HTTP this reads: only answers with `content-length` (RFC 9112, 6.3).
pub(super) fn frame(buffer: &[u8]) -> Result<Option<Frame>, &'static str> {
    let Some(end) = buffer.windows(4).position(|four| four == b"\r\n\r\n") else {
        return if buffer.len() > LARGEST { Err("a header without end") } else { Ok(None) };
    };
    let mut lines = buffer[..end].split(|&byte| byte == b'\n').map(<[u8]>::trim_ascii);
    let status = lines.next().and_then(status).ok_or("no HTTP/1.1 status line")?;
    let mut length = None;
    let mut closes = false;
    for line in lines {
        let Some(colon) = line.iter().position(|&byte| byte == b':') else { continue };
        let (name, value) = (&line[..colon], line[colon + 1..].trim_ascii());
        if name.eq_ignore_ascii_case(b"content-length") {
            length = std::str::from_utf8(value).ok().and_then(|text| text.parse::<usize>().ok());
        } else if name.eq_ignore_ascii_case(b"connection") {
            closes = value.eq_ignore_ascii_case(b"close");
        }
    }
    let length = length.filter(|&length| length <= LARGEST).ok_or("no usable content-length")?;
    let body = end + 4..end + 4 + length;
    Ok((buffer.len() >= body.end).then_some(Frame { status, body, closes }))
}

fn status(line: &[u8]) -> Option<u16> {
    let rest = line.strip_prefix(b"HTTP/1.1 ")?;
    std::str::from_utf8(rest.get(..3)?).ok()?.parse().ok()
}

/// The fields of an answer to a claim that the check looks at.
#[derive(Debug, Deserialize)]
pub(super) struct ClaimAnswer<'a> {
    pub(super) outcome: &'a str,
    #[serde(default)]
    pub(super) subject: Option<&'a str>,
    #[serde(default)]
    pub(super) campaign: Option<&'a str>,
    #[serde(default)]
    pub(super) rank: Option<u64>,
    #[serde(default)]
    pub(super) at: Option<&'a str>,
    #[serde(default)]
    pub(super) position: Option<&'a str>,
    #[serde(default)]
    pub(super) changed: Option<&'a str>,
    #[serde(default)]
    pub(super) retry_after_ms: Option<u64>,
}
