import assert from "node:assert/strict";
import { getEventListeners } from "node:events";
import { test } from "node:test";
import { inspect } from "node:util";
import { readFileSync } from "node:fs";
import { pauseAfter, VERSION } from "../../src/call.js";
import { Client, FirstcomeError } from "../../src/index.js";
import { cut, error, FakeWorld, hang, KEY, problem, refusedConnection, say, won, wrongCertificate, type Fate } from "../world.js";

const claim = (world: FakeWorld, options = {}, call = {}) => world.run(world.client(options).claim("spring", { subject: "ann" }, call));
const unavailable = problem(503, "unavailable", { retry: true });

test("a pause doubles up to the longest, less a random part of up to a half", () => {
  assert.deepEqual(
    [1, 2, 3, 4, 5, 6, 7, 40, 2_000].map(round => pauseAfter(round, 0)),
    [50, 100, 200, 400, 800, 1_600, 2_000, 2_000, 2_000],
  );
  assert.equal(pauseAfter(2, 1), 50);
});

test("a claim is one request with all it needs", async () => {
  const world = new FakeWorld(say(201, won));
  assert.deepEqual(await claim(world), won);
  const [request] = world.sent;
  assert.equal(`${request?.method} ${request?.url}`, "POST http://one.test/v1/campaigns/spring/claims");
  assert.deepEqual(request?.body, { subject: "ann" });
  assert.equal(request?.headers["authorization"], `Bearer ${KEY}`);
  assert.equal(request?.headers["content-type"], "application/json");
  assert.equal(request?.headers["user-agent"], `firstcome-client-typescript/${VERSION}`);
  assert.equal(world.timers, 0, "no timer is left behind");
});

test("the version is that of the package", () => {
  const { version } = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8")) as { version: string };
  assert.equal(VERSION, version);
});

test("a lost answer is asked for again, the same, after growing pauses", async () => {
  const strange: Fate[] = [
    cut,
    say(200, "<p>welcome"),
    say(201, { outcome: "moved" }),
    say(201, [won]),
    say(502, "<html>"),
    problem(503, "unknown", { changed: "unknown" }),
  ];
  const world = new FakeWorld(...strange, say(201, won));
  assert.deepEqual(await claim(world), won);
  assert.deepEqual(
    world.sent.map(one => one.at),
    [0, 50, 150, 350, 750, 1_550, 3_150],
  );
  for (const request of world.sent) assert.deepEqual({ ...request, at: 0 }, { ...world.sent[0], at: 0 });
});

test("without an answer before the deadline it is unknown, and resolve asks the same again", async () => {
  const world = new FakeWorld(hang, cut, unavailable, hang, say(200, { ...won, outcome: "already_won" }));
  const answer = await claim(world, { deadlineMs: 8_000, attemptMs: 4_000 });
  assert.equal(answer.outcome, "unknown");
  if (answer.outcome !== "unknown") return;
  assert.equal(world.now(), 9_000, "the deadline is the end");
  assert.deepEqual(
    world.sent.map(one => one.at),
    [0, 4_050, 4_150, 4_350],
  );
  assert.equal(answer.attempts, 4);
  assert.match(answer.why, /no answer from http:\/\/one\.test \(attempt 4\).*may have happened/);
  const found = await world.run(answer.resolve());
  assert.equal(found.outcome, "already_won");
  assert.deepEqual({ ...world.sent[4], at: 0 }, { ...world.sent[0], at: 0 });
});

test("one lost attempt is enough for unknown", async () => {
  const noWord = say(503, { outcome: "unavailable", retry: true });
  for (const fate of [
    cut,
    say(502, "<html>"),
    say(200, "{"),
    noWord,
    problem(409, "unknown", { changed: "unknown" }),
    problem(408, "timeout", { changed: "unknown" }),
  ]) {
    const answer = await claim(new FakeWorld(fate, unavailable), { deadlineMs: 2_000 });
    assert.ok(answer.outcome === "unknown" && answer.problem?.outcome === "unavailable");
  }
});

test("resolve is unknown while nobody can say what happened", async () => {
  const world = new FakeWorld(hang, problem(401, "unauthorized"), refusedConnection);
  const answer = await claim(world, { deadlineMs: 1_000 });
  assert.equal(answer.outcome, "unknown");
  if (answer.outcome !== "unknown") return;
  assert.equal(await world.run(answer.resolve()), answer);
  assert.equal(await world.run(answer.resolve({ deadlineMs: 500 })), answer);
  assert.equal((await error(answer.resolve({ deadlineMs: 0 }))).kind, "invalid_argument");
  const signal = AbortSignal.abort(new Error("enough"));
  assert.equal((await error(answer.resolve({ signal }))).message, "enough");
});

test("what was never sent, or only reads, changed nothing", async () => {
  for (const fate of [refusedConnection, unavailable]) {
    const world = new FakeWorld(fate);
    const why = await error(claim(world, { deadlineMs: 2_000 }));
    assert.ok(why instanceof FirstcomeError && why.kind === "unavailable" && why.attempts > 4, String(why));
    assert.match(why.message, /nothing changed/);
  }
  for (const fate of [cut, hang, say(200, "half of {"), problem(503, "unavailable", { changed: "unknown" })]) {
    const world = new FakeWorld(fate);
    const why = await error(world.run(world.client({ deadlineMs: 2_000 }).campaign("spring")));
    assert.equal(why.kind, "unavailable");
    assert.ok(world.now() <= 3_000);
  }
});

test("a wrong certificate is not asked again", async () => {
  const world = new FakeWorld(wrongCertificate);
  assert.match((await error(claim(world))).message, /CERT_HAS_EXPIRED; nothing changed/);
  assert.equal(world.sent.length, 1);
});

test("the server's wish for a pause is obeyed, and not cut short", async () => {
  for (const [fate, pause] of [
    [problem(429, "busy", { retry: true }, { "retry-after": "3" }), 3_000],
    [problem(429, "too_many_requests", { retry: true, retry_after_ms: 700 }, { "retry-after": "3" }), 700],
    [say(503, "<html>a gateway</html>", { "retry-after": "2" }), 2_000],
    // Shorter than its own pause it is not.
    [problem(429, "busy", { retry: true, retry_after_ms: 1 }), 50],
    [problem(408, "timeout", { retry: true }), 50],
    [problem(429, "busy", { retry: true }, { "retry-after": "Wed, 21 Oct 2026 07:28:00 GMT" }), 50],
  ] as const) {
    const world = new FakeWorld(fate, say(201, won));
    await claim(world);
    assert.deepEqual(
      world.sent.map(one => one.at),
      [0, pause],
    );
  }
  const world = new FakeWorld(problem(429, "busy", { retry: true }, { "retry-after": "60" }));
  const why = await error(claim(world));
  assert.deepEqual(
    [why.kind, why.problem.outcome, why.problem.retry_after_ms, world.sent.length, world.now()],
    ["unavailable", "busy", 60_000, 1, 1_000],
  );
});

test("a refusal is a value, never asked again, and says whether an answer was lost before", async () => {
  for (const [status, outcome] of [
    [409, "sold_out"],
    [409, "not_open"],
    [410, "closed"],
    [429, "too_many_holds"],
    [429, "too_many_wrong_codes"],
    [418, "brand_new"],
  ] as const) {
    const world = new FakeWorld(problem(status, outcome, { retry: true }));
    const answer = await claim(world);
    assert.ok(answer.outcome === "refused" && answer.reason === outcome && !answer.afterLostAttempt, outcome);
    assert.equal(answer.problem.detail, "as the test says");
    assert.equal(world.sent.length, 1);
  }
  const answer = await claim(new FakeWorld(cut, problem(409, "sold_out")));
  assert.ok(answer.outcome === "refused" && answer.afterLostAttempt);
});

test("what is turned down is thrown; after a lost answer it is unknown", async () => {
  for (const [status, outcome] of [
    [401, "unauthorized"],
    [403, "forbidden"],
    [401, "token_expired"],
    [409, "stale_position"],
    [400, "invalid_request"],
  ] as const) {
    const world = new FakeWorld(problem(status, outcome));
    const why = await error(claim(world));
    assert.deepEqual([why.kind, why.problem.outcome, why.attempts, world.sent.length], ["rejected", outcome, 1, 1]);
    assert.equal((await claim(new FakeWorld(cut, problem(status, outcome)))).outcome, "unknown");
  }
});

test("what the server says will not change is not asked again", async () => {
  const world = new FakeWorld(problem(503, "napping", { retry: false, changed: "no" }));
  assert.equal((await error(claim(world))).problem.outcome, "napping");
  assert.equal(world.sent.length, 1);
});

test("another program's answer is none, and a redirect is not followed", async () => {
  const opaque: Fate = () => Object.defineProperty(new Response(null), "type", { value: "opaqueredirect" });
  for (const fate of [say(404, "<h1>Not here</h1>"), say(429, "slow down"), say(307, "", { location: "http://else.test/" }), opaque]) {
    const world = new FakeWorld(fate);
    const why = await error(claim(world));
    assert.deepEqual([why.kind, world.sent.length], ["unavailable", 1]);
    assert.doesNotMatch(why.message, /else\.test/);
  }
});

test("a signal ends a call, in an attempt and in a pause", async () => {
  for (const fate of [hang, problem(429, "busy", { retry: true, retry_after_ms: 5_000 })]) {
    const world = new FakeWorld(fate);
    const ending = new AbortController();
    world.after(300, () => ending.abort(new Error("the customer left")));
    assert.equal((await error(claim(world, {}, { signal: ending.signal }))).message, "the customer left");
    assert.deepEqual([world.now(), world.sent.length, world.timers], [1_300, 1, 0]);
    assert.equal(getEventListeners(ending.signal, "abort").length, 0);
  }
  const many = new FakeWorld(unavailable, cut, say(201, won));
  const { signal } = new AbortController();
  await claim(many, {}, { signal });
  assert.equal(getEventListeners(signal, "abort").length, 0, "a signal may live long");
  const world = new FakeWorld();
  assert.equal((await error(claim(world, {}, { signal: AbortSignal.abort(new Error("too soon")) }))).message, "too soon");
  assert.equal(world.sent.length, 0);
});

test("a call has a deadline and a position of its own", async () => {
  const world = new FakeWorld(hang);
  const answer = await claim(world, {}, { deadlineMs: 700, minPosition: "2:0.41" });
  assert.deepEqual([answer.outcome, world.now()], ["unknown", 1_700]);
  assert.equal(world.sent[0]?.url, "http://one.test/v1/campaigns/spring/claims?min_position=2%3A0.41");
});

test("the key is in no error, no value and not in the client", async () => {
  const echo = `they sent Bearer ${KEY}!`;
  const world = new FakeWorld(problem(409, "sold_out", { detail: echo, reason: echo }));
  const seen = [inspect(world.client(), { depth: 9, showHidden: true }), JSON.stringify(world.client()), String(world.client())];
  const show = (value: unknown): number =>
    seen.push(inspect(value, { depth: 9, showHidden: true }), String(value), JSON.stringify(value) ?? "");
  show(await claim(world));
  for (const fate of [
    problem(401, "unauthorized", { detail: echo }),
    refusedConnection,
    say(404, echo),
    problem(503, "unavailable", { retry: true, detail: echo }),
  ]) {
    show(await error(claim(new FakeWorld(fate), { deadlineMs: 100 })));
  }
  const leaky: Fate = () => Promise.reject(new TypeError(`Headers.append: "Bearer ${KEY}" is an invalid header value`));
  for (const fate of [hang, leaky, say(500, echo)]) show(await claim(new FakeWorld(fate), { deadlineMs: 100 }));
  for (const options of [
    { key: `${KEY}\n` },
    { key: KEY, token: KEY },
    { url: `http://ann:${KEY}@one.test` },
    { url: `http://${KEY}:x` },
  ]) {
    show(await error(Promise.resolve().then(() => new Client({ url: "http://one.test", ...options }))));
  }
  assert.equal(
    seen.filter(text => text.includes(KEY)).length,
    0,
    seen.find(text => text.includes(KEY)),
  );
  assert.ok(seen.some(text => text.includes("they sent Bearer (key)!")));
});

test("what cannot be right is refused before anything is sent", async () => {
  const world = new FakeWorld();
  const client = world.client();
  const picks = (pick: object, count = 1) => client.hold("hall", { subject: "ann", picks: Array.from({ length: count }, () => pick) });
  const bad: [string, () => unknown][] = [
    ["url", () => new Client({ url: "one.test:80" })],
    ["url", () => new Client({ url: "ftp://one.test" })],
    ["url", () => new Client({ url: "http://one.test/?a=b" })],
    ["url", () => new Client({ url: [] as never })],
    ["key", () => new Client({ url: "http://one.test", key: "" })],
    ["deadlineMs", () => new Client({ url: "http://one.test", deadlineMs: 0 })],
    ["attemptMs", () => new Client({ url: "http://one.test", attemptMs: NaN })],
    ["deadlineMs", () => client.campaign("spring", { deadlineMs: 1.5 })],
    ["minPosition", () => client.campaign("spring", { minPosition: "latest" })],
    ["campaign", () => client.claim("Spring", { subject: "ann" })],
    ["campaign", () => client.campaign("../spring")],
    ["pool", () => client.claim("spring", { subject: "ann", pool: "" })],
    ["subject", () => client.claim("spring", {})],
    ["subject", () => client.claim("spring", { subject: "" })],
    ["subject", () => client.claim("spring", { subject: 7 as never })],
    ["subject", () => client.claim("spring", { subject: "é".repeat(128) })],
    ["subject", () => client.claim("spring", { subject: "ann\u0085" })],
    ["subject", () => client.claim("spring", { subject: "ann\ud800" })],
    // `fetch` takes `..` for a step in the path: this would be a DELETE of the campaign.
    ["subject", () => client.cancel("spring", { subject: "..", rank: 1 })],
    ["subject", () => client.leave("spring", { subject: "." })],
    ["subject", () => client.claims("spring", { subject: ".." })],
    ["rank", () => client.cancel("spring", { subject: "ann", rank: 0 })],
    ["quantity", () => client.join("spring", { subject: "ann", quantity: 11 })],
    ["id", () => client.hold("hall", { subject: "ann", picks: [{ quantity: 1 }], id: "x".repeat(65) })],
    ["hold", () => client.holdById("hall", { subject: "ann", hold: ".." })],
    ["wait_ms", () => client.hold("hall", { subject: "ann", picks: [{ quantity: 1 }], wait_ms: -1 })],
    ["picks", () => client.hold("hall", { subject: "ann", picks: [] })],
    ["picks", () => picks({})],
    ["picks", () => picks({ units: ["A1"], quantity: 1 })],
    ["picks", () => picks({ quantity: 1 }, 65)],
    ["picks", () => picks({ best: 1 }, 5)],
    ["picks", () => picks({ units: Array.from({ length: 300 }, (_, seat) => `A${seat}`) }, 2)],
    ["units", () => picks({ units: [] })],
    ["unit", () => picks({ units: [""] })],
    ["quantity", () => picks({ quantity: 501 })],
    ["best", () => picks({ best: 101 })],
    ["add", () => client.holdById("hall", { subject: "ann", hold: "h1" }).add({})],
    ["confirm", () => client.holdById("hall", { subject: "ann", hold: "h1" }).confirm({ picks: [{ best: 1 }] })],
    ["ttl_ms", () => client.holdById("hall", { subject: "ann", hold: "h1" }).extend({ ttl_ms: 86_400_001 })],
    ["reference", () => client.redeemCode("coupons", { code: "X", reference: "" })],
    ["code", () => client.redeemCode("coupons", { code: "", reference: "order-1" })],
    ["for", () => client.redeemCode("coupons", { code: "X", reference: "order-1", for: "" })],
    ["ttl_ms", () => client.reserveCode("coupons", { code: "X", reference: "order-1", ttl_ms: 999 })],
    ["name either", () => client.lookUpCodes("coupons", {})],
    ["after", () => client.results("spring", { after: -1 }).next()],
    ["limit", () => client.winners("spring", { limit: 10_001 }).next()],
    ["after", () => client.events("spring", { after: "0.1\r\nx: y" }).next()],
    ["expires_in_s", () => client.mintToken({ subject: "ann", campaign: "spring-*", expires_in_s: 0 })],
  ];
  for (const [what, call] of bad) {
    let isThrown = false;
    const why = await error(
      Promise.resolve().then(() => {
        try {
          return call();
        } catch (thrown) {
          isThrown = true;
          throw thrown;
        }
      }),
    );
    // What returns a promise never throws.
    assert.equal(
      isThrown,
      /new Client|\.(claims|events|holdById)\("hall", \{[^}]*"\.\."|\.claims\(|\.events\(/.test(String(call)),
      String(call),
    );
    assert.ok(why instanceof FirstcomeError && why.kind === "invalid_argument" && why.message.startsWith(what), `${call}: ${why}`);
  }
  assert.equal(world.sent.length, 0);
});

test("with a token the subject may be left out of a body", async () => {
  const world = new FakeWorld(say(201, won));
  const client = world.client({ key: undefined, token: "a.b.c" });
  await world.run(client.claim("spring", {}));
  assert.deepEqual([world.sent[0]?.body, world.sent[0]?.headers["authorization"]], [{}, "Bearer a.b.c"]);
});
