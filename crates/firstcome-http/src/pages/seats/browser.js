// What scripts need of a browser: elements, and storage.

// Makes an element; text is always text, whatever stands in it.
function make(tag, attributes = {}, ...children) {
  const svg = ["svg", "path", "line", "text", "g", "title"].includes(tag);
  const element = svg ? document.createElementNS("http://www.w3.org/2000/svg", tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element[name] = value;
    else if (value !== false && value !== null && value !== undefined) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter(child => child !== null && child !== undefined && child !== false));
  return element;
}

// Only what changed is written, so that focus and screen readers are left alone.
function set(element, text) {
  if (element.textContent !== String(text)) element.textContent = text;
}

function show(element, is) {
  element.hidden = !is;
}

// Fills an element anew where what it is made from is not what it was; the focus stays at its place.
function fill(element, from, children) {
  const mark = JSON.stringify([from, language]);
  if (element.filledFrom === mark) return;
  const can = () => [...element.querySelectorAll("a, button, input, select")];
  const nth = can().indexOf(element.getRootNode().activeElement);
  element.filledFrom = mark;
  element.replaceChildren(...children());
  if (nth >= 0) (can()[nth] ?? can()[0])?.focus();
}

// Storage may be forbidden; then the page works without.
const keep = (storage, name, value) => {
  try { value === null ? storage().removeItem(name) : storage().setItem(name, value); } catch { /* forbidden */ }
};
const kept = (storage, name) => {
  try { return storage().getItem(name); } catch { return null; }
};
const forTab = () => sessionStorage;
