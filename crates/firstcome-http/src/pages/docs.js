"use strict";
// The forms of /docs: each sends one request to this server, which may be at a path of a shop, and shows the answer. The key stays in this page.

const LONGEST = 100000;

function request(form) {
  const query = new URLSearchParams(), headers = {};
  const key = document.querySelector("#key").value.trim();
  if (key) headers.authorization = `Bearer ${key}`;
  let path = form.dataset.path;
  for (const field of form.querySelectorAll("[data-in]")) {
    if (field.dataset.in === "path") path = path.replace(`{${field.name}}`, encodeURIComponent(field.value));
    else if (field.value === "") continue;
    else if (field.dataset.in === "query") query.set(field.name, field.value);
    else headers[field.name] = field.value;
  }
  const body = form.querySelector("textarea")?.value;
  if (body) headers["content-type"] = form.dataset.path === "/v1/commands" ? "application/x-ndjson" : "application/json";
  const rest = query.toString();
  return [path + (rest && `?${rest}`), { method: form.dataset.method, headers, body: body || undefined }];
}

async function send(form) {
  const shown = form.querySelector("pre");
  form.under?.abort();
  form.under = new AbortController();
  const [path, options] = request(form);
  shown.hidden = false;
  shown.textContent = "…";
  try {
    const answer = await fetch(`.${path}`, { ...options, signal: form.under.signal });
    const head = `${options.method} ${path}\n${answer.status} ${answer.statusText}\n\n`;
    shown.textContent = head;
    // A stream of events is shown as it comes.
    let text = "";
    const decoder = new TextDecoder();
    for (const reader = answer.body?.getReader(); reader;) {
      const { done, value } = await reader.read();
      if (done) break;
      text += decoder.decode(value, { stream: true });
      shown.textContent = head + text.slice(-LONGEST);
    }
    if ((answer.headers.get("content-type") ?? "").includes("json") && text.length <= LONGEST) {
      shown.textContent = head + JSON.stringify(JSON.parse(text), null, 2);
    }
  } catch (why) {
    if (why.name !== "AbortError") shown.textContent = `No answer: ${why.message}`;
  }
}

for (const form of document.querySelectorAll("form")) {
  form.addEventListener("submit", event => {
    event.preventDefault();
    send(form);
  });
}

// A link to an operation opens it.
function open() {
  const found = document.getElementById(decodeURIComponent(location.hash.slice(1)));
  if (found instanceof HTMLDetailsElement) found.open = true;
}
addEventListener("hashchange", open);
open();
