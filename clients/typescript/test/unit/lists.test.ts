import assert from "node:assert/strict";
import { test } from "node:test";
import { parse } from "../../src/events.js";
import { cut, error, FakeWorld, hang, problem, say, wrongCertificate, type Fate } from "../world.js";

async function all<T>(list: AsyncIterable<T>, most = Infinity): Promise<T[]> {
  const items: T[] = [];
  for await (const item of list) if (items.push(item) >= most) break;
  return items;
}

const page = (numbers: number[], next: number | null): Fate =>
  say(200, { results: numbers.map(number => ({ number })), next, last: 9, position: "0.9", durable: true });

test("results are read page by page to the end, across empty and failing pages", async () => {
  const world = new FakeWorld(page([1, 2], 2), cut, page([], 5), page([7], null));
  const numbers = await world.run(all(world.client().results("spring", { limit: 2 })));
  assert.deepEqual(
    numbers.map(one => one.number),
    [1, 2, 7],
  );
  assert.deepEqual(
    world.sent.map(one => new URL(one.url).search),
    ["?after=0&limit=2", "?after=2&limit=2", "?after=2&limit=2", "?after=5&limit=2"],
  );
  assert.equal(
    (await error(world.run(all(new FakeWorld(problem(410, "archived")).client().results("spring"))))).problem.outcome,
    "archived",
  );
});

test("a list fetches no page that is not wanted", async () => {
  const world = new FakeWorld(page([1, 2], 2), page([3], null));
  assert.equal((await world.run(all(world.client().results("spring"), 2))).length, 2);
  assert.equal(world.sent.length, 1);
});

test("winners and claims", async () => {
  const world = new FakeWorld(say(200, { winners: [{ rank: 4 }], next: null }));
  assert.deepEqual(await world.run(all(world.client().winners("spring", { after: 3, pool: "main", with_codes: true }))), [{ rank: 4 }]);
  assert.equal(world.sent[0]?.url, "http://one.test/v1/campaigns/spring/winners?pool=main&with_codes=true&after=3&limit=1000");
  const claims = new FakeWorld(
    say(200, { claims: [{ rank: 2 }], next: 7 }),
    say(200, { claims: [{ rank: 1 }], next: 9 }),
    say(200, { claims: [{ rank: 5 }] }),
  );
  const found = await claims.run(all(claims.client().claims("spring", { subject: "a/b ü" })));
  assert.deepEqual(
    found.map(claim => claim.rank),
    [2, 1, 5],
  );
  assert.equal(claims.sent[1]?.url, "http://one.test/v1/campaigns/spring/claims/a%2Fb%20%C3%BC?after=7&limit=1000");
});

const stream =
  (text: string, hangs = false): Fate =>
  signal => {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode(text));
        if (!hangs) return controller.close();
        signal.addEventListener("abort", () => controller.error(signal.reason));
      },
    });
    return new Response(body, { headers: { "content-type": "text/event-stream" } });
  };
const standing = (place: number): string => `id: 0.${place}\nevent: standing\ndata: {"position":"0.${place}","pools":[]}\n\n`;

test("a stream is read as the standard says, wherever its bytes are split", async () => {
  const text =
    '\ufeff: a comment\r\n\r\nevent: standing\r\nid: 0.1\r\ndata: {"a":\r\ndata:  "é"}\r\n\r\nretry: 250\rid\r\rdata\n\nid: no\0t\nretry: 1s\nunknown: x\ndata:x\n\ndata: half';
  const bytes = new TextEncoder().encode(text);
  const wanted = [
    { event: "message" },
    { event: "standing", id: "0.1", data: '{"a":\n "é"}' },
    { event: "message", retry: 250, id: "" },
    { event: "message", data: "" },
    { event: "message", data: "x" },
  ];
  for (let at = 0; at <= bytes.length; at += 1) {
    const body = new ReadableStream<Uint8Array>({
      start(controller) {
        for (const part of [bytes.slice(0, at), bytes.slice(at)]) if (part.length > 0) controller.enqueue(part);
        controller.close();
      },
    });
    assert.deepEqual(await all(parse(body, () => undefined)), wanted, `split at ${at}`);
  }
});

test("a stream goes on behind the last event, after the pause the server asks for or a growing one", async () => {
  const world = new FakeWorld(
    stream(
      `${standing(1)}event: own\ndata: {"whole":true}\n\nevent: new_kind\nid: 0.2\ndata: ?\n\nretry: 3000\n\nid: 0.3\nevent: standing\ndata: {"posi`,
    ),
    cut,
    problem(429, "too_many_streams", { retry: true }, { "retry-after": "20" }),
    say(502, "<html>"),
    stream(standing(4)),
    stream('event: end\ndata: {"outcome":"token_expired"}\n\n'),
  );
  const events = await world.run(all(world.client().events("hall", { after: "0.0" })));
  assert.deepEqual(
    events.map(event => [event.event, event.id]),
    [
      ["standing", "0.1"],
      ["own", "0.1"],
      ["standing", "0.4"],
      ["end", "0.4"],
    ],
  );
  assert.deepEqual(
    world.sent.map(one => one.headers["last-event-id"]),
    [undefined, "0.2", "0.2", "0.2", "0.2", "0.4"],
  );
  assert.ok(
    world.sent.every(
      one => one.url === "http://one.test/v1/campaigns/hall/events?after=0.0" && one.headers["accept"] === "text/event-stream",
    ),
  );
  assert.deepEqual(
    world.sent.map(one => one.at),
    [0, 3_000, 9_000, 29_000, 53_000, 56_000],
  );
  assert.equal(world.timers, 0);
});

test("a stream that is silent, or never begins, is opened again", async () => {
  const world = new FakeWorld(hang, stream(standing(1), true), stream(standing(2), true));
  const events = await world.run(all(world.client().events("hall"), 2));
  assert.deepEqual(
    events.map(event => event.id),
    ["0.1", "0.2"],
  );
  assert.deepEqual(
    world.sent.map(one => one.at),
    [0, 7_000, 53_000],
  );
});

test("a stream ends where asking again is of no use, and with its signal", async () => {
  for (const [fate, kind] of [
    [problem(401, "unauthorized"), "rejected"],
    [problem(404, "not_found"), "rejected"],
    [say(404, "<h1>Not here</h1>"), "unavailable"],
    [say(200, { no: "stream" }), "unavailable"],
    [say(307, "", { location: "http://else.test/" }), "unavailable"],
    [wrongCertificate, "unavailable"],
  ] as const) {
    const world = new FakeWorld(fate);
    assert.equal((await error(world.run(all(world.client().events("hall"))))).kind, kind);
    assert.equal(world.sent.length, 1);
  }
  for (const fate of [hang, cut, stream(standing(1), true)]) {
    const world = new FakeWorld(fate);
    const ending = new AbortController();
    world.after(400, () => ending.abort(new Error("enough")));
    assert.equal((await error(world.run(all(world.client().events("hall", {}, { signal: ending.signal }))))).message, "enough");
    assert.deepEqual([world.now(), world.timers], [1_400, 0]);
  }
});

test("a loop that is left closes its stream", async () => {
  let cancelled = false;
  const body = new ReadableStream<Uint8Array>({
    start: controller => controller.enqueue(new TextEncoder().encode(standing(1))),
    cancel() {
      cancelled = true;
    },
  });
  const world = new FakeWorld(() => new Response(body, { headers: { "content-type": "text/event-stream" } }));
  await world.run(all(world.client().events("hall"), 1));
  assert.deepEqual([cancelled, world.timers], [true, 0]);
});
