// A call: a request that is sent again until it is answered or its deadline passes.

import { FirstcomeError, type Answer, type CallOptions, type Found, type Refused } from "./answer.js";
import { bad, optional, whole } from "./check.js";
import { NOT_OF_THE_RULES, type Problem } from "./documents.js";

/** One request. All requests of this client have an identity: sent again they are answered as the first time. */
export interface Ask {
  method: "GET" | "POST" | "DELETE";
  path: string;
  query?: Record<string, string | number | boolean | undefined>;
  body?: unknown;
  headers?: Record<string, string>;
  /** The outcomes of a success. Another one, or none, is no answer of this route. None are given for a GET. */
  yes?: readonly string[];
  /** Whether nothing changes, though it is no GET. */
  looks?: boolean;
  /** How much longer than usual an attempt may take, in milliseconds. */
  waits?: number;
}

/** The version of this package; a test compares it with package.json. */
export const VERSION = "0.1.0";

/** What a client needs of the world. Tests have their own. */
export interface World {
  fetch: typeof fetch;
  /** Milliseconds of a clock that never goes back. */
  now(): number;
  /** 0 to 1. */
  random(): number;
  /** Runs something later. Returns what prevents it. */
  after(ms: number, run: () => void): () => void;
}

export const world = (): World => ({
  fetch: (input, init) => globalThis.fetch(input, init),
  now: () => performance.now(),
  random: () => Math.random(),
  after(ms, run) {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
});

export interface Settings {
  servers: readonly string[];
  bearer: string | undefined;
  deadlineMs: number;
  attemptMs: number;
  world: World;
}

/** An attempt without an answer to rely on. */
interface Setback {
  why: string;
  problem?: Problem;
  /** Whether the request may have been taken. */
  lost: boolean;
  /** Who may answer the same request. */
  again: "nobody" | "others" | "anybody";
  /** Whether it is about this server, so that another one may answer. */
  ofServer: boolean;
  /** After how many milliseconds the server wants to be asked again. */
  retryAfter?: number | undefined;
}

/** What became of an attempt. */
type Fate =
  | { is: "yes"; document: object }
  | { is: "no"; problem: Problem }
  | { is: "rejected"; problem: Problem }
  | ({ is: "setback" } & Setback);

/** Browsers have an agent of their own, and may not name another one to a server of another origin. */
const AGENT = "process" in globalThis ? `firstcome-client-typescript/${VERSION}` : undefined;
const FIRST_PAUSE = 50;
const LONGEST_PAUSE = 2_000;
/** With less time left than this nothing is sent again. */
const LEAST = 5;
/** Of many servers each has connections and a state of its own; what a store or a caller has too much of is of all. */
const OF_SERVER = new Set(["unavailable", "unknown", "too_many_connections", "busy", "eligibility_unknown"]);

/** The pause after so many rounds over all servers, the first one is 1: up to the longest, less a random part of up to a half. */
export function pauseAfter(round: number, random: number, first = FIRST_PAUSE, longest = LONGEST_PAUSE): number {
  return Math.min(first * 2 ** (round - 1), longest) * (1 - random / 2);
}

export class Caller {
  readonly #settings: Settings;
  /** The server that is asked next. */
  #next = 0;

  constructor(settings: Settings) {
    this.#settings = settings;
  }

  /** How many servers there are. */
  get servers(): number {
    return this.#settings.servers.length;
  }

  get world(): World {
    return this.#settings.world;
  }

  /** Makes a call that may change something. */
  async command<Yes extends object, Reason extends string>(ask: Ask, options: CallOptions = {}): Promise<Answer<Yes, Reason>> {
    const { world, servers } = this.#settings;
    optional(options.deadlineMs, ms => whole("deadlineMs", ms, 1, 86_400_000));
    optional(options.minPosition, position => {
      if (!/^(\d+:)?\d+\.\d+$/.test(String(position))) bad("minPosition: a position of an earlier answer is needed, such as 0.42");
    });
    const asked: Ask = { ...ask, query: { ...ask.query, min_position: ask.query?.["min_position"] ?? options.minPosition } };
    const deadline = world.now() + (options.deadlineMs ?? this.#settings.deadlineMs);
    let [attempts, rounds, missed, lost] = [0, 0, 0, false];
    for (;;) {
      options.signal?.throwIfAborted();
      const index = this.#next;
      const time = Math.min(deadline - world.now(), this.#settings.attemptMs + (ask.waits ?? 0));
      attempts += 1;
      const fate = await this.#attempt(index, asked, Math.max(time, 1), options.signal);
      if (fate.is === "yes") return fate.document as Yes;
      if (fate.is === "no") {
        const { problem } = fate;
        return { outcome: "refused", reason: problem.outcome, problem, afterLostAttempt: lost } satisfies Refused<string>;
      }
      if (fate.is === "rejected" && !lost) throw new FirstcomeError("rejected", sentence(fate.problem), attempts, fate.problem);
      // This server turned it down, but another one may have taken it before.
      const setback: Setback = fate.is === "setback" ? fate : turnedDown(fate.problem);
      lost ||= setback.lost;
      if (setback.ofServer) {
        if (this.#next === index) this.#next = (index + 1) % servers.length;
        missed += 1;
      }
      const other = setback.ofServer && missed < servers.length;
      const left = deadline - world.now();
      let pause: number | undefined;
      if (left > 0 && (setback.again === "anybody" || (setback.again === "others" && other))) {
        if (other) {
          pause = 0;
        } else {
          [missed, rounds] = [0, rounds + 1];
          const own = pauseAfter(rounds, world.random());
          const { retryAfter } = setback;
          // What the server asks for is not cut short; beyond the deadline there is nothing to wait for. Without it a last
          // attempt is made a little before the deadline, so that it can be answered.
          if (retryAfter !== undefined) pause = retryAfter < left ? Math.min(Math.max(retryAfter, own), left) : undefined;
          else if (left > LEAST) pause = Math.min(own, left / 2);
        }
      }
      if (pause === undefined) return this.#giveUp<Yes, Reason>(asked, servers[index] ?? "", setback, attempts, lost);
      if (pause > 0) await this.sleep(pause, options.signal);
    }
  }

  /** Makes a call that only reads: there is nothing that could have happened. */
  async read<Document extends object, Reason extends string>(ask: Ask, options?: CallOptions): Promise<Found<Document, Reason>> {
    const answer = await this.command<Document & { outcome: "found" }, Reason>({ ...ask, looks: true }, options);
    if (answer.outcome === "unknown") throw new Error("a read is never unknown");
    return answer.outcome === "refused" ? answer : { ...answer, outcome: "found" };
  }

  #giveUp<Yes, Reason extends string>(ask: Ask, server: string, setback: Setback, attempts: number, lost: boolean): Answer<Yes, Reason> {
    const why = `no answer from ${server}${attempts > 1 ? ` (attempt ${attempts})` : ""}: ${setback.why}`;
    if (!lost) throw new FirstcomeError("unavailable", `${why}; nothing changed`, attempts, setback.problem);
    const resolve = async (options?: CallOptions): Promise<Answer<Yes, Reason>> => {
      try {
        return (await this.command(ask, options)) as Answer<Yes, Reason>;
      } catch (error) {
        // Nothing changed by this call; by the one before, that is as unknown as it was.
        if (error instanceof FirstcomeError && error.kind !== "invalid_argument") return unknown;
        throw error;
      }
    };
    const unknown = { outcome: "unknown" as const, why: `${why}; it may have happened`, attempts, problem: setback.problem, resolve };
    return unknown;
  }

  /** Waits, unless the signal ends it. */
  sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((done, fail) => {
      const stop = (): void => {
        cancel();
        fail(signal?.reason);
      };
      const cancel = this.world.after(ms, () => {
        signal?.removeEventListener("abort", stop);
        done();
      });
      signal?.addEventListener("abort", stop, { once: true });
      if (signal?.aborted) stop();
    });
  }

  /** Sends a request once and returns its answer, whose body is still to be read. Redirects are not followed: the key stays here. */
  send(index: number, ask: Ask, signal: AbortSignal): Promise<Response> {
    const { servers, bearer, world } = this.#settings;
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(ask.query ?? {})) if (value !== undefined) query.set(name, String(value));
    const headers: Record<string, string> = { accept: "application/json", ...ask.headers };
    if (bearer !== undefined) headers["authorization"] = `Bearer ${bearer}`;
    if (AGENT !== undefined) headers["user-agent"] = AGENT;
    if (ask.body !== undefined) headers["content-type"] = "application/json";
    const url = `${servers[index]}${ask.path}${query.size > 0 ? `?${query}` : ""}`;
    const body = ask.body === undefined ? null : JSON.stringify(ask.body);
    return world.fetch(url, { method: ask.method, headers, body, signal, redirect: "manual", credentials: "omit" });
  }

  async #attempt(index: number, ask: Ask, time: number, signal: AbortSignal | undefined): Promise<Fate> {
    const ending = new AbortController();
    const stop = (): void => ending.abort(signal?.reason);
    signal?.addEventListener("abort", stop, { once: true });
    let late = false;
    const cancel = this.world.after(time, () => {
      late = true;
      ending.abort(new Error("too late"));
    });
    try {
      const response = await this.send(index, ask, ending.signal);
      return this.sort(ask, response, await response.text());
    } catch (error) {
      signal?.throwIfAborted();
      return { is: "setback", ...unanswered(late ? "no answer in time" : error, ask) };
    } finally {
      cancel();
      signal?.removeEventListener("abort", stop);
    }
  }

  /** Sorts an answer that came back whole. */
  sort(ask: Ask, response: Response, body: string): Fate {
    const { status } = response;
    if (response.type === "opaqueredirect" || (status >= 300 && status < 400)) {
      const why = "it redirects, which is not followed: give the address behind it as url";
      return { is: "setback", why, lost: false, again: "others", ofServer: true };
    }
    const document = parsed(response.ok ? body : this.#withoutKey(body));
    if (response.ok) {
      const known = document !== undefined && (ask.yes === undefined || ask.yes.includes(String(document["outcome"])));
      if (known) return { is: "yes", document };
      return { is: "setback", ...unreadable(`status ${status}`, !onlyReads(ask), "anybody") };
    }
    const seconds = Number(response.headers.get("retry-after") ?? NaN);
    const retryAfter = Number.isFinite(seconds) && seconds >= 0 ? seconds * 1_000 : undefined;
    if (typeof document?.["outcome"] !== "string") {
      // A gateway in between may have passed the request on before it gave up.
      const gateway = status >= 500;
      const setback = unreadable(`status ${status}`, gateway && !onlyReads(ask), gateway ? "anybody" : "others");
      return { is: "setback", ...setback, retryAfter };
    }
    const problem = { status, detail: "", title: "", retry: false, changed: "no", ...document } as unknown as Problem;
    if (problem.retry_after_ms === undefined && retryAfter !== undefined) problem.retry_after_ms = retryAfter;
    const passing = status >= 500 || status === 429 || status === 408;
    // What only this moment or this server has to say is no decision of the rules, also if its name is a new one.
    const known = PASSING_REFUSALS.has(problem.outcome) || !passing;
    if (!NOT_OF_THE_RULES.has(problem.outcome) && known) return { is: "no", problem };
    const said = document["changed"];
    const lost = !onlyReads(ask) && (said === "unknown" || (passing && said !== "no"));
    if (!lost && !passing) return { is: "rejected", problem };
    return {
      is: "setback",
      why: sentence(problem),
      problem,
      lost,
      again: problem.retry || lost ? "anybody" : "nobody",
      ofServer: OF_SERVER.has(problem.outcome),
      retryAfter: problem.retry_after_ms,
    };
  }

  /** What another program answers may repeat the request. */
  #withoutKey(body: string): string {
    const { bearer } = this.#settings;
    return bearer === undefined ? body : body.replaceAll(bearer, "(key)");
  }
}

/** Refusals of the rules whose status is that of a rate. */
const PASSING_REFUSALS = new Set(["too_many_holds", "too_many_wrong_codes"]);

function onlyReads(ask: Ask): boolean {
  return ask.method === "GET" || ask.looks === true;
}

function parsed(body: string): Record<string, unknown> | undefined {
  try {
    const document: unknown = JSON.parse(body);
    return typeof document === "object" && document !== null && !Array.isArray(document) ? (document as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}

export function sentence(problem: Problem): string {
  const detail = problem.detail || problem.title;
  return detail ? `${problem.outcome}: ${detail}` : problem.outcome;
}

function turnedDown(problem: Problem): Setback {
  return { why: sentence(problem), problem, lost: false, again: "nobody", ofServer: false };
}

function unreadable(why: string, lost: boolean, again: Setback["again"]): Setback {
  return { why: `it is not an answer of Firstcome (${why})`, lost, again, ofServer: true };
}

/** Failures of Node at a time when no byte of the request was written. Browsers do not tell. */
const NEVER_SENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT"]);

/** Sorts a request without a whole answer. What is not certainly unsent may have been taken. */
export function unanswered(error: unknown, ask: Ask): Setback {
  const cause = (error as { cause?: unknown } | null)?.cause as { code?: string; errors?: { code?: string }[] } | undefined;
  const codes = cause?.errors?.map(one => one.code ?? "") ?? [cause?.code ?? ""];
  const isWrongCertificate = codes.some(code => /^(CERT_|ERR_TLS_CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/.test(code));
  const isUnsent = isWrongCertificate || codes.every(code => NEVER_SENT.has(code));
  const why = typeof error === "string" ? error : codes.filter(Boolean).join(", ") || "the connection failed or broke";
  // What is wrong with a certificate is wrong the next time, too.
  return { why, lost: !isUnsent && !onlyReads(ask), again: isWrongCertificate ? "others" : "anybody", ofServer: true };
}
