// The element with the seats, where there is no browser.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { test } from "node:test";

test("the export can be loaded without a browser, and brings its texts", async () => {
  const { FirstcomeSeats, words } = await import("firstcome-client/seats");
  assert.equal(typeof FirstcomeSeats, "function");
  assert.deepEqual(Object.keys(words), ["en", "ko"]);
  assert.deepEqual(Object.keys(words.ko), Object.keys(words.en));
  assert.deepEqual(Object.keys(words.ko.refused), Object.keys(words.en.refused));
});

test("the token is no attribute, and bundlers keep the module for what it does", async () => {
  const { FirstcomeSeats } = await import("firstcome-client/seats");
  const { observedAttributes } = FirstcomeSeats as unknown as { observedAttributes: string[] };
  assert.deepEqual(observedAttributes, ["server", "campaign", "pool", "lang", "theme"]);
  const token = Object.getOwnPropertyDescriptor(FirstcomeSeats.prototype, "token");
  assert.deepEqual([typeof token?.set, token?.get], ["function", undefined]);
  const { sideEffects } = JSON.parse(readFileSync(new URL("../../../package.json", import.meta.url), "utf8")) as { sideEffects: string[] };
  assert.deepEqual(sideEffects, ["./dist/seats.js"]);
});
