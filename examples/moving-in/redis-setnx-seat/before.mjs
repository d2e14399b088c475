// Seats that are held with SET … NX EX in Redis. A key with an end is a hold, a key without one is a sold seat.
import { Redis } from "ioredis";

const redis = new Redis(process.env.REDIS_URL);
const HOLD_SECONDS = 300;

/** Gives a basket, or null if somebody else has the seat. */
export async function hold(show, seat, customer) {
  const key = `${show}:${seat}`;
  const done = await redis.set(key, customer, "EX", HOLD_SECONDS, "NX");
  if (done !== "OK" && (await redis.get(key)) !== customer) return null;
  return { key, customer };
}

/** After the payment. Gives false if it comes too late: the money goes back. */
export async function confirm({ key, customer }) {
  if ((await redis.get(key)) !== customer) return false;
  await redis.persist(key);
  return true;
}

/** The customer closed the page, or the payment failed. */
export async function release({ key }) {
  await redis.del(key);
}

export const close = () => redis.quit();
