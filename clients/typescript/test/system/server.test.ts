// What the list of behaviours does not have, against the real server: seats, offers, codes, lists, and the events of a subject.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { Client, FirstcomeError, type CampaignEvent } from "../../src/index.js";
import { ask, startServer, type Program } from "../programs.js";
import { error } from "../world.js";

const ADMIN = "conformance-admin-key";
let server: Program;
let client: Client;

before(async () => {
  server = await startServer("", { FIRSTCOME_TOKEN_SECRET: "a-secret-of-the-tests-with-32-characters" });
  client = new Client({ url: server.url, key: ADMIN });
});
after(() => server?.stop());

const create = (name: string, ...pools: object[]): Promise<any> =>
  ask(server.url, "PUT", `/v1/campaigns/${name}`, { opens_at: "now", pools }, ADMIN);

async function all<T>(list: AsyncIterable<T>): Promise<T[]> {
  const items: T[] = [];
  for await (const item of list) items.push(item);
  return items;
}

test("seats are held, added, dropped, extended and confirmed, and the map and its events say so", async () => {
  await create("hall", { name: "main", kind: "seated" });
  const row = ["A1", "A2", "A3", "A4", "A5", "A6"].map((name, index) => ({
    name,
    section: "stalls",
    row: "A",
    number: String(index + 1),
    grade: "R",
    price_minor: 90_000,
    currency: "KRW",
  }));
  await ask(server.url, "POST", "/v1/campaigns/hall/pools/main/seats", row, ADMIN);
  const map = await client.seats("hall", { pool: "main" });
  assert.ok(map.outcome === "found" && map.standing === "......" && map.rows?.[0]?.grade === "R", JSON.stringify(map));

  const ending = new AbortController();
  const events: CampaignEvent[] = [];
  const following = (async () => {
    for await (const event of client.events("hall", { after: map.position }, { signal: ending.signal })) {
      events.push(event);
      if (event.event === "standing" && event.data.pools.some(pool => pool.seats?.["c"])) return;
    }
  })();

  const hold = await client.hold("hall", { subject: "ann", picks: [{ units: ["A1", "A2"] }] });
  assert.ok(hold.outcome === "held", hold.outcome);
  assert.deepEqual(
    hold.units.map(unit => [unit.unit, unit.price_minor]),
    [
      ["A1", 90_000],
      ["A2", 90_000],
    ],
  );
  const added = await hold.add({ picks: [{ best: 2 }] });
  assert.ok(added.outcome === "held" && added.units.length === 4, JSON.stringify(added));
  const dropped = await hold.drop({ units: ["A2"] });
  assert.ok(dropped.outcome === "held" && dropped.units.length === 3, JSON.stringify(dropped));
  const other = await client.hold("hall", { subject: "bob", picks: [{ units: ["A1"] }], wait_ms: 50 });
  assert.ok(other.outcome === "refused" && other.reason === "unit_taken" && other.problem.units?.[0]?.unit === "A1");
  assert.equal((await hold.extend({ ttl_ms: 600_000 })).outcome, "extended");
  const confirmed = await hold.confirm({ units: ["A1"] });
  assert.ok(confirmed.outcome === "confirmed" && confirmed.units[0]?.rank === 1 && confirmed.left === 2, JSON.stringify(confirmed));
  await hold[Symbol.asyncDispose]();
  const look = await client.holdById("hall", { subject: "ann", hold: hold.hold }).look();
  assert.ok(look.outcome === "found" && look.held === 0);

  await Promise.race([following, new Promise((_, fail) => setTimeout(fail, 20_000, new Error("no event")).unref())]).finally(() =>
    ending.abort(),
  );
  assert.ok(
    events.every(event => event.event === "standing" && /^\d+\.\d+$/.test(event.id ?? "")),
    JSON.stringify(events),
  );
  assert.deepEqual(
    (await all(client.claims("hall", { subject: "ann" }))).map(claim => [claim.unit, claim.rank, claim.hold]),
    [["A1", 1, hold.hold]],
  );
  assert.deepEqual(
    (await all(client.winners("hall", { limit: 1 }))).map(winner => [winner.subject, winner.unit]),
    [["ann", "A1"]],
  );
});

test("an offer of a waitlist is confirmed by its id", async () => {
  await create("queue", { name: "main", kind: "counted", capacity: 2 });
  for (const subject of ["ann", "bob"]) assert.equal((await client.claim("queue", { subject })).outcome, "won");
  const joined = await client.join("queue", { subject: "cyd", quantity: 2 });
  assert.ok(joined.outcome === "waitlisted" && joined.ahead === 0 && joined.quantity === 2);
  for (const subject of ["ann", "bob"])
    assert.equal((await client.cancel("queue", { subject, rank: subject === "ann" ? 1 : 2 })).outcome, "cancelled");
  const place = await client.place("queue", { subject: "cyd" });
  assert.ok(place.outcome === "found" && place.state === "offered" && place.hold, JSON.stringify(place));
  const again = await client.join("queue", { subject: "cyd" });
  assert.ok(again.outcome === "offered" && again.hold === place.hold);
  const offer = client.holdById("queue", { subject: "cyd", hold: again.hold });
  const refused = await offer.add({ picks: [{ quantity: 1 }] });
  assert.ok(refused.outcome === "refused" && refused.reason === "is_offer");
  const confirmed = await offer.confirm();
  assert.ok(confirmed.outcome === "confirmed" && confirmed.left === 0);
  const none = await client.place("queue", { subject: "cyd" });
  assert.ok(none.outcome === "refused" && none.reason === "not_on_waitlist");
  assert.deepEqual(
    (await all(client.results("queue", { after: 0, limit: 2 }))).map(result => result.kind),
    ["claim", "claim", "cancel", "cancel", "claim", "claim"],
  );
});

test("a code is looked up, released, and listed with the winners", async () => {
  await create("coupons", { name: "main", kind: "coded", capacity: 5, codes: { uses: 1 } });
  const won = await client.claim("coupons", { subject: "ann" });
  assert.ok(won.outcome === "won" && won.code);
  const use = { code: won.code.toLowerCase(), reference: "order-1" };
  assert.equal((await client.reserveCode("coupons", { ...use, ttl_ms: 60_000 })).outcome, "reserved");
  assert.equal((await client.releaseCode("coupons", use)).outcome, "reservation_ended");
  const found = await client.lookUpCodes("coupons", { subject: "ann" });
  assert.ok(found.outcome === "found" && found.codes[0]?.code === won.code && found.codes[0].references[0]?.state === "released");
  const wrong = await client.redeemCode("coupons", { ...use, code: won.code.replace(/.$/, end => (end === "0" ? "1" : "0")) });
  assert.ok(wrong.outcome === "refused" && ["malformed", "no_such_code"].includes(wrong.reason), JSON.stringify(wrong));
  assert.deepEqual(
    (await all(client.winners("coupons", { with_codes: true }))).map(winner => winner.code),
    [won.code],
  );
});

test("a subject follows what it has, until its token expires", async () => {
  await create("drop", { name: "main", kind: "counted", capacity: 5 });
  const minted = await client.mintToken({ subject: "ann", campaign: "drop", expires_in_s: 3 });
  assert.ok(minted.outcome === "minted" && minted.subject === "ann");
  const ann = new Client({ url: server.url, token: minted.token });
  const events: CampaignEvent[] = [];
  for await (const event of ann.events("drop")) {
    events.push(event);
    if (event.event === "own" && event.data.whole) assert.equal((await ann.claim("drop", {})).outcome, "won");
  }
  const own = events.flatMap(event => (event.event === "own" ? event.data.claims.map(claim => claim.rank) : []));
  assert.deepEqual(own, [1]);
  assert.deepEqual(events.at(-1), { event: "end", data: { outcome: "token_expired" }, id: events.at(-1)?.id });
  const expired = await error(ann.campaign("drop"));
  assert.ok(
    expired instanceof FirstcomeError && expired.kind === "rejected" && expired.problem?.outcome === "token_expired",
    String(expired),
  );
});

test("what is not there is a reason for a read, and an error for a list", async () => {
  const none = await client.campaign("nowhere");
  assert.ok(none.outcome === "refused" && none.reason === "not_found");
  assert.equal((await error(all(client.results("nowhere")))).problem.outcome, "not_found");
  assert.equal((await error(all(client.events("nowhere")))).problem.outcome, "not_found");
  assert.deepEqual(await all(client.claims("queue", { subject: "nobody" })), []);
});
