//! The codes of one pool under one key.
//!
//! From the key's 32 bytes come four keys, each for one purpose: HMAC-SHA256 of the purpose's name. A generated code is FF1
//! (NIST SP 800-38G, AES-256, radix 32) over 75 bits: the unit number, then the tag. Its tweak, and what stands in front
//! of everything that is hashed here, is the pool: the space's id, the campaign's number, the pool's number. These bytes
//! are frozen: a code that was printed must be read for ever.

use super::numerals::Numerals;
use super::spelling::{self, NotACode, folded};
use super::text;
use aes::Aes256;
use aes_siv::KeyInit as _;
use aes_siv::siv::Aes256Siv;
use firstcome_core::SpaceId;
use firstcome_core::codes::{ALIKE_BYTES, CodeKey, CodeUnit, TAG_BITS, TAG_MOST};
use firstcome_inject::{Mistake, inject};
use fpe::ff1::FF1;
use hmac::{Hmac, Mac as _};
use sha2::Sha256;
use std::fmt;

/// The keys made of one secret.
pub(super) struct Derived {
    ff1: FF1<Aes256>,
    tag: [u8; 32],
    hash: [u8; 32],
    spelling: [u8; 32],
    seal: [u8; 64],
    import: [u8; 32],
}

impl Derived {
    pub(super) fn of(secret: &[u8; 32]) -> Self {
        let key = |purpose: &str| hmac(secret, &[purpose.as_bytes()]);
        let mut seal = [0; 64];
        seal[..32].copy_from_slice(&key("firstcome codes: seal, authentication"));
        seal[32..].copy_from_slice(&key("firstcome codes: seal, encryption"));
        Self {
            ff1: FF1::new(&key("firstcome codes: numbers"), 32).expect("32 is a radix of FF1"),
            tag: key("firstcome codes: tags"),
            hash: key("firstcome codes: hashes"),
            spelling: key("firstcome codes: spellings"),
            seal,
            import: key("firstcome codes: imports"),
        }
    }
}

impl fmt::Debug for Derived {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("keys of codes")
    }
}

fn hmac(key: &[u8; 32], parts: &[&[u8]]) -> [u8; 32] {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    parts.iter().for_each(|part| mac.update(part));
    mac.finalize().into_bytes().into()
}

/// Makes and reads the codes of one pool.
#[derive(Clone, Copy, Debug)]
pub struct PoolCipher<'a> {
    pub(super) keys: &'a Derived,
    /// Space, campaign's number and pool's number.
    pub(super) pool: [u8; 22],
}

/// A code that its key does not open: it was altered, or sealed under another key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a code in stock cannot be opened with the key of its pool")]
pub struct CannotOpen;

impl<'a> PoolCipher<'a> {
    pub(super) fn new(keys: &'a Derived, space: SpaceId, campaign: u32, index: usize) -> Self {
        let mut pool = [0; 22];
        pool[..16].copy_from_slice(&space.0);
        pool[16..20].copy_from_slice(&campaign.to_be_bytes());
        // A campaign has at most 256 pools.
        pool[20..].copy_from_slice(&(index as u16).to_be_bytes());
        Self { keys, pool }
    }

    /// Returns the tag of a subject's code of an issue number.
    pub fn tag(&self, subject: &str, issue: u16) -> u64 {
        let subject = if inject(Mistake::TagOfNobody) { "" } else { subject };
        let issue = issue.to_be_bytes();
        let hash = hmac(&self.keys.tag, &[&self.pool, &issue, subject.as_bytes()]);
        let first = hash.first_chunk().map_or(0, |first| u64::from_be_bytes(*first));
        first >> (64 - TAG_BITS)
    }

    /// Writes an issued code: a generated one in four groups of four, an imported one as it was imported.
    ///
    /// # Errors
    ///
    /// [`CannotOpen`]: an imported code was sealed under another key.
    pub fn write(&self, unit: CodeUnit<'_>) -> Result<String, CannotOpen> {
        match unit {
            CodeUnit::Generated { unit, tag } => Ok(self.generated(unit, tag)),
            CodeUnit::Imported { sealed, .. } => {
                let mut siv = Aes256Siv::new(&self.keys.seal.into());
                let text = siv.decrypt([self.pool], sealed).map_err(|_| CannotOpen)?;
                String::from_utf8(text).map_err(|_| CannotOpen)
            }
        }
    }

    fn generated(&self, unit: u32, tag: u64) -> String {
        let bits = u128::from(unit) << TAG_BITS | u128::from(tag & TAG_MOST);
        let secret = self.keys.ff1.encrypt(&self.pool, &Numerals(bits));
        let Numerals(secret) = secret.expect("15 numerals of radix 32 fit FF1");
        text::write(&text::digits(secret))
    }

    /// Reads a generated code as people type it; none of what cannot be one: a typing error.
    pub fn read(&self, typed: &str) -> Option<CodeKey> {
        let secret = Numerals(text::bits(&text::read(&folded(typed).ok()?)?));
        let opened = self.keys.ff1.decrypt(&self.pool, &secret);
        let Numerals(bits) = opened.expect("15 numerals of radix 32 fit FF1");
        let (unit, tag) = ((bits >> TAG_BITS) as u32, bits as u64 & TAG_MOST);
        Some(CodeKey::Generated { unit, tag })
    }

    /// Returns what a text that somebody typed is found by: the code that it is alike to, or of those whose spelling counts
    /// the one that is spelled so.
    ///
    /// # Errors
    ///
    /// [`NotACode`]: it can be none.
    pub fn hash(&self, typed: &str) -> Result<[u8; 16], NotACode> {
        let mut hash = self.hash_alike(typed)?;
        let typed = typed.trim_matches(spelling::is_space);
        let spelled = hmac(&self.keys.spelling, &[&self.pool, typed.as_bytes()]);
        // Zeros would say that it does not count.
        hash[ALIKE_BYTES..].copy_from_slice(&spelled[..16 - ALIKE_BYTES]);
        hash[15] |= 1;
        Ok(hash)
    }

    fn hash_alike(&self, text: &str) -> Result<[u8; 16], NotACode> {
        let (mut hash, folded) = ([0; 16], folded(text)?);
        let text = if inject(Mistake::SpellingCounts) { text } else { &folded };
        let alike = hmac(&self.keys.hash, &[&self.pool, text.as_bytes()]);
        hash[..ALIKE_BYTES].copy_from_slice(&alike[..ALIKE_BYTES]);
        Ok(hash)
    }

    /// Returns the id of the import of a file, out of a digest of the file: who has the journal cannot try files.
    pub fn import_id(&self, digest: &str) -> String {
        let hash = hmac(&self.keys.import, &[&self.pool, digest.as_bytes()]);
        let first: &[u8; 16] = hash.first_chunk().expect("a hash has 32 bytes");
        first.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Seals an imported code: what it is found by, and its text as it was given, encrypted (AES-SIV, RFC 5297). Of an `exact`
    /// code the spelling counts.
    ///
    /// # Errors
    ///
    /// [`NotACode`].
    pub fn seal(&self, line: &str, exact: bool) -> Result<([u8; 16], Vec<u8>), NotACode> {
        let text = spelling::code(line)?;
        let hash = if exact { self.hash(text) } else { self.hash_alike(text) }?;
        let mut siv = Aes256Siv::new(&self.keys.seal.into());
        let sealed = siv.encrypt([self.pool], text.as_bytes());
        Ok((hash, sealed.expect("AES-SIV seals any short text")))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use firstcome_core::codes::CodeUnit;
    use fpe::ff1::FlexibleNumeralString;
    use proptest::prelude::*;

    fn keys() -> Derived {
        Derived::of(&std::array::from_fn(|n| n as u8))
    }

    fn cipher(keys: &Derived) -> PoolCipher<'_> {
        PoolCipher::new(keys, SpaceId([7; 16]), 3, 1)
    }

    /// The samples of NIST for FF1 with AES-256 (SP 800-38G, examples 7 to 9).
    #[test]
    fn ff1_gives_what_nist_publishes() {
        let key = data("2B7E151628AED2A6ABF7158809CF4F3CEF4359D8D580AA4F7F036D6F04FC6A94");
        let radix36 = "0123456789abcdefghi";
        for (radix, tweak, plain, secret) in [
            (10, "", "0123456789", "6657667009"),
            (10, "39383736353433323130", "0123456789", "1001623463"),
            (36, "3737373770717273373737", radix36, "xs8a0azh2avyalyzuwd"),
        ] {
            let digits = |text: &str| -> Vec<u16> {
                text.chars().map(|c| c.to_digit(36).expect("a digit") as u16).collect()
            };
            let ff1 = FF1::<Aes256>::new(&key, radix).expect("a radix");
            let numerals = FlexibleNumeralString::from(digits(plain));
            let got: Vec<u16> = ff1.encrypt(&data(tweak), &numerals).expect("it fits").into();
            assert_eq!(got, digits(secret));
            let back = ff1.decrypt(&data(tweak), &FlexibleNumeralString::from(got));
            assert_eq!(Vec::from(back.expect("it fits")), digits(plain));
        }
    }

    fn data(hex: &str) -> Vec<u8> {
        hex.as_bytes()
            .chunks(2)
            .map(|two| {
                let two = std::str::from_utf8(two).expect("hexadecimal");
                u8::from_str_radix(two, 16).expect("hexadecimal")
            })
            .collect()
    }

    /// The same bytes were made with another implementation of FF1, HMAC and AES-SIV. Codes that were printed or stored
    /// must be read for ever.
    #[test]
    fn the_bytes_of_codes_are_frozen() {
        let keys = keys();
        let cipher = cipher(&keys);
        let tag = cipher.tag("ann", 1);
        assert_eq!(tag, GOLDEN_TAG);
        let code = cipher.write(CodeUnit::Generated { unit: 1, tag }).expect("it is generated");
        assert_eq!(code, GOLDEN_CODE);
        assert_eq!(cipher.read(GOLDEN_CODE), Some(CodeKey::Generated { unit: 1, tag }));
        let (hash, sealed) = cipher.seal("Summer-10", false).expect("a code");
        let hex = |bytes: &[u8]| bytes.iter().map(|b| format!("{b:02x}")).collect::<String>();
        assert_eq!(hex(&hash), GOLDEN_HASH);
        assert_eq!(hex(&sealed), GOLDEN_SEALED);
        let exact = cipher.seal(" Summer-10\n", true).expect("a code");
        assert_eq!((hex(&exact.0), &exact.1), (GOLDEN_EXACT.to_owned(), &sealed));
        assert_eq!(cipher.hash("Summer-10 "), Ok(exact.0));
        let other = cipher.hash(" summer\u{2013}10 ").expect("a code");
        assert_eq!(hash[..ALIKE_BYTES], other[..ALIKE_BYTES]);
        assert_ne!(exact.0, other);
        let unit = CodeUnit::Imported { unit: 0, sealed: &sealed };
        assert_eq!(cipher.write(unit).as_deref(), Ok("Summer-10"));
    }

    const GOLDEN_TAG: u64 = 5_863_389_261_340;
    const GOLDEN_CODE: &str = "4WFN-G6P4-8NVC-XNHK";
    const GOLDEN_HASH: &str = "8564b22d3a6ede3a1b4d000000000000";
    const GOLDEN_EXACT: &str = "8564b22d3a6ede3a1b4d917a2b735243";
    const GOLDEN_SEALED: &str = "01a2e9811afcd96fd79744c5e106eb7bf6eef7a53c42dfd846";

    #[test]
    fn a_code_of_another_pool_key_or_subject_is_another_one() {
        let (keys, other) = (keys(), Derived::of(&[9; 32]));
        let code = |cipher: PoolCipher<'_>, subject, issue| {
            let tag = cipher.tag(subject, issue);
            cipher.write(CodeUnit::Generated { unit: 1, tag }).expect("it is generated")
        };
        let pool = |keys, campaign, index| PoolCipher::new(keys, SpaceId([7; 16]), campaign, index);
        let all = [
            code(cipher(&keys), "ann", 1),
            code(cipher(&keys), "ann", 2),
            code(cipher(&keys), "bob", 1),
            code(pool(&keys, 4, 1), "ann", 1),
            code(pool(&keys, 3, 2), "ann", 1),
            code(pool(&other, 3, 1), "ann", 1),
        ];
        let different: std::collections::BTreeSet<_> = all.iter().collect();
        assert_eq!(different.len(), all.len());
        let (_, sealed) = cipher(&keys).seal("A", false).expect("a code");
        let unit = CodeUnit::Imported { unit: 0, sealed: &sealed };
        assert_eq!(pool(&keys, 3, 2).write(unit), Err(CannotOpen));
        assert_eq!(pool(&other, 3, 1).write(unit), Err(CannotOpen));
        for wrong in ["", "  ", "a\nb", &"x".repeat(65)] {
            assert!(cipher(&keys).seal(wrong, false).is_err(), "{wrong:?}");
        }
    }

    proptest! {
        #[test]
        fn every_code_reads_back(unit: u32, tag in 0..=TAG_MOST, text in "[ -~]{1,64}") {
            let keys = keys();
            let cipher = cipher(&keys);
            let code = cipher.write(CodeUnit::Generated { unit, tag }).unwrap_or_default();
            prop_assert_eq!(cipher.read(&code), Some(CodeKey::Generated { unit, tag }));
            let typed = code.to_lowercase().replace('-', "\u{2013} ").replace('1', "１");
            prop_assert_eq!(cipher.read(&typed), Some(CodeKey::Generated { unit, tag }));
            if let Ok((_, sealed)) = cipher.seal(&text, false) {
                let back = cipher.write(CodeUnit::Imported { unit, sealed: &sealed });
                prop_assert_eq!(back.as_deref(), Ok(text.trim_matches(' ')));
            }
        }

        /// The library's own numerals are what NIST's samples were tried with.
        #[test]
        fn our_numerals_are_those_of_the_library(bits in 0..1_u128 << 75, key: [u8; 32], tweak: [u8; 24]) {
            let ff1 = FF1::<Aes256>::new(&key, 32).expect("a radix");
            let digits: Vec<u16> = text::digits(bits).map(u16::from).into();
            let theirs = ff1.encrypt(&tweak, &FlexibleNumeralString::from(digits)).expect("it fits");
            let Numerals(ours) = ff1.encrypt(&tweak, &Numerals(bits)).expect("it fits");
            prop_assert_eq!(Vec::from(theirs), text::digits(ours).map(u16::from));
            prop_assert_eq!(ff1.decrypt(&tweak, &Numerals(ours)).expect("it fits"), Numerals(bits));
        }

        #[test]
        fn no_text_makes_a_reader_panic(text in ".{0,40}") {
            let keys = keys();
            prop_assert!(cipher(&keys).read(&text).is_none());
        }
    }
}
