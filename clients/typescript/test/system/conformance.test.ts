// Runs the list of behaviours that all clients keep. ../../../README.md describes it.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { readFileSync } from "node:fs";
import { inspect } from "node:util";
import { Client, FirstcomeError, type HeldHold } from "../../src/index.js";
import { ask, path, startProxy, startServer, type Program } from "../programs.js";

type Json = any;
type Document = Record<string, Json>;

const list = JSON.parse(readFileSync(path("conformance.json"), "utf8")) as Document;
const { keys } = list as { keys: Record<string, string> };
/** What throws at the end of a block. */
class OfTheRunner extends Error {}

let server: Program;
let proxy: Program;
before(async () => {
  server = await startServer(readFileSync(path("conformance/server.toml"), "utf8"));
  proxy = await startProxy(server.url);
});
after(() => {
  proxy?.stop();
  server?.stop();
});

/** Refuses fields that this runner does not understand. */
function only(what: string, document: Document, ...names: string[]): void {
  const strange = Object.keys(document).filter(name => !names.includes(name));
  assert.deepEqual(strange, [], `this runner does not understand these fields of ${what}`);
}

/** Puts values in the place of `{name}`. */
function filled(value: Json, saved: Document): Json {
  if (Array.isArray(value)) return value.map(item => filled(item, saved));
  if (typeof value === "object" && value !== null)
    return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, filled(item, saved)]));
  if (typeof value !== "string") return value;
  const whole = /^\{(\w+)\}$/.exec(value)?.[1];
  if (whole !== undefined && whole in saved) return saved[whole];
  return value.replace(/\{(\w+)\}/g, (all, name: string) => (name in saved ? String(saved[name]) : all));
}

/** Whether an expected value is found in an actual one. */
function found(wanted: Json, actual: Json): boolean {
  if (Array.isArray(wanted))
    return Array.isArray(actual) && actual.length === wanted.length && wanted.every((item, index) => found(item, actual[index]));
  if (typeof wanted !== "object" || wanted === null) return Object.is(wanted, actual);
  return typeof actual === "object" && actual !== null && Object.entries(wanted).every(([name, item]) => found(item, actual[name]));
}

function within(what: string, actual: number, bounds: Json): void {
  if (typeof bounds === "number") return assert.equal(actual, bounds, what);
  only(what, bounds, "min", "max");
  assert.ok(
    actual >= (bounds.min ?? -Infinity) && actual <= (bounds.max ?? Infinity),
    `${what}: ${actual} is not in ${JSON.stringify(bounds)}`,
  );
}

/** What a call came to, with the words of the list. */
interface Came {
  kind: string;
  fields: Document;
  /** All that could show a key. */
  shown: unknown[];
}

function asValue(answer: Document): Came {
  const kind = answer["outcome"] as string;
  if (kind !== "refused") return { kind, fields: answer, shown: [answer] };
  const { reason, problem, afterLostAttempt } = answer;
  return { kind, fields: { ...problem, reason, after_lost_attempt: afterLostAttempt }, shown: [answer] };
}

function asError(error: unknown): Came {
  if (error instanceof OfTheRunner) return { kind: "thrown", fields: {}, shown: [error] };
  if (!(error instanceof FirstcomeError)) throw error;
  return { kind: error.kind, fields: error.problem ? { ...error.problem } : {}, shown: [error] };
}

async function collect<T>(items: AsyncIterable<T>, most = 10_000): Promise<T[]> {
  const collected: T[] = [];
  for await (const item of items) if (collected.push(item) >= most) break;
  return collected;
}

/** The two forms of a hold that ends with a block. */
type Form = "await using" | "withHold";
/** The fields of a call beside those of its arguments. */
const OF_A_CALL = ["op", "expect", "save", "min_position"];

async function perform(client: Client, campaign: string, call: Document, form: Form): Promise<Came> {
  const { op, expect: _, save: __, min_position, ...args } = call;
  const options = { minPosition: min_position as string | undefined };
  const takes = (...names: string[]): void => only(op as string, call, ...OF_A_CALL, ...names);
  const read = async (kind: string, answer: Promise<Document>): Promise<Came> => {
    const came = asValue(await answer);
    return came.kind === "found" ? { ...came, kind } : came;
  };
  const what = args as Json;
  switch (op) {
    case "claim":
      takes("subject", "pool");
      return asValue(await client.claim(campaign, what, options));
    case "cancel":
      takes("subject", "rank", "pool");
      return asValue(await client.cancel(campaign, what, options));
    case "hold":
      takes("subject", "picks", "id");
      return asValue(await client.hold(campaign, what, options));
    case "extend":
      takes("hold", "subject", "ttl_ms");
      return asValue(await client.holdById(campaign, what).extend({ ttl_ms: what.ttl_ms }, options));
    case "confirm":
      takes("hold", "subject", "late");
      return asValue(await client.holdById(campaign, what).confirm({ late: what.late }, options));
    case "release":
      takes("hold", "subject");
      return asValue(await client.holdById(campaign, what).release({}, options));
    case "hold_block": {
      takes("subject", "picks", "inside", "inside_kind", "throws");
      const { inside = [], inside_kind = "confirmed", throws = false, ...wanted } = what;
      let came: Came | undefined;
      const block = async (hold: HeldHold): Promise<void> => {
        came = asValue({ ...hold });
        for (const step of inside) {
          assert.equal(step, "confirm", "this runner does not understand this step");
          assert.equal((await hold.confirm()).outcome, inside_kind);
        }
        if (throws) throw new OfTheRunner("of the runner");
      };
      try {
        if (form === "withHold") {
          const answer = await client.withHold(campaign, wanted, block, options);
          return answer.outcome === "ran" && came ? came : asValue(answer);
        }
        await using hold = await client.hold(campaign, wanted, options);
        if (hold.outcome !== "held" && hold.outcome !== "already_held") return asValue(hold);
        await block(hold);
        return asValue({ ...hold });
      } catch (error) {
        if (error instanceof OfTheRunner && came) return { ...came, kind: "thrown", shown: [...came.shown, error] };
        throw error;
      }
    }
    case "join":
      takes("subject", "pool");
      return asValue(await client.join(campaign, what, options));
    case "place":
      takes("subject", "pool");
      return read("place", client.place(campaign, what, options));
    case "leave":
      takes("subject", "pool");
      return asValue(await client.leave(campaign, what, options));
    case "reserve_code":
      takes("code", "reference", "ttl_ms");
      return asValue(await client.reserveCode(campaign, what, options));
    case "redeem_code":
      takes("code", "reference");
      return asValue(await client.redeemCode(campaign, what, options));
    case "roll_back_code":
      takes("code", "reference");
      return asValue(await client.rollBackCode(campaign, what, options));
    case "release_code":
      takes("code", "reference");
      return asValue(await client.releaseCode(campaign, what, options));
    case "campaign":
      takes();
      return read("campaign", client.campaign(campaign, options));
    case "results": {
      takes("page_size");
      const items = await collect(client.results(campaign, { limit: what.page_size }, options));
      return { kind: "items", fields: { items }, shown: [items] };
    }
    case "events": {
      takes("after", "take");
      const events = await collect(client.events(campaign, { after: what.after }), what.take);
      return { kind: "events", fields: { events }, shown: [events] };
    }
    default:
      return assert.fail(`this runner does not understand the op ${op}`);
  }
}

/** Sends the runner's own requests. */
async function send(requests: Document[], saved: Document): Promise<void> {
  for (const request of requests) {
    only("a request", request, "method", "path", "body", "status", "save");
    const { method, path: at, body, status, save = {} } = filled({ ...request, save: {} }, saved);
    const reads = method === "GET";
    const document = await ask(server.url, method, at, reads ? undefined : body, keys["admin"], status);
    if (reads && body !== undefined)
      assert.ok(found(body, document), `${at}: ${JSON.stringify(body)} is not in ${JSON.stringify(document)}`);
    for (const [name, field] of Object.entries({ ...save, ...request["save"] })) saved[name] = document[field as string];
  }
}

/** Looks for a part of a request, such as `body.id`. */
const part = (request: Document, name: string): Json => name.split(".").reduce<Json>((value, field) => value?.[field], request);

function compareRequests(wanted: Document, all: Document[], events: Document[]): void {
  only("requests", wanted, "match", "count", "same", "same_and_there", "gaps_ms", "headers", "last_event_id");
  const { match = {} } = wanted;
  only("match", match, "method", "path_ends", "path_contains");
  const seen = all.filter(request => {
    const [route = ""] = request["path"].split("?");
    return (
      (match.method ?? request["method"]) === request["method"] &&
      route.endsWith(match.path_ends ?? "") &&
      request["path"].includes(match.path_contains ?? "")
    );
  });
  if (wanted["count"] !== undefined) within("requests", seen.length, wanted["count"]);
  for (const name of [...(wanted["same"] ?? []), ...(wanted["same_and_there"] ?? [])]) {
    for (const request of seen) assert.deepEqual(part(request, name), part(seen[0] ?? {}, name), `${name} is not the same in all requests`);
  }
  for (const name of wanted["same_and_there"] ?? []) assert.notEqual(part(seen[0] ?? {}, name), undefined, `${name} is not there`);
  (wanted["gaps_ms"] ?? []).forEach((bounds: Document, index: number) => {
    within(`gap ${index + 1}`, seen[index + 1]?.["at_ms"] - seen[index]?.["at_ms"], bounds);
  });
  for (const [name, header] of Object.entries((wanted["headers"] ?? {}) as Record<string, Document>)) {
    only("a header", header, "begins");
    assert.ok(seen.length > 0);
    for (const request of seen) assert.ok(request["headers"][name]?.startsWith(header["begins"]), `${name}: ${request["headers"][name]}`);
  }
  if (wanted["last_event_id"]) {
    const id = events.find(event => event["id"])?.["id"];
    assert.ok(seen.length > 1 && id);
    for (const request of seen.slice(1)) assert.equal(request["headers"]["last-event-id"], id);
  }
}

async function run(behaviour: Document, form: Form): Promise<void> {
  only("a behaviour", behaviour, "name", "why", "setup", "client", "proxy", "calls", "requests", "after");
  const settings = { ...list["defaults"].client, ...behaviour["client"] };
  only("client", settings, "deadline_ms", "attempt_ms", "key");
  const key = keys[settings.key] ?? assert.fail(`no key ${settings.key}`);
  const campaign = `c-${Math.random().toString(16).slice(2, 10)}`;
  const saved: Document = { campaign, key };
  await send(behaviour["setup"], saved);
  const session = await ask(proxy.url, "POST", "/-conformance/sessions", filled(behaviour["proxy"] ?? {}, saved));
  let record: { requests: Document[] } | undefined;
  const end = async (): Promise<{ requests: Document[] }> =>
    (record ??= await ask(proxy.url, "DELETE", `/-conformance/sessions/${session.session}`));
  try {
    const client = new Client({ url: session.url, key, deadlineMs: settings.deadline_ms, attemptMs: settings.attempt_ms });
    let events: Document[] = [];
    for (const raw of behaviour["calls"] as Document[]) {
      const call = filled(raw, saved);
      const began = performance.now();
      const came = await perform(client, campaign, call, form).catch(asError);
      const took = performance.now() - began;
      const { expect } = call;
      only("expect", expect, "kind", "fields", "has", "took_ms");
      const text = inspect(came.fields, { depth: 9 });
      assert.ok([expect.kind].flat().includes(came.kind), `${call.op}: ${came.kind} is not ${expect.kind}: ${text}`);
      assert.ok(found(expect.fields ?? {}, came.fields), `${call.op}: ${inspect(expect.fields, { depth: 9 })} is not in ${text}`);
      for (const name of expect.has ?? [])
        assert.ok(![undefined, null, ""].includes(came.fields[name]), `${call.op}: no ${name} in ${text}`);
      if (expect.took_ms) within("took_ms", took, expect.took_ms);
      for (const shown of [client, ...came.shown]) {
        const texts = [
          inspect(shown, { depth: 20, showHidden: true }),
          String(shown),
          JSON.stringify(shown) ?? "",
          shown instanceof Error ? `${shown.stack} ${inspect(shown.cause)}` : "",
        ];
        assert.ok(!texts.some(one => one.includes(key)), "the key is shown");
      }
      for (const [name, field] of Object.entries((raw["save"] ?? {}) as Record<string, string>)) saved[name] = came.fields[field];
      if (call.op === "events") events = came.fields["events"];
    }
    const { requests } = await end();
    for (const wanted of [filled(behaviour["requests"] ?? [], saved)].flat()) compareRequests(wanted, requests, events);
    await send(behaviour["after"] ?? [], saved);
  } catch (error) {
    const seen = inspect((await end()).requests, { depth: 9 });
    throw new Error(
      `${behaviour["name"]} (${behaviour["why"]}): ${error instanceof Error ? error.stack : String(error)}\nThe proxy saw: ${seen}`,
    );
  } finally {
    await end();
  }
}

assert.equal(list["format"], 1, "this runner understands the format 1");
only("the list", list, "about", "format", "keys", "defaults", "behaviours");
only("defaults", list["defaults"], "client");
const behaviours = list["behaviours"] as Document[];
assert.ok(behaviours.length > 0 && new Set(behaviours.map(one => one["name"])).size === behaviours.length);

describe("the list of behaviours", { concurrency: 4, timeout: 300_000 }, () => {
  for (const behaviour of behaviours) {
    const name = behaviour["name"] as string;
    const hasBlock = (behaviour["calls"] as Document[]).some(call => call["op"] === "hold_block");
    test(name, () => run(behaviour, "await using"));
    if (hasBlock) test(`${name} (withHold)`, () => run(behaviour, "withHold"));
  }
});
