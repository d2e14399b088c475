// The language that is spoken, and numbers, times and money in it.
let language = "en";

// Gives the first of these languages for which there are words.
const spoken = tags => tags.map(tag => String(tag).slice(0, 2)).find(tag => tag in WORDS) ?? "en";

// Gives a text with values put in.
function say(key, values = {}) {
  return WORDS[language][key].replace(/\{(\w+)\}/g, (_, name) => values[name]);
}

// Says a refusal for people; what has no words of ours is said as the server says it.
const refusal = problem => WORDS[language].refused[problem.outcome] ?? say("failed", { why: problem.detail ?? problem.title ?? problem.outcome });

const number = value => new Intl.NumberFormat(language).format(value);

const moment = text => new Intl.DateTimeFormat(language, { dateStyle: "long", timeStyle: "medium" }).format(new Date(text));

const zone = () => new Intl.DateTimeFormat(language, { timeZoneName: "long" }).formatToParts(new Date()).find(part => part.type === "timeZoneName")?.value ?? "";

// Gives an amount in minor units as money.
function money(minor, currency) {
  try {
    const format = new Intl.NumberFormat(language, { style: "currency", currency });
    return format.format(minor / 10 ** format.resolvedOptions().maximumFractionDigits);
  } catch {
    return `${number(minor)} ${currency}`;
  }
}

// Gives a time that is left, as minutes and seconds, with hours and days where there are some.
function span(ms) {
  const seconds = Math.max(0, Math.ceil(ms / 1000));
  const two = value => String(value).padStart(2, "0");
  const days = Math.floor(seconds / 86400), hours = Math.floor(seconds / 3600) % 24;
  const rest = `${two(Math.floor(seconds / 60) % 60)}:${two(seconds % 60)}`;
  if (days > 0) return `${say("days", { n: days })} ${two(hours)}:${rest}`;
  return hours > 0 ? `${hours}:${rest}` : rest;
}
