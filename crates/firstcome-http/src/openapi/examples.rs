//! Examples of requests and answers, recorded from a real server by a test (`tests/server/examples.rs`).

use serde_json::{Map, Value};

/// What was recorded, by operation: `parameters`, `body`, and `answers`, each with `status`, `kind` and `body`.
const RECORDED: &str = include_str!("examples.json");

/// Adds the examples to the operations of a description.
pub(super) fn add(document: &mut Value) {
    let recorded: Map<String, Value> =
        serde_json::from_str(RECORDED).expect("the examples are JSON");
    let paths = document["paths"].as_object_mut();
    for item in paths.into_iter().flat_map(Map::values_mut) {
        for operation in item.as_object_mut().into_iter().flat_map(Map::values_mut) {
            let id = operation["operationId"].as_str().unwrap_or_default();
            if let Some(examples) = recorded.get(id) {
                add_to(operation, examples);
            }
        }
    }
}

fn add_to(operation: &mut Value, examples: &Value) {
    let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
    for parameter in parameters.into_iter().flatten() {
        let name = parameter["name"].as_str().unwrap_or_default();
        if let Some(example) = examples["parameters"].get(name) {
            parameter["example"] = example.clone();
        }
    }
    if let Some(body) = examples.get("body") {
        let content = operation.pointer_mut("/requestBody/content").and_then(Value::as_object_mut);
        for media in content.into_iter().flat_map(Map::values_mut) {
            media["example"] = body.clone();
        }
    }
    for answer in examples["answers"].as_array().into_iter().flatten() {
        let status = answer["status"].to_string();
        let kind = answer["kind"].as_str().unwrap_or_default();
        let response = operation["responses"].get_mut(&status);
        let content = response.and_then(|response| response.get_mut("content"));
        let media = content.and_then(|content| content.get_mut(kind));
        if let Some(media) = media {
            media["example"] = answer["body"].clone();
        }
    }
}
