//! The description of the routes: valid, flat, and true about who may ask and what can be answered.

use crate::documented::description;
use crate::inside::Inside;
use firstcome_api::key::Role;
use firstcome_http::answer::{Code, outcomes};
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// The schema of OpenAPI 3.1 documents, by the OpenAPI Initiative, under the Apache License 2.0.
const OPENAPI: &str = include_str!("openapi-3.1-schema.json");
/// Answers that belong to no operation, and why.
const OF_NO_OPERATION: [(&str, &str); 4] = [
    ("no_such_route", "there is no operation"),
    ("method_not_allowed", "there is no operation"),
    ("origin_not_allowed", "a preflight is no operation"),
    ("beyond_results", "only a node's own settle mark is answered so"),
];

/// Returns every operation: method, path, what is said of it.
fn operations() -> impl Iterator<Item = (&'static str, &'static str, &'static Value)> {
    let paths = description()["paths"].as_object().unwrap();
    paths.iter().flat_map(|(path, item)| {
        let methods = item.as_object().unwrap().iter();
        methods.map(move |(method, operation)| (method.as_str(), path.as_str(), operation))
    })
}

/// Calls `see` with every object in a document, and where it is.
fn walk(value: &Value, at: &str, see: &mut impl FnMut(&str, &serde_json::Map<String, Value>)) {
    match value {
        Value::Object(members) => {
            see(at, members);
            members.iter().for_each(|(name, member)| walk(member, &format!("{at}/{name}"), see));
        }
        Value::Array(items) => items.iter().for_each(|item| walk(item, at, see)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

#[test]
fn the_description_is_a_valid_openapi_document() {
    let schema: Value = serde_json::from_str(OPENAPI).unwrap();
    let validator = jsonschema::draft202012::new(&schema).unwrap();
    let wrong: Vec<String> = validator
        .iter_errors(description())
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
    // That schema says nothing about schemas.
    for (name, schema) in description()["components"]["schemas"].as_object().unwrap() {
        let checked = jsonschema::draft202012::meta::validate(schema);
        assert!(checked.is_ok(), "{name}: {checked:?}");
    }
    // It does find what is wrong.
    let mut broken = description().clone();
    broken["paths"]["/livez"]["get"]["responses"]["200"]["description"].take();
    assert!(!validator.is_valid(&broken));
}

#[test]
fn what_the_description_refers_to_is_there() {
    walk(description(), "#", &mut |at, members| {
        let Some(to) = members.get("$ref").and_then(Value::as_str) else { return };
        let found = to.strip_prefix('#').and_then(|pointer| description().pointer(pointer));
        assert!(found.is_some(), "{at} refers to {to}");
    });
    for (method, path, operation) in operations() {
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let in_path: BTreeSet<_> = parameters
            .filter(|parameter| parameter["in"] == "path")
            .map(|parameter| parameter["name"].as_str().unwrap())
            .collect();
        let named: BTreeSet<_> = path.split(['{', '}']).skip(1).step_by(2).collect();
        assert_eq!(in_path, named, "{method} {path}");
    }
}

#[test]
fn schemas_are_flat_and_have_one_enumeration_of_outcomes() {
    let schemas = &description()["components"]["schemas"];
    let all: Vec<&str> = outcomes().collect();
    assert_eq!(schemas["Outcome"]["enum"], json!(all));
    assert_eq!(all.iter().collect::<BTreeSet<_>>().len(), all.len());
    walk(description(), "#", &mut |at, members| {
        for combined in ["oneOf", "anyOf", "allOf", "not", "discriminator"] {
            assert!(!members.contains_key(combined), "{at} has {combined}");
        }
        if let Some(outcome) = members.get("properties").and_then(|all| all.get("outcome")) {
            assert_eq!(outcome["$ref"], "#/components/schemas/Outcome", "{at}");
        }
        let values = members.get("enum").and_then(Value::as_array).into_iter().flatten();
        let is_outcome = |value: &Value| *value == json!("sold_out");
        assert!(!at.contains("properties") || !values.into_iter().any(is_outcome), "{at}");
    });
}

#[test]
fn operations_have_stable_ids_of_their_own() {
    let ids: Vec<&str> =
        operations().map(|(.., operation)| operation["operationId"].as_str().unwrap()).collect();
    let own: BTreeSet<_> = ids.iter().collect();
    assert_eq!(own.len(), ids.len(), "{ids:?}");
    // Which id an operation has is guarded with the whole document; those that only name their function are none.
    for id in ids {
        assert!(id.chars().all(|c| c.is_ascii_lowercase() || c == '_') && id != "show", "{id}");
    }
}

#[test]
fn every_refusal_is_described_with_its_status() {
    let mut described = BTreeSet::new();
    for (method, path, operation) in operations() {
        for (status, response) in operation["responses"].as_object().unwrap() {
            let outcomes = response["x-outcomes"].as_array().into_iter().flatten();
            for outcome in outcomes.map(|outcome| outcome.as_str().unwrap()) {
                if status.starts_with('2') {
                    assert!(Code::of(outcome).is_none(), "{method} {path}: {outcome}");
                    continue;
                }
                let row = Code::of(outcome).unwrap().row();
                assert_eq!(*status, row.status.as_u16().to_string(), "{method} {path}: {outcome}");
                let text = response["description"].as_str().unwrap();
                assert!(text.contains(&format!("`{outcome}`: {}", row.title)), "{text}");
                let problem = &response["content"]["application/problem+json"]["schema"]["$ref"];
                assert_eq!(problem, "#/components/schemas/Problem");
                described.insert(outcome);
            }
        }
    }
    let of_none: BTreeSet<_> = OF_NO_OPERATION.into_iter().map(|(outcome, _)| outcome).collect();
    let missing: Vec<_> = Code::all()
        .map(|code| code.row().outcome)
        .filter(|outcome| !of_none.contains(outcome) && !described.contains(outcome))
        .collect();
    assert_eq!(missing, [""; 0], "no operation has these");
}

#[tokio::test(start_paused = true)]
async fn who_may_ask_is_as_described() {
    let keys = [
        (Role::Read, "a-reading-key---"),
        (Role::Redeem, "a-redeeming-key-"),
        (Role::Backend, "a-backend-key---"),
        (Role::Operator, "an-operator-key-"),
        (Role::Admin, crate::process::KEY),
    ];
    let node = Inside::new().await;
    node.open("drop", 9).await.says(201, "created");
    for (method, path, operation) in operations() {
        let of = format!("{method} {path}");
        let security = operation["security"].as_array().unwrap();
        let role = security.iter().find_map(|one| one["key"][0].as_str());
        // Where it stands last it counts for public campaigns, and this one is not.
        let public = security.first().is_none_or(|first| *first == json!({}));
        let with_token = security.iter().any(|one| one.get("subject_token").is_some());
        let path = path.replace("{campaign}", "drop").replace("{subject}", "ann");
        let path = path.replace("{pool}", "main").replace("{hold}", "h1").replace("{import}", "i1");
        let ask = async |authorization: &str| {
            if path.ends_with("/events") {
                // A stream goes on for as long as somebody listens; a position of another epoch ends it.
                let path = format!("{path}?min_position=9.9");
                let headers = [("authorization", authorization)];
                return node.ask_with(&method.to_uppercase(), &path, &headers, "{}").await.status;
            }
            let headers = [("authorization", authorization)];
            node.ask_with(&method.to_uppercase(), &path, &headers, "{}").await.status
        };
        assert_eq!(ask("").await == 401, !public, "{of} without a key");
        for (has, key) in keys {
            let status = ask(&format!("Bearer {key}")).await;
            let may = public || role.is_some_and(|least| has >= Role::from_text(least).unwrap());
            assert_eq!(![401, 403].contains(&status), may, "{of} with {has:?}: {status}");
        }
        // One that no key here has signed: whoever reads tokens says so, the others have nothing to do with them.
        let token = "Bearer eyJhbGciOiJIUzI1NiJ9.e30.AAAA";
        let status = ask(token).await;
        let reads_tokens = with_token || of.ends_with("/confirm");
        let expected = if reads_tokens {
            401
        } else if public {
            status
        } else {
            403
        };
        assert_eq!(status, expected, "{of} with a token");
    }
}
