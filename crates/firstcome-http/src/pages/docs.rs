//! The page of all routes: by task, each with who may ask, what it takes, real answers, and a form to try it.

use super::{append, escaped, marked, what_to_do};
use crate::answer::Code;
use axum::body::Bytes;
use serde_json::Value;

/// Writes the page from the description of the routes.
pub(super) fn page(document: &Value) -> Bytes {
    let mut body = String::from(
        "<p>For programs: <a href=openapi.json>openapi.json</a>. Answers below are real ones; times, ids and tokens \
         are replaced.</p><div id=access><label><span>Key or subject token</span> \
         <input id=key type=password autocomplete=off placeholder=\"stays in this page\"></label><nav>",
    );
    let tags: Vec<&Value> = document["tags"].as_array().into_iter().flatten().collect();
    for tag in &tags {
        append(&mut body, format_args!("<a href=\"#{0}\">{0}</a>", text(&tag["name"])));
    }
    body.push_str("<a href=\"#problems\">problems</a></nav></div>");
    for tag in tags {
        let about = marked(tag["description"].as_str().unwrap_or_default());
        append(
            &mut body,
            format_args!("<h2 id=\"{0}\">{0}</h2><p>{about}</p>", text(&tag["name"])),
        );
        for (method, path, operation) in operations(document) {
            if operation["tags"][0] == tag["name"] {
                write_operation(&mut body, document, (method, path), operation);
            }
        }
    }
    problems(&mut body);
    body.push_str("<script src=docs/docs.js></script>");
    super::page("Firstcome", "", &body)
}

/// Returns the operations of a description: method, path, and what is said of it.
fn operations(document: &Value) -> impl Iterator<Item = (&str, &str, &Value)> {
    document["paths"].as_object().into_iter().flatten().flat_map(|(path, item)| {
        let methods = item.as_object().into_iter().flatten();
        methods.map(move |(method, operation)| (method.as_str(), path.as_str(), operation))
    })
}

fn text(value: &Value) -> String {
    escaped(value.as_str().unwrap_or_default())
}

fn write_operation(
    body: &mut String,
    document: &Value,
    (method, path): (&str, &str),
    operation: &Value,
) {
    let (id, shown) = (text(&operation["operationId"]), method.to_uppercase());
    let summary = marked(operation["summary"].as_str().unwrap_or_default());
    append(
        body,
        format_args!(
            "<details id=\"{id}\"><summary><b>{shown}</b> <code>{}</code> {summary}</summary>",
            escaped(path)
        ),
    );
    if let Some(more) = operation["description"].as_str() {
        append(body, format_args!("<p>{}</p>", marked(more)));
    }
    append(body, format_args!("<p>Who may ask: {}.</p>", who(&operation["security"])));
    let parameters: Vec<&Value> =
        operation["parameters"].as_array().into_iter().flatten().collect();
    if !parameters.is_empty() {
        body.push_str("<table><tr><th>Parameter<th>In<th>What it is</tr>");
        for parameter in &parameters {
            let needed = if parameter["required"] == true { "" } else { " (may be left out)" };
            append(
                body,
                format_args!(
                    "<tr><td><code>{}</code><td>{}<td>{}{needed}</tr>",
                    text(&parameter["name"]),
                    text(&parameter["in"]),
                    marked(parameter["description"].as_str().unwrap_or_default())
                ),
            );
        }
        body.push_str("</table>");
    }
    let media = &operation["requestBody"]["content"]["application/json"];
    let lines = &operation["requestBody"]["content"]["application/x-ndjson"]["x-line-data"];
    if media.is_object() {
        body.push_str("<h4>Body</h4>");
        write_members(body, document, &media["schema"]);
    } else if lines.is_object() {
        body.push_str("<h4>Body</h4><p>NDJSON; each line has:</p>");
        write_members(body, document, lines);
    }
    if let Some(also) = operation["requestBody"]["description"].as_str() {
        append(body, format_args!("<p>{}</p>", marked(also)));
    }
    answers(body, &operation["responses"]);
    let content = &operation["requestBody"]["content"];
    let written = if media.is_object() { media } else { &content["application/x-ndjson"] };
    form(body, (&shown, path), &parameters, written);
    body.push_str("</details>");
}

/// Says who may ask, from the requirements of an operation.
fn who(security: &Value) -> String {
    let one = |requirement: &Value| {
        if let Some(role) = requirement["key"][0].as_str() {
            format!("a key with the role <code>{}</code> or a higher one", escaped(role))
        } else if requirement.get("subject_token").is_some() {
            "a subject token".to_owned()
        } else if requirement.get("ticket").is_some() {
            "a ticket".to_owned()
        } else if security.as_array().is_some_and(|all| all.len() > 2) {
            "everybody, if the campaign is public".to_owned()
        } else {
            "everybody".to_owned()
        }
    };
    let all: Vec<String> = security.as_array().into_iter().flatten().map(one).collect();
    if all.is_empty() { "everybody".to_owned() } else { all.join(", or ") }
}

fn resolved<'a>(document: &'a Value, schema: &'a Value) -> &'a Value {
    let to = schema["$ref"].as_str().and_then(|to| to.strip_prefix('#'));
    to.and_then(|pointer| document.pointer(pointer)).unwrap_or(schema)
}

/// Writes the members of the schema of a body, and of what stands in it.
fn write_members(body: &mut String, document: &Value, schema: &Value) {
    let mut schema = resolved(document, schema);
    if schema["type"] == "array" {
        body.push_str("<p>A list; each item has:</p>");
        schema = resolved(document, &schema["items"]);
    }
    let required = |name: &str| {
        schema["required"].as_array().into_iter().flatten().any(|required| required == name)
    };
    body.push_str("<table><tr><th>Member<th>Type<th>What it is</tr>");
    for (name, member) in schema["properties"].as_object().into_iter().flatten() {
        let needed = if required(name) { "needed. " } else { "" };
        append(
            body,
            format_args!(
                "<tr><td><code>{}</code><td>{}<td>{needed}{}</tr>",
                escaped(name),
                kind(document, member),
                marked(member["description"].as_str().unwrap_or_default())
            ),
        );
    }
    body.push_str("</table>");
}

/// Names the type of a member.
fn kind(document: &Value, member: &Value) -> String {
    let named = |schema: &Value| match &schema["type"] {
        Value::String(one) => Some(escaped(one)),
        Value::Array(several) => {
            let some = several.iter().filter(|kind| *kind != "null").map(text);
            Some(some.collect::<Vec<_>>().join(" or "))
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Object(_) => None,
    };
    let known = resolved(document, member);
    match known["type"] == "array" {
        true => {
            let items = resolved(document, &known["items"]);
            format!("list of {}", named(items).unwrap_or_else(|| "anything".to_owned()))
        }
        false => named(known).unwrap_or_else(|| "anything".to_owned()),
    }
}

/// Writes what an operation can be answered with: status, outcomes, and examples.
fn answers(body: &mut String, responses: &Value) {
    body.push_str("<h4>Answers</h4>");
    for (status, response) in responses.as_object().into_iter().flatten() {
        append(body, format_args!("<p><b>{}</b> ", escaped(status)));
        let outcomes: Vec<&str> = response["x-outcomes"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        if outcomes.is_empty() {
            body.push_str(&marked(response["description"].as_str().unwrap_or_default()));
        }
        for outcome in outcomes {
            let name = escaped(outcome);
            match Code::of(outcome) {
                Some(_) => append(
                    body,
                    format_args!("<a href=\"problems/{name}\"><code>{name}</code></a> "),
                ),
                None => append(body, format_args!("<code>{name}</code> ")),
            }
        }
        body.push_str("</p>");
        for (kind, media) in response["content"].as_object().into_iter().flatten() {
            if let Some(example) = media.get("example") {
                let kind = if kind.ends_with("json") { "" } else { kind };
                append(
                    body,
                    format_args!("{}<pre>{}</pre>", escaped(kind), escaped(&pretty(example))),
                );
            }
        }
    }
}

fn pretty(example: &Value) -> String {
    let whole = || serde_json::to_string_pretty(example).unwrap_or_default();
    example.as_str().map_or_else(whole, str::to_owned)
}

/// Writes a form that sends the request, filled in with the example.
fn form(body: &mut String, (method, path): (&str, &str), parameters: &[&Value], media: &Value) {
    append(
        body,
        format_args!("<h4>Try it</h4><form data-method={method} data-path=\"{}\">", escaped(path)),
    );
    for parameter in parameters {
        let example = &parameter["example"];
        let example = match example.as_str() {
            Some(text) => text.to_owned(),
            None if example.is_null() => String::new(),
            None => example.to_string(),
        };
        append(
            body,
            format_args!(
                "<label><span>{0}</span> <input name=\"{0}\" data-in={1} value=\"{2}\"></label>",
                text(&parameter["name"]),
                text(&parameter["in"]),
                escaped(&example)
            ),
        );
    }
    if media.is_object() {
        let text =
            |example: &Value| example.as_str().map_or_else(|| pretty(example), str::to_owned);
        let example = media.get("example").map(text).unwrap_or_default();
        append(body, format_args!("<textarea aria-label=body>{}</textarea>", escaped(&example)));
    }
    append(body, format_args!("<button>Send {method}</button><pre hidden></pre></form>"));
}

fn problems(body: &mut String) {
    body.push_str(
        "<h2 id=problems>problems</h2><p>Answers that are not a yes. <i>Retry</i>: the same request may succeed \
         later. <i>Changed</i>: whether anything may have happened.</p>\
         <table><tr><th>Outcome<th>Status<th>Retry<th>Changed<th>Meaning<th>What to do</tr>",
    );
    for code in Code::all() {
        let row = code.row();
        append(
            body,
            format_args!(
                "<tr><td><a href=\"problems/{0}\"><code>{0}</code></a><td>{1}<td>{2}<td>{3}<td>{4}<td>{5}</tr>",
                row.outcome,
                row.status.as_u16(),
                if row.retry { "yes" } else { "no" },
                row.effect.as_str(),
                marked(row.title),
                marked(what_to_do::about(row.outcome))
            ),
        );
    }
    body.push_str("</table>");
}
