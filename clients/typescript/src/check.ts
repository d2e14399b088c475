// Arguments that cannot be right are refused before anything is sent. The server's own rules are the same or stricter.

import { FirstcomeError } from "./answer.js";
import type { UnitPick } from "./documents.js";

const UNITS = 500;

export function bad(message: string): never {
  throw new FirstcomeError("invalid_argument", message);
}

/** Accepts text of 1 to so many bytes of UTF-8 without control characters. What it is stays out of the message. */
export function text(what: string, value: unknown, most: number): string {
  if (typeof value !== "string") bad(`${what}: a string of 1 to ${most} bytes is needed`);
  if (/\p{Surrogate}/u.test(value)) bad(`${what}: has half of a surrogate pair, which is no text`);
  if (/\p{Cc}/u.test(value)) bad(`${what}: has a control character, which is not allowed there`);
  const bytes = new TextEncoder().encode(value).length;
  return bytes >= 1 && bytes <= most ? value : bad(`${what}: has ${bytes} bytes, 1 to ${most} are allowed`);
}

/** Accepts text that becomes a part of a path. `.` and `..` would be taken for steps in it. */
export function segment(what: string, value: unknown, most: number): string {
  const part = text(what, value, most);
  return part === "." || part === ".." ? bad(`${what}: ${part} cannot be a part of a URL`) : encodeURIComponent(part);
}

/** Accepts the name of a campaign or a pool. */
export function name(what: string, value: unknown): string {
  if (typeof value === "string" && /^[a-z0-9][a-z0-9_-]{0,63}$/.test(value)) return value;
  return bad(`${what}: a name has 1 to 64 of a-z, 0-9, _ and -, and begins with a letter or a digit`);
}

/** Accepts a whole number of a range. */
export function whole(what: string, value: unknown, least: number, most: number): number {
  if (typeof value === "number" && Number.isSafeInteger(value) && value >= least && value <= most) return value;
  return bad(`${what}: a whole number from ${least} to ${most} is needed`);
}

/** Runs a check where there is a value. */
export function optional<T>(value: unknown, check: (value: unknown) => T): T | undefined {
  return value === undefined || value === null ? undefined : check(value);
}

/** Accepts 1 to 64 picks: at most 4 of the best seats, and 500 names in all. */
export function picks(list: unknown): void {
  if (!Array.isArray(list) || list.length < 1 || list.length > 64) bad("picks: 1 to 64 are needed");
  const all = list as (UnitPick | undefined)[];
  for (const pick of all) {
    const wanted = [pick?.units, pick?.quantity, pick?.best].filter(one => one !== undefined);
    if (wanted.length !== 1) bad("picks: each has units, or a quantity with or without an area, or best");
    optional(pick?.pool, pool => name("pool", pool));
    optional(pick?.quantity, quantity => whole("quantity", quantity, 1, UNITS));
    optional(pick?.best, best => whole("best", best, 1, 100));
    optional(pick?.units, units);
  }
  if (all.filter(pick => pick?.best !== undefined).length > 4) bad("picks: at most 4 may ask for the best seats");
  const names = all.reduce((sum, pick) => sum + (pick?.units?.length ?? 0), 0);
  if (names > UNITS) bad(`picks: name ${names} units, at most ${UNITS} in all`);
}

/** Accepts 1 to 500 names of units. */
export function units(list: unknown): void {
  if (!Array.isArray(list) || list.length < 1 || list.length > UNITS) bad(`units: 1 to ${UNITS} names are needed`);
  list.forEach(unit => text("unit", unit, 64));
}
