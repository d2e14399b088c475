import assert from "node:assert/strict";
import { test } from "node:test";
import type { HeldHold, HoldRequest } from "../../src/index.js";
import { cut, error, FakeWorld, hang, problem, say, type Fate } from "../world.js";

const units = [{ pool: "main", quantity: 2 }];
const common = { hold: "h1", campaign: "hall", subject: "ann", units, position: "0.7", decided: "journal" };
const held = say(201, { ...common, outcome: "held", expires_at: "2027-03-01T01:00:00.000000Z" });
const alreadyHeld = say(200, { ...common, hold: "h0", outcome: "already_held", expires_at: "2027-03-01T01:00:00.000000Z" });
const confirmed = (left = 0): Fate => say(200, { ...common, outcome: "confirmed", at: "2027-03-01T00:59:00.000000Z", left });
const released = say(200, { ...common, outcome: "released", left: 0 });
const take: HoldRequest = { id: "h1", subject: "ann", picks: [{ quantity: 2 }] };
const steps = (world: FakeWorld): string[] => world.sent.map(one => one.url.slice("http://one.test/v1/campaigns/hall/".length));

test("a hold has one id for each call, and its steps one key where they count", async () => {
  const world = new FakeWorld(
    cut,
    held,
    held,
    cut,
    say(200, { ...common, outcome: "extended", expires_at: "2027-03-01T01:00:00.000000Z" }),
    held,
  );
  const client = world.client();
  for (const _ of [1, 2]) await world.run(client.hold("hall", { subject: "ann", picks: [{ units: ["A1"] }] }));
  const ids = world.sent.map(one => (one.body as HoldRequest).id ?? "");
  assert.ok(ids[0] === ids[1] && ids[1] !== ids[2] && /^hold-[0-9a-f]{32}$/.test(ids[0] ?? ""), ids.join());
  const hold = client.holdById("hall", { subject: "ann", hold: "h1" });
  await world.run(hold.extend());
  await world.run(hold.add({ units: ["A2"], pool: "main" }));
  await world.run(hold.add({ picks: [{ quantity: 1 }] }));
  const keys = world.sent.slice(3).map(one => one.headers["idempotency-key"]);
  assert.ok(keys[0] && keys[0] === keys[1] && keys[2] === undefined && keys[3] && keys[3] !== keys[0], keys.join());
  assert.deepEqual(world.sent[5]?.body, { units: ["A2"], pool: "main", subject: "ann" });
});

test("a hold that waits has more time for its attempt", async () => {
  const world = new FakeWorld(hang, held);
  await world.run(world.client({ attemptMs: 1_000 }).hold("hall", { ...take, wait_ms: 3_000 }));
  assert.deepEqual(
    world.sent.map(one => one.at),
    [0, 4_050],
  );
});

test("the end of a block releases what is held", async () => {
  const world = new FakeWorld(held, released);
  const block = async () => {
    await using hold = await world.client().hold("hall", take);
    assert.equal(hold.outcome, "held");
    throw new Error("the card was declined");
  };
  assert.equal((await error(world.run(block()))).message, "the card was declined");
  assert.deepEqual(steps(world), ["holds", "holds/h1/release"]);
});

test("the end of a block keeps what was confirmed or released, and may have been confirmed", async () => {
  for (const [step, fate, wanted] of [
    ["confirm", confirmed(), ["holds", "holds/h1/confirm"]],
    ["confirm", confirmed(1), ["holds", "holds/h1/confirm", "holds/h1/release"]],
    ["confirm", problem(403, "barred"), ["holds", "holds/h1/confirm", "holds/h1/release"]],
    ["confirm", problem(401, "unauthorized"), ["holds", "holds/h1/confirm", "holds/h1/release"]],
    ["confirm", hang, ["holds", "holds/h1/confirm"]],
    ["release", released, ["holds", "holds/h1/release"]],
  ] as const) {
    const world = new FakeWorld(held, fate, released);
    const block = async () => {
      await using hold = await world.client({ attemptMs: 1_000 }).hold("hall", take);
      if (hold.outcome !== "held") throw new Error("it is held");
      await hold[step]({}, { deadlineMs: 900 }).catch(() => undefined);
    };
    await world.run(block());
    assert.deepEqual(steps(world), wanted);
  }
});

test("a confirm that was given up may have happened, and is not released", async () => {
  const world = new FakeWorld(held, hang);
  const ending = new AbortController();
  world.after(200, () => ending.abort(new Error("enough")));
  const block = async () => {
    await using hold = await world.client().hold("hall", take);
    if (hold.outcome === "held") await hold.confirm({}, { signal: ending.signal });
  };
  assert.equal((await error(world.run(block()))).message, "enough");
  assert.deepEqual(steps(world), ["holds", "holds/h1/confirm"]);
});

test("a block leaves alone what it does not hold", async () => {
  for (const [fate, outcome] of [
    [alreadyHeld, "already_held"],
    [problem(409, "sold_out"), "refused"],
    [confirmed(), "confirmed"],
    [hang, "unknown"],
  ] as const) {
    const world = new FakeWorld(fate);
    const block = async () => {
      await using hold = await world.client({ deadlineMs: 800 }).hold("hall", take);
      assert.equal(hold.outcome, outcome);
    };
    await world.run(block());
    assert.deepEqual(steps(world), ["holds"]);
  }
});

test("a release that fails does not fail the block", async () => {
  const world = new FakeWorld(held, problem(401, "unauthorized"));
  const block = async () => {
    await using hold = await world.client().hold("hall", take);
    return hold.outcome;
  };
  assert.equal(await world.run(block()), "held");
  assert.equal(world.sent.length, 2);
});

test("an unknown hold that is resolved can be used", async () => {
  const world = new FakeWorld(hang, held, released);
  const hold = await world.run(world.client({ deadlineMs: 800 }).hold("hall", take));
  assert.equal(hold.outcome, "unknown");
  if (hold.outcome !== "unknown") return;
  const found = await world.run(hold.resolve());
  assert.equal(found.outcome, "held");
  await world.run(Promise.resolve(found[Symbol.asyncDispose]()));
  assert.deepEqual(steps(world), ["holds", "holds", "holds/h1/release"]);
});

test("withHold releases what its block did not confirm", async () => {
  for (const [block, wanted] of [
    [async () => "not paid", ["holds", "holds/h1/release"]],
    [() => Promise.reject(new Error("declined")), ["holds", "holds/h1/release"]],
    [
      async hold => {
        assert.equal((await hold.confirm()).outcome, "confirmed");
        return "paid";
      },
      ["holds", "holds/h1/confirm"],
    ],
  ] as [(hold: HeldHold) => Promise<string>, string[]][]) {
    const world = new FakeWorld(held, wanted.includes("holds/h1/confirm") ? confirmed() : released);
    const answer = await world.run(
      world
        .client()
        .withHold("hall", take, block)
        .catch((why: Error) => why.message),
    );
    assert.ok(
      answer === "declined" || (typeof answer === "object" && answer.outcome === "ran" && ["paid", "not paid"].includes(answer.value)),
    );
    assert.deepEqual(steps(world), wanted);
  }
});

test("withHold runs no block without a hold", async () => {
  for (const [fate, outcome] of [
    [problem(409, "sold_out"), "refused"],
    [hang, "unknown"],
    [confirmed(), "confirmed"],
  ] as const) {
    const world = new FakeWorld(fate);
    const answer = await world.run(world.client({ deadlineMs: 800 }).withHold("hall", take, () => assert.fail("it has no hold")));
    assert.ok(answer.outcome === outcome && world.sent.length === 1);
  }
});
