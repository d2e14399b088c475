//! Schemas made flat: what the derived ones combine is written out.

use serde_json::{Map, Value, json};

const SCHEMAS: &str = "#/components/schemas/";

/// Writes out every `allOf`, and every `oneOf` that only says that something may be null; leaves out schemas that
/// nothing refers to any more.
pub(super) fn flatten(document: &mut Value) {
    let schemas = document["components"]["schemas"].clone();
    write_out(document, &schemas);
    leave_out_unused(document);
}

fn write_out(value: &mut Value, schemas: &Value) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| write_out(item, schemas)),
        Value::Object(members) => {
            members.values_mut().for_each(|member| write_out(member, schemas));
            if let Some(Value::Array(parts)) = members.remove("allOf") {
                parts.iter().for_each(|part| take_in(members, &resolved(part, schemas)));
            }
            if let Some(Value::Array(parts)) = members.remove("oneOf") {
                let is_something = |part: &&Value| part["type"] != "null";
                for part in parts.iter().filter(is_something) {
                    take_in(members, &resolved(part, schemas));
                }
                if parts.iter().any(|part| part["type"] == "null") {
                    let kind = members.remove("type").unwrap_or_default();
                    members.insert("type".into(), json!([kind, "null"]));
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns a schema, in place of a reference what it refers to.
fn resolved(part: &Value, schemas: &Value) -> Value {
    let Some(name) = part["$ref"].as_str().and_then(|to| to.strip_prefix(SCHEMAS)) else {
        return part.clone();
    };
    let mut schema = schemas[name].clone();
    write_out(&mut schema, schemas);
    if let Some(description) = part.get("description") {
        schema["description"] = description.clone();
    }
    schema
}

/// Puts a part of a schema into the schema; what it says of itself comes first.
fn take_in(schema: &mut Map<String, Value>, part: &Value) {
    for (name, value) in part.as_object().into_iter().flatten() {
        match (schema.get_mut(name), value) {
            (Some(Value::Object(own)), Value::Object(more)) => {
                own.extend(more.iter().map(|(name, value)| (name.clone(), value.clone())));
            }
            (Some(Value::Array(own)), Value::Array(more)) => own.extend(more.iter().cloned()),
            (Some(_), _) => {}
            (None, value) => drop(schema.insert(name.clone(), value.clone())),
        }
    }
}

fn leave_out_unused(document: &mut Value) {
    loop {
        let text = document.to_string();
        let Some(schemas) = document["components"]["schemas"].as_object_mut() else { return };
        let before = schemas.len();
        schemas.retain(|name, _| text.contains(&format!("\"{SCHEMAS}{name}\"")));
        if schemas.len() == before {
            return;
        }
    }
}
