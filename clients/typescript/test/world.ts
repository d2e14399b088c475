// A world with a clock that tests move, and servers that do what a script says.

import assert from "node:assert/strict";
import { setImmediate } from "node:timers/promises";
import type { World } from "../src/call.js";
import { Client, type ClientOptions } from "../src/client.js";

export const KEY = "the-key-of-the-tests";

export interface Sent {
  at: number;
  method: string;
  url: string;
  headers: Record<string, string>;
  body: unknown;
}

/** What a server does with a request: answers, fails, or never answers. */
export type Fate = (signal: AbortSignal) => Promise<Response> | Response;

export const say =
  (status: number, document: unknown, headers: Record<string, string> = {}): Fate =>
  () =>
    new Response(typeof document === "string" ? document : JSON.stringify(document), { status, headers });

export const problem = (status: number, outcome: string, more: object = {}, headers: Record<string, string> = {}): Fate =>
  say(
    status,
    { type: `/problems/${outcome}`, title: "", status, detail: "as the test says", outcome, retry: false, changed: "no", ...more },
    headers,
  );

/** As `fetch` of Node fails. */
const failed =
  (code: string): Fate =>
  () =>
    Promise.reject(Object.assign(new TypeError("fetch failed"), { cause: Object.assign(new Error(code), { code }) }));
export const cut = failed("UND_ERR_SOCKET");
export const refusedConnection = failed("ECONNREFUSED");
export const wrongCertificate = failed("CERT_HAS_EXPIRED");
export const hang: Fate = signal =>
  new Promise((_, fail) => {
    if (signal.aborted) fail(signal.reason);
    signal.addEventListener("abort", () => fail(signal.reason));
  });

export const won = {
  outcome: "won",
  campaign: "spring",
  pool: "main",
  subject: "ann",
  rank: 17,
  at: "2027-03-01T01:00:00.000000Z",
  position: "0.7",
  decided: "journal",
};

export class FakeWorld implements World {
  readonly sent: Sent[] = [];
  random = (): number => 0;
  #time = 1_000;
  #timers: { at: number; run: () => void }[] = [];
  readonly #script: Fate[];

  /** The last fate is that of all further requests. */
  constructor(...script: Fate[]) {
    this.#script = script;
  }

  now = (): number => this.#time;

  after = (ms: number, run: () => void): (() => void) => {
    const timer = { at: this.#time + ms, run };
    this.#timers.push(timer);
    return () => {
      this.#timers = this.#timers.filter(one => one !== timer);
    };
  };

  fetch = async (input: RequestInfo | URL, init: RequestInit = {}): Promise<Response> => {
    // The key goes where it is meant to go, and no cookies do.
    assert.deepEqual([init.redirect, init.credentials], ["manual", "omit"]);
    // What `fetch` would refuse is refused here, too.
    const request = new Request(input, { ...init, signal: null });
    const body = init.body ? (JSON.parse(init.body as string) as unknown) : undefined;
    this.sent.push({
      at: this.#time - 1_000,
      method: request.method,
      url: request.url,
      headers: Object.fromEntries(request.headers),
      body,
    });
    const fate = this.#script.length > 1 ? this.#script.shift() : this.#script[0];
    if (!fate) throw new Error("nothing is to be sent");
    return fate(init.signal as AbortSignal);
  };

  get timers(): number {
    return this.#timers.length;
  }

  /** Moves the clock from timer to timer until a promise is settled; returns it. */
  async run<T>(promise: Promise<T>): Promise<T> {
    let isSettled = false;
    const settled = (): boolean => (isSettled = true);
    promise.then(settled, settled);
    for (let round = 0; round < 10_000 && !isSettled; round += 1) {
      // Bodies and streams of Node take several turns.
      for (let turn = 0; turn < 5 && !isSettled; turn += 1) await setImmediate();
      const next = this.#timers.reduce<{ at: number; run: () => void } | undefined>(
        (first, one) => (first && first.at <= one.at ? first : one),
        undefined,
      );
      if (isSettled || !next) continue;
      this.#timers = this.#timers.filter(one => one !== next);
      this.#time = next.at;
      next.run();
    }
    if (!isSettled) throw new Error("it never ended");
    return promise;
  }

  client(options: Partial<ClientOptions> = {}): Client {
    return new Client({ url: "http://one.test", key: KEY, ...options }, this);
  }
}

/** The error that something ends with. */
export async function error(promise: Promise<unknown>): Promise<any> {
  const nothing = {};
  const came = await promise.then(
    () => nothing,
    why => why as unknown,
  );
  if (came === nothing) throw new Error("it did not fail");
  return came;
}
