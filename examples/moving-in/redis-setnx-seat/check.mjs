// Runs before.mjs and after.mjs, and shows what the old one gets wrong.
import { setTimeout as sleep } from "node:timers/promises";
import { Client } from "firstcome-client";
import { Redis } from "ioredis";
import * as after from "./after.mjs";
import * as before from "./before.mjs";

const redis = new Redis(process.env.REDIS_URL);
const firstcome = new Client({ url: process.env.FIRSTCOME_URL, key: process.env.FIRSTCOME_KEY });

function right(what, holds) {
  console.log(`${holds ? "ok   " : "WRONG"} redis-setnx-seat: ${what}`);
  if (!holds) process.exit(1);
}

/** Three customers for each of 100 seats; those who get one pay. Some ask twice. */
async function crowd(name, program) {
  const customers = Array.from({ length: 300 }, (_, n) => ({ who: `customer-${n}`, seat: `S${(n % 100) + 1}` }));
  const ask = () => Promise.all(customers.map(({ who, seat }) => program.hold("hall", seat, who)));
  const baskets = await ask();
  const seats = new Set(customers.filter((_, n) => baskets[n]).map(({ seat }) => seat));
  right(`${name}: 300 customers, each of 100 seats is held once`, baskets.filter(Boolean).length === 100 && seats.size === 100);
  const same = basket => JSON.stringify(basket);
  right(`${name}: who asks again gets the same answer`, (await ask()).every((basket, n) => same(basket) === same(baskets[n])));
  const [back, ...paid] = baskets.filter(Boolean);
  await program.release(back);
  const late = await program.hold("hall", customers[baskets.indexOf(back)].seat, "somebody else");
  right(`${name}: a released seat goes to somebody else`, late !== null);
  right(`${name}: all 100 are paid`, (await Promise.all([...paid, late].map(program.confirm))).every(Boolean));
  right(`${name}: a sold seat is not held again`, (await program.hold("hall", "S1", "too late")) === null);
}

/** Ann holds a seat for so long that the hold ends, and ben gets the seat; then her browser releases "her" seat. */
async function lateRelease(program, seat, endHold, benPays) {
  const ann = await program.hold("short", seat, "ann");
  await endHold(seat);
  let ben = null;
  for (let tries = 0; !ben && tries < 200; tries++) {
    ben = await program.hold("short", seat, "ben");
    if (!ben) await sleep(50);
  }
  if (benPays && !(await program.confirm(ben))) throw new Error("ben cannot pay");
  await program.release(ann);
  const cem = await program.hold("short", seat, "cem");
  return { cem: cem !== null && (await program.confirm(cem)), ben: await program.confirm(ben) };
}

await crowd("before", before);
await crowd("after", after);
const ranks = [];
for await (const { rank } of firstcome.winners("hall")) ranks.push(rank);
right("after: the sold seats have the ranks 1 to 100", ranks.length === 100 && ranks.every((rank, n) => rank === n + 1));

const endNow = seat => redis.pexpire(`short:${seat}`, 1); // Redis ends it as it does after 300 s.
const wait = () => undefined; // The campaign has holds of three seconds.
let old = await lateRelease(before, "S1", endNow, false);
right("before: a late release ends the hold of somebody else, who cannot pay any more", old.cem && !old.ben);
let now = await lateRelease(after, "S1", wait, false);
right("after: a late release does nothing, the seat stays with its holder", !now.cem && now.ben);
old = await lateRelease(before, "S2", endNow, true);
right("before: a late release of a seat that is sold meanwhile sells it twice", old.cem);
now = await lateRelease(after, "S2", wait, true);
right("after: it stays sold, once", !now.cem && now.ben);
await Promise.all([before.close(), redis.quit()]);
