//! Signing as Standard Webhooks 1.0 says: HMAC-SHA256 over id, time and body, with each secret that counts.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use ring::hmac;
use serde::{Deserialize, Serialize};
use std::fmt;

const PREFIX: &str = "whsec_";
/// Bytes of a secret.
const BYTES: usize = 32;

/// A secret that an endpoint shares with this system: `whsec_` and base64. It is not shown by `Debug`.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Secret(String);

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret(…)")
    }
}

impl Secret {
    /// Draws one of 32 bytes.
    ///
    /// # Panics
    ///
    /// The operating system has no randomness.
    pub fn draw() -> Self {
        let mut bytes = [0; BYTES];
        getrandom::fill(&mut bytes).expect("the operating system has randomness");
        Self(format!("{PREFIX}{}", STANDARD.encode(bytes)))
    }

    /// Returns its text, which must not be logged.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    fn key(&self) -> hmac::Key {
        let text = self.0.strip_prefix(PREFIX).unwrap_or(&self.0);
        let bytes = STANDARD.decode(text).unwrap_or_else(|_| text.as_bytes().to_vec());
        hmac::Key::new(hmac::HMAC_SHA256, &bytes)
    }
}

/// Returns the header `webhook-signature`: one signature for each secret. `at` is in seconds since 1970.
pub(crate) fn sign<'a>(
    secrets: impl Iterator<Item = &'a Secret>,
    id: &str,
    at: i64,
    body: &[u8],
) -> String {
    let signed = [format!("{id}.{at}.").as_bytes(), body].concat();
    let of =
        |secret: &Secret| format!("v1,{}", STANDARD.encode(hmac::sign(&secret.key(), &signed)));
    secrets.map(of).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the specification's reference libraries.
    #[test]
    fn it_is_what_the_reference_libraries_say() {
        let secret = Secret("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw".to_owned());
        let (id, at) = ("msg_p5jXN8AQM9LWM0D4loKWxJek", 1_614_265_330);
        let said = sign([&secret].into_iter(), id, at, br#"{"test": 2432232314}"#);
        assert_eq!(said, "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
    }

    #[test]
    fn a_drawn_secret_is_not_shown_and_each_signs() {
        let (one, two) = (Secret::draw(), Secret::draw());
        assert!(one != two && one.reveal().starts_with("whsec_"));
        assert_eq!(format!("{one:?}"), "Secret(…)");
        let both = sign([&one, &two].into_iter(), "id", 1, b"{}");
        let alone = |secret| sign([secret].into_iter(), "id", 1, b"{}");
        assert_eq!(both, format!("{} {}", alone(&one), alone(&two)));
    }
}
