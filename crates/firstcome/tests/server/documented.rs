//! Every answer that a story gets is held against the description of the routes: its status, its outcome, its media
//! type, and each member of its document.

use crate::wire::Answer;
use firstcome_http::Description;
use jsonschema::Validator;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The description of the routes.
pub(crate) fn description() -> &'static Value {
    static DESCRIPTION: OnceLock<Description> = OnceLock::new();
    DESCRIPTION.get_or_init(firstcome_http::openapi).document()
}

/// Returns the operation of a method and a path, if it is described.
pub(crate) fn operation(method: &str, path: &str) -> Option<(&'static str, &'static Value)> {
    let path = path.split('?').next().unwrap_or_default();
    let is_of = |template: &str| {
        let (parts, wanted) = (path.split('/'), template.split('/'));
        let same = |(part, wanted): (&str, &str)| {
            part == wanted || wanted.starts_with('{') && !part.is_empty()
        };
        parts.clone().count() == wanted.clone().count() && parts.zip(wanted).all(same)
    };
    let (template, item) =
        description()["paths"].as_object().unwrap().iter().find(|(template, _)| is_of(template))?;
    Some((template, item.get(method.to_lowercase())?))
}

/// Expects an answer that the description has for this request.
#[track_caller]
pub(crate) fn check(method: &str, path: &str, answer: &Answer) {
    let Some((template, operation)) = operation(method, path) else { return };
    let kind = answer.header("content-type").map(|kind| kind.split(';').next().unwrap_or(kind));
    // What is no request that can be read is answered by the HTTP server itself, without a document.
    if kind.is_none() && [400, 414, 431].contains(&answer.status) {
        return;
    }
    // Where a listener does not have the route, there is no operation.
    if answer.status == 404 && answer.outcome() == "no_such_route" {
        return;
    }
    let of = format!("{method} {template} {}", answer.status);
    let response = &operation["responses"][answer.status.to_string()];
    assert!(response.is_object(), "{of} is not described: {answer:?}");
    let Some(kind) = kind else {
        assert!(response["content"].is_null(), "{of} has no media type: {answer:?}");
        return;
    };
    let schema = &response["content"][kind]["schema"];
    assert!(schema.is_object(), "{of} with {kind} is not described");
    if !["application/json", "application/problem+json"].contains(&kind)
        || answer.header("content-encoding").is_some()
    {
        return;
    }
    let document = answer.json();
    let outcome = document.get("outcome").and_then(Value::as_str);
    if let (Some(outcome), Some(known)) = (outcome, response["x-outcomes"].as_array()) {
        assert!(known.contains(&json!(outcome)), "{of} {outcome} is not described: {document}");
    }
    let wrong: Vec<String> = validator(&format!("{of} {kind}"), schema)
        .iter_errors(&document)
        .map(|error| format!("{}: {error}", error.instance_path()))
        .collect();
    assert!(wrong.is_empty(), "{of} is not as described: {wrong:#?} in {document}");
}

/// Returns the validator of a schema of the description, by the name of where it stands.
fn validator(name: &str, schema: &Value) -> Arc<Validator> {
    static VALIDATORS: Mutex<BTreeMap<String, Arc<Validator>>> = Mutex::new(BTreeMap::new());
    let mut validators = VALIDATORS.lock().unwrap_or_else(PoisonError::into_inner);
    let made = validators.entry(name.to_owned()).or_insert_with(|| {
        let mut whole = json!({"allOf": [schema], "components": description()["components"]});
        close(&mut whole);
        Arc::new(jsonschema::draft202012::new(&whole).unwrap())
    });
    Arc::clone(made)
}

/// Lets objects have no member that is not described.
fn close(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(close),
        Value::Object(members) => {
            members.values_mut().for_each(close);
            if members.get("type").is_some_and(|kind| !kind.is_object())
                && members.contains_key("properties")
                && !members.contains_key("additionalProperties")
            {
                members.insert("additionalProperties".into(), json!(false));
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
