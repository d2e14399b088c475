// Writes src/documents.ts from docs/reference/openapi.json: the documents of the routes that this client uses, and the
// reasons for which each command can be refused. `--check` writes nothing and fails if the file is not current.
import { readFileSync, writeFileSync } from "node:fs";

const DESCRIPTION = new URL("../../docs/reference/openapi.json", import.meta.url);
const FILE = new URL("src/documents.ts", import.meta.url);

// What the document calls it, and what it is called here. What these refer to must be listed, too.
const ANSWERS = {
  Problem: "Problem",
  Won: "Won", Cancelled: "Cancelled", ClaimView: "Claim",
  WaitlistedView: "Waitlisted", PlaceView: "Place", LeftWaitlistView: "LeftWaitlist",
  HeldView: "Held", ExtendedView: "Extended", EndedView: "Ended", Shown: "HoldState", UnitView: "Unit",
  CodeStep: "CodeStep", CodesFound: "CodesFound", CodeView: "Code", CodeUseView: "CodeUse", CodeMarkView: "CodeMark",
  ResultsView: "ResultPage", ResultView: "Result", WinnersView: "WinnerPage", WinnerView: "Winner",
  CampaignView: "Campaign", PoolView: "Pool", LimitsView: "Limits",
  SeatMap: "SeatMap", SeatMapRow: "SeatMapRow", SeatMapArea: "SeatMapArea", SeatMapGroup: "SeatMapGroup",
  SeatEventPool: "PoolChange", Minted: "Minted",
};
const REQUESTS = {
  ClaimRequest: "ClaimRequest", HoldRequest: "HoldRequest", PickRequest: "UnitPick", ChangeRequest: "ChangeRequest",
  ConfirmRequest: "ConfirmRequest", ExtendRequest: "ExtendRequest", LateRequest: "Late",
  ReserveRequest: "ReserveRequest", RedeemRequest: "RedeemRequest", CodeStepRequest: "CodeStepRequest",
  CodeLookUpRequest: "CodeLookUpRequest", TokenRequest: "TokenRequest",
};
// The operations, and what their answers and reasons are called here: `ClaimAnswer`, `ClaimReason`. Some give only a part of
// their successes.
const OPERATIONS = [
  ["claim", "Claim", ["won", "already_won"]], ["claim", "Join"], ["cancel_claim", "Cancel"],
  ["show_place", "Place"], ["leave_waitlist", "Leave"],
  ["hold", "TakeHold"], ["add_to_hold", "Add"], ["drop_from_hold", "Drop"], ["extend_hold", "Extend"],
  ["confirm_hold", "Confirm"], ["release_hold", "Release"], ["show_hold", "HoldState"],
  ["reserve_code", "ReserveCode"], ["redeem_code", "RedeemCode"], ["roll_back_code", "RollBackCode"],
  ["release_code", "ReleaseCode"], ["look_up_codes", "CodesFound"],
  ["show_campaign", "Campaign"], ["show_seats", "SeatMap"], ["mint_token", "MintToken"],
];
// Outcomes that are no decisions of the rules: the form or the right of the request, or a failure outside of the rules.
const NOT_OF_THE_RULES = [
  "busy", "outbox_full", "store_full", "unavailable", "unknown", "stale_position", "nothing_lost", "level_not_read",
  "beyond_results", "tag_required", "invalid_request", "invalid_subject", "invalid_settings", "too_big_for_memory",
  "unsupported_media_type", "not_acceptable", "too_large", "timeout", "unauthorized", "eligibility_unknown",
  "token_expired", "forbidden", "origin_not_allowed", "no_such_route", "method_not_allowed", "too_many_connections",
  "too_many_requests", "too_many_streams", "no_ledger", "no_such_webhook", "too_many_webhooks",
];
// Texts whose possible values are in their description; later versions may add more.
const WORDS = ["state", "kind", "standing", "decided", "by", "what"];
// Columns of a seat map that are no texts. A column has one value for all seats of a row, or a list with one for each.
const COLUMNS = { accessible: "boolean", companion: "boolean", price_minor: "number", quality: "number", x: "number", y: "number" };

const { components, paths } = JSON.parse(readFileSync(DESCRIPTION, "utf8"));
const schemas = components.schemas;
const outcomes = schemas.Outcome.enum;
const names = { ...ANSWERS, ...REQUESTS };

const comment = (text, indent = "") => {
  const lines = text.trim().split("\n");
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map(line => `${indent} * ${line}`.trimEnd()).join("\n")}\n${indent} */\n`;
};
const quoted = words => words.map(word => JSON.stringify(word)).join(" | ");
const inBackticks = text => [...new Set([...text.matchAll(/`([a-z_]{2,})`/g)].map(match => match[1]))];

function typeOf(schema, field = "") {
  if (schema.$ref) {
    const name = schema.$ref.split("/").at(-1);
    if (name === "Outcome") {
      const words = inBackticks(schema.description ?? "").filter(word => outcomes.includes(word));
      return words.length ? quoted(words) : "string";
    }
    if (schemas[name].enum && !names[name]) return `${quoted(schemas[name].enum)} | (string & {})`;
    if (!names[name]) throw new Error(`${name} is referred to, and has no name in generate.mjs`);
    return names[name];
  }
  const several = schema.oneOf ?? schema.anyOf;
  if (several) return [...new Set(several.map(one => typeOf(one)))].join(" | ");
  if (schema.enum) return quoted(schema.enum);
  if (schema.type === undefined) {
    if (!schema.description?.endsWith("a list with a value for each.")) throw new Error(`${field} has no type`);
    return `${COLUMNS[field] ?? "string"} | (${COLUMNS[field] ?? "string"} | null)[]`;
  }
  const types = [schema.type].flat().filter(type => type !== "null");
  return types.map(type => {
    if (type === "array") {
      const items = typeOf(schema.items ?? {});
      return /[|&]/.test(items) ? `(${items})[]` : `${items}[]`;
    }
    if (type === "integer") return "number";
    if (type === "string" && WORDS.includes(field)) {
      const words = inBackticks(schema.description ?? "");
      if (words.length) return `${quoted(words)} | (string & {})`;
    }
    if (type !== "object") return type;
    if (schema.properties) return `{ ${fields(schema, true, "").replace(/\n/g, " ").trim()} }`;
    return `Record<string, ${typeOf(schema.additionalProperties ?? {})}>`;
  }).join(" | ");
}

function fields(schema, isAnswer, indent = "  ") {
  return Object.entries(schema.properties).map(([name, field]) => {
    const isNullable = [field.type].flat().includes("null");
    const isThere = (schema.required ?? []).includes(name);
    // What may be left out of a request may be undefined there, too.
    const or = isThere ? (isNullable ? " | null" : "") : isAnswer ? (isNullable ? " | null" : "") : " | undefined";
    const about = indent && field.description ? comment(field.description, indent) : "";
    return `${about}${indent}${name}${isThere ? "" : "?"}: ${typeOf(field, name)}${or};\n`;
  }).join("");
}

function declaration(from, to, isAnswer) {
  const schema = schemas[from];
  const about = comment(schema.description);
  if (schema.enum) return `${about}export type ${to} = ${quoted(schema.enum)};\n`;
  return `${about}export interface ${to} {\n${fields(schema, isAnswer)}}\n`;
}

// The document of each success.
const documentOf = {};
for (const [from, to] of Object.entries(ANSWERS)) {
  const field = schemas[from].properties.outcome;
  for (const word of inBackticks(field?.description ?? "")) if (outcomes.includes(word)) documentOf[word] = to;
}

function answers() {
  const all = Object.values(paths).flatMap(path => Object.values(path)).filter(one => one.operationId);
  return OPERATIONS.map(([id, name, part]) => {
    const { responses } = all.find(one => one.operationId === id);
    const words = isSuccess => {
      const wanted = Object.keys(responses).filter(status => (status < "400") === isSuccess);
      return [...new Set(wanted.flatMap(status => responses[status]["x-outcomes"] ?? []))];
    };
    const reasons = words(false).filter(word => !NOT_OF_THE_RULES.includes(word));
    const yes = words(true).filter(word => !part || part.includes(word));
    const documents = [...new Set(yes.map(word => documentOf[word]))];
    const union = documents.map(to => `As<${to}, ${quoted(yes.filter(word => documentOf[word] === to))}>`).join(" | ");
    const read = names[responses["200"]?.content?.["application/json"]?.schema.$ref?.split("/").at(-1)];
    return [
      `/** Why \`${name}Answer\` can be a refusal. Later versions may add more. */`,
      `export type ${name}Reason =${reasons.map(word => `\n  | "${word}"`).join("") || " never"};`,
      `/** What \`${id}\` comes to. */`,
      `export type ${name}Answer = ${union ? `Answer<${union}, ${name}Reason>` : `Found<${read}, ${name}Reason>`};\n`,
    ].join("\n");
  });
}

const failures = NOT_OF_THE_RULES.map(word => `  ${JSON.stringify(word)},\n`).join("");
const text = [
  `// Written by generate.mjs from docs/reference/openapi.json. Change nothing here.\n`,
  `import type { Answer, As, Found } from "./answer.js";\n`,
  ...Object.entries(ANSWERS).map(([from, to]) => declaration(from, to, true)),
  ...Object.entries(REQUESTS).map(([from, to]) => declaration(from, to, false)),
  ...answers(),
  `${comment("Outcomes that are no decisions of the rules.")}export const NOT_OF_THE_RULES: ReadonlySet<string> = new Set([\n${failures}]);\n`,
].join("\n");

if (process.argv[2] === "--check") {
  if (readFileSync(FILE, "utf8") !== text) {
    console.error("src/documents.ts is not current: run `npm run generate` and commit it");
    process.exit(1);
  }
} else {
  writeFileSync(FILE, text);
}
