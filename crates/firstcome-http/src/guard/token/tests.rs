use super::*;
use ring::signature::{Ed25519KeyPair, KeyPair};
use serde_json::json;

const NOW: i64 = 1_803_859_200;
const SECRET: &str = "0123456789abcdef0123456789abcdef";

fn now() -> Timestamp {
    Timestamp::from_micros(NOW * 1_000_000 + 999_999)
}

fn keys() -> TokenKeys {
    let mut keys = TokenKeys::default();
    keys.add("new", TokenKey::secret(SECRET).unwrap());
    keys.add("old", TokenKey::secret(&SECRET.replace('0', "o")).unwrap());
    keys.add("theirs", public_of(&pair()));
    keys
}

fn pair() -> Ed25519KeyPair {
    Ed25519KeyPair::from_seed_unchecked(&[7; 32]).unwrap()
}

fn public_of(pair: &Ed25519KeyPair) -> TokenKey {
    TokenKey::public(&URL_SAFE_NO_PAD.encode(pair.public_key())).unwrap()
}

/// Signs a header and claims as some library elsewhere would.
fn signed(header: &Value, claims: &Value, sign: impl Fn(&[u8]) -> Vec<u8>) -> String {
    let part = |value: &Value| URL_SAFE_NO_PAD.encode(value.to_string());
    let text = format!("{}.{}", part(header), part(claims));
    let signature = URL_SAFE_NO_PAD.encode(sign(text.as_bytes()));
    format!("{text}.{signature}")
}

fn hs256(claims: &Value) -> String {
    let key = TokenKey::secret(SECRET).unwrap();
    signed(&json!({"alg": "HS256", "kid": "new"}), claims, |bytes| key.sign(bytes).unwrap())
}

fn good() -> Value {
    json!({"sub": "ann", "campaign": "spring", "exp": NOW + 60})
}

fn with(name: &str, value: Value) -> Value {
    let mut claims = good();
    claims[name] = value;
    claims
}

fn fault(text: &str) -> TokenFault {
    keys().check(text.as_bytes(), now()).expect_err("this token is not good")
}

#[test]
fn what_is_minted_is_good_until_its_time_and_says_what_it_was_told() {
    let scope: Scope = "spring".parse().unwrap();
    let (token, until) = keys().mint("ann/ü", &scope, true, now(), 900).unwrap();
    assert_eq!(until.as_micros(), (NOW + 900) * 1_000_000);
    let checked = keys().check(token.as_bytes(), now()).unwrap();
    let expected = SubjectToken {
        subject: "ann/ü".into(),
        campaign: scope,
        cancel: true,
        expires: NOW + 900,
        key: "new".into(),
    };
    assert_eq!(checked, expected);
    assert!(looks_like_one(token.as_bytes()));
    // Good to its last microsecond, and not one longer.
    let last = until.plus_micros(-1);
    assert!(keys().check(token.as_bytes(), last).is_ok());
    assert_eq!(keys().check(token.as_bytes(), until), Err(TokenFault::Expired(NOW + 900)));
}

#[test]
fn what_others_mint_is_good_with_either_algorithm() {
    let scope = Scope::Campaign("spring".into());
    assert_eq!(keys().check(hs256(&good()).as_bytes(), now()).unwrap().campaign, scope);
    let header = json!({"typ": "jwt", "alg": "EdDSA", "kid": "theirs"});
    let more = json!({"sub": "ann", "campaign": "spr*", "exp": NOW + 1, "aud": ["x", "firstcome"],
        "iat": NOW, "nbf": NOW + 60, "iss": "shop", "jti": 7, "cancel": false});
    let token = signed(&header, &more, |bytes| pair().sign(bytes).as_ref().to_vec());
    let checked = keys().check(token.as_bytes(), now()).unwrap();
    assert_eq!((&*checked.key, checked.cancel), ("theirs", false));
    assert!(checked.campaign.has("spring") && checked.campaign.has("spr"));
    assert!(!checked.campaign.has("autumn"));
}

#[test]
fn a_token_cut_at_any_byte_is_refused_for_a_reason() {
    let whole = hs256(&good());
    for end in 0..whole.len() {
        let cut = &whole[..end];
        let fault = fault(cut);
        assert!(
            matches!(fault, TokenFault::Malformed(_) | TokenFault::Signature(_)),
            "{cut}: {fault}"
        );
    }
    for at in 0..whole.len() {
        let mut bytes = whole.clone().into_bytes();
        for flip in [1, 2, 4, 0x80] {
            bytes[at] ^= flip;
            assert!(keys().check(&bytes, now()).is_err(), "byte {at} with {flip}");
            bytes[at] ^= flip;
        }
    }
    assert!(matches!(fault(&format!("{whole}.")), TokenFault::Malformed(_)));
    assert!(matches!(fault(&format!("{whole}=")), TokenFault::Malformed(_)));
    assert!(matches!(fault(&"e".repeat(MOST_BYTES + 1)), TokenFault::Malformed(_)));
}

#[test]
fn forged_tokens_are_refused_for_what_is_wrong_with_them() {
    let good = good();
    let hs = |header: Value, secret: &str| {
        let key = TokenKey::secret(secret).unwrap();
        fault(&signed(&header, &good, |bytes| key.sign(bytes).unwrap()))
    };
    let header = |alg: &str, kid: &str| json!({"alg": alg, "kid": kid});
    let other = "another-secret-of-thirty-two-bytes";
    assert_eq!(hs(header("HS256", "new"), other), TokenFault::Signature("new".into()));
    assert_eq!(hs(header("HS256", "old"), SECRET), TokenFault::Signature("old".into()));
    assert_eq!(hs(header("HS256", "gone"), SECRET), TokenFault::UnknownKey("gone".into()));
    // The header does not choose the algorithm, least of all none.
    for alg in ["none", "HS512", "RS256", "EdDSA", "hs256", ""] {
        let (said, key) = (alg.to_owned(), "new".to_owned());
        let expected = TokenFault::Algorithm { said, key, is: "HS256" };
        assert_eq!(hs(header(alg, "new"), SECRET), expected);
    }
    let unsigned = signed(&header("none", "new"), &good, |_| Vec::new());
    assert!(matches!(fault(&unsigned), TokenFault::Algorithm { .. }));
    // The public half taken for a secret.
    let public = pair().public_key().as_ref().to_vec();
    let key = ring::hmac::Key::new(ring::hmac::HMAC_SHA256, &public);
    let sign = |bytes: &[u8]| ring::hmac::sign(&key, bytes).as_ref().to_vec();
    for alg in ["HS256", "EdDSA"] {
        let fault = fault(&signed(&header(alg, "theirs"), &good, sign));
        assert!(
            matches!(fault, TokenFault::Algorithm { .. } | TokenFault::Signature(_)),
            "{fault}"
        );
    }
    // What a header may say to have itself believed.
    for field in ["jwk", "jku", "x5u", "x5c", "crit", "b64", "zip"] {
        let mut header = header("HS256", "new");
        header[field] = json!("x");
        assert!(hs(header, SECRET).to_string().contains(field));
    }
    let encrypted = json!({"alg": "HS256", "kid": "new", "typ": "JWE"});
    assert!(hs(encrypted, SECRET).to_string().contains("typ"));
    assert_eq!(TokenKeys::default().check(b"x", now()), Err(TokenFault::NoKeys));
}

#[test]
fn claims_that_are_wrong_or_not_enforced_are_refused() {
    for (name, value, said) in [
        ("sub", json!(""), "sub"),
        ("sub", json!("a\nb"), "sub"),
        ("sub", json!(5), "string"),
        ("sub", json!("x".repeat(256)), "sub"),
        ("campaign", json!("Spring"), "campaign"),
        ("campaign", json!(""), "campaign"),
        ("campaign", json!("a**"), "campaign"),
        ("exp", json!("tomorrow"), "invalid type"),
        ("exp", json!(1.5), "invalid type"),
        ("aud", json!("elsewhere"), "aud"),
        ("aud", json!(["a", "b"]), "aud"),
        ("cancel", json!("yes"), "boolean"),
        ("iat", json!("now"), "invalid type"),
        ("nbf", json!("later"), "invalid type"),
        ("exp", json!(-1.0), "invalid type"),
        ("groups", json!(["vip"]), "does not enforce"),
        ("limit", json!(4), "does not enforce"),
    ] {
        let fault = fault(&hs256(&with(name, value.clone()))).to_string();
        assert!(fault.contains(said), "{name} {value}: {fault}");
    }
    for name in ["sub", "campaign", "exp"] {
        let mut claims = good();
        claims.as_object_mut().unwrap().remove(name);
        assert!(fault(&hs256(&claims)).to_string().contains(name));
    }
}

#[test]
fn claims_that_mean_nothing_here_are_left_to_whoever_minted() {
    for (name, value) in [
        ("roles", json!(["admin"])),
        ("email_verified", json!(true)),
        ("https://shop.example/claims", json!({"tier": [1, {"deep": null}]})),
        ("Cancel", json!(true)),
        ("iss", json!({"any": "form"})),
        ("jti", json!(7)),
    ] {
        let checked = keys().check(hs256(&with(name, value)).as_bytes(), now());
        let checked = checked.unwrap_or_else(|fault| panic!("{name}: {fault}"));
        assert_eq!((&*checked.subject, checked.cancel), ("ann", false), "{name}");
    }
}

/// Two values for one claim are two tokens in one: libraries differ in which they take.
#[test]
fn a_claim_or_a_header_parameter_twice_is_refused() {
    let token = |header: &str, claims: &str| {
        let text = format!("{}.{}", URL_SAFE_NO_PAD.encode(header), URL_SAFE_NO_PAD.encode(claims));
        let signature = TokenKey::secret(SECRET).unwrap().sign(text.as_bytes()).unwrap();
        format!("{text}.{}", URL_SAFE_NO_PAD.encode(signature))
    };
    let header = r#"{"alg":"HS256","kid":"new"}"#;
    let claims = format!(r#"{{"sub":"ann","campaign":"spring","exp":{}}}"#, NOW + 60);
    assert!(keys().check(token(header, &claims).as_bytes(), now()).is_ok());
    for (name, more) in [
        ("sub", r#""sub":"bob""#.to_owned()),
        ("campaign", r#""campaign":"*""#.to_owned()),
        ("exp", format!(r#""exp":{}"#, NOW + 600)),
        ("nbf", r#""nbf":1,"nbf":null"#.to_owned()),
        ("scope", r#""scope":"events","scope":null"#.to_owned()),
        // As another library would read it after resolving the escape.
        ("sub", r#""\u0073ub":"bob""#.to_owned()),
    ] {
        let twice = claims.replace('}', &format!(",{more}}}"));
        let said = fault(&token(header, &twice)).to_string();
        assert!(said.contains("duplicate field") && said.contains(name), "{twice}: {said}");
    }
    let twice = r#"{"alg":"none","alg":"HS256","kid":"new"}"#;
    assert!(fault(&token(twice, &claims)).to_string().contains("duplicate field"));
}

#[test]
fn times_are_those_of_the_store_and_a_minute_ahead_is_forgiven() {
    assert_eq!(fault(&hs256(&with("exp", json!(NOW)))), TokenFault::Expired(NOW));
    assert_eq!(fault(&hs256(&with("exp", json!(i64::MIN)))), TokenFault::Expired(i64::MIN));
    let latest = NOW + i64::from(MOST_SECONDS) + AHEAD_SECONDS;
    assert!(keys().check(hs256(&with("exp", json!(latest))).as_bytes(), now()).is_ok());
    for late in [latest + 1, i64::MAX] {
        let said = fault(&hs256(&with("exp", json!(late)))).to_string();
        assert!(said.contains("exp is more than 2678400 s (31 days) from now"), "{said}");
    }
    assert!(keys().check(hs256(&with("nbf", json!(NOW + 60))).as_bytes(), now()).is_ok());
    assert_eq!(fault(&hs256(&with("nbf", json!(NOW + 61)))), TokenFault::NotYet(NOW + 61));
}

#[test]
fn keys_are_read_in_the_forms_people_have_them_in() {
    let public = pair().public_key().as_ref().to_vec();
    let spki = [&keys::ED25519_PREFIX[..], &public].concat();
    let base64 = base64::engine::general_purpose::STANDARD.encode(&spki);
    let pem = format!("-----BEGIN PUBLIC KEY-----\n{base64}\n-----END PUBLIC KEY-----\n");
    for text in [pem, base64, URL_SAFE_NO_PAD.encode(&public)] {
        let TokenKey::EdDsa(read) = TokenKey::public(&text).unwrap() else { panic!("{text}") };
        assert_eq!(read.as_slice(), public);
    }
    for bad in ["", "AAAA", "not base64!", "-----BEGIN PUBLIC KEY-----"] {
        assert!(TokenKey::public(bad).is_err(), "{bad}");
    }
    let short = "a-secret-that-is-short";
    let why = TokenKey::secret(short).unwrap_err();
    assert!(why.contains("at least 32") && !why.contains(short));
    assert_eq!(format!("{:?}", TokenKey::secret(SECRET).unwrap()), "HS256");
    assert_eq!(TokenKeys::id_of(SECRET).len(), 8);
}

#[test]
fn which_campaigns_reads_back_as_it_is_printed() {
    for text in ["spring", "spring-*", "*"] {
        assert_eq!(text.parse::<Scope>().unwrap().to_string(), text);
    }
    assert!("*".parse::<Scope>().unwrap().has("anything"));
    for bad in ["", "-a", "a b", "*a", "a*b", "A"] {
        assert!(bad.parse::<Scope>().is_err(), "{bad}");
    }
}

#[test]
fn a_ticket_is_no_token_and_a_token_is_no_ticket() {
    let token = keys().check(hs256(&with("cancel", json!(true))).as_bytes(), now()).unwrap();
    let ticket = keys().mint_ticket(&token, now()).unwrap();
    assert_eq!(fault(&ticket), TokenFault::IsTicket);
    // The same subject, campaigns and end; nothing that a token may do.
    let checked = keys().check_ticket(ticket.as_bytes(), now()).unwrap();
    assert_eq!(checked, SubjectToken { cancel: false, ..token.clone() });
    let as_ticket = |text: &str| keys().check_ticket(text.as_bytes(), now()).unwrap_err();
    assert_eq!(as_ticket(&hs256(&good())), TokenFault::NoTicket);
    for scope in ["", "event", "events ", "openid events"] {
        let other = hs256(&with("scope", json!(scope)));
        for fault in [fault(&other), as_ticket(&other)] {
            assert!(fault.to_string().contains("is not known"), "{scope}: {fault}");
        }
    }
    assert!(matches!(fault(&hs256(&with("scope", json!(["events"])))), TokenFault::Claims(_)));
    // A server that only checks cannot sign.
    let mut public = TokenKeys::default();
    public.add("theirs", public_of(&pair()));
    assert_eq!(public.mint_ticket(&token, now()), Err(TokenFault::NoKeys));
}
