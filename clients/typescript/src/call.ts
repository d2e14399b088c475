// A call: a request that is sent again until it is answered or its deadline passes.

import { FirstcomeError, type Answer, type CallOptions, type Found } from "./answer.js";
import { bad, optional, whole } from "./check.js";
import { NOT_OF_THE_RULES, type Problem } from "./documents.js";

/** The version of this package; a test compares it with package.json. */
export const VERSION = "0.1.0";

/** One request. All requests of this client have an identity: sent again they are answered as the first time. */
export interface Ask {
  method: "GET" | "POST" | "DELETE";
  path: string;
  query?: Record<string, string | number | boolean | undefined>;
  body?: unknown;
  headers?: Record<string, string>;
  /** The outcomes of a success. Another one, or none, is no answer of this route. Reads have none. */
  yes?: readonly string[];
  /** Whether it changes nothing. */
  reads?: boolean;
  /** How much longer than usual an attempt may take, in milliseconds. */
  waits?: number;
}

/** What a client needs of the world. Tests have their own. */
export const WORLD = {
  fetch: ((input, init) => globalThis.fetch(input, init)) as typeof fetch,
  /** Milliseconds of a clock that never goes back. */
  now: (): number => performance.now(),
  /** 0 to 1. */
  random: (): number => Math.random(),
  /** Runs something later. Returns what prevents it. */
  after(ms: number, run: () => void): () => void {
    const timer = setTimeout(run, ms);
    return () => clearTimeout(timer);
  },
};
export type World = typeof WORLD;

/** An attempt without an answer to rely on. */
interface Setback {
  is: "setback";
  why: string;
  problem?: Problem;
  /** Whether the request may have been taken. */
  lost: boolean;
  /** Whether the same request may be answered later. */
  again: boolean;
  /** After how many milliseconds the server wants to be asked again. */
  retryAfter?: number | undefined;
}

/** What became of an attempt. */
type Fate = { is: "yes"; document: object } | { is: "no" | "rejected"; problem: Problem } | Setback;

const FIRST_PAUSE = 50;
const LONGEST_PAUSE = 2_000;
/** With less time left than this nothing is sent again: nobody would know whether it was. */
const LEAST = 100;
/** Browsers have an agent of their own, and may not name another one to a server of another origin. */
const NODE = (globalThis as { process?: { versions?: { node?: string } } }).process?.versions?.node;
const AGENT = NODE === undefined ? undefined : `firstcome-client-typescript/${VERSION}`;
/** Refusals of the rules whose status is that of a rate. */
const PASSING_REFUSALS = new Set(["too_many_holds", "too_many_wrong_codes"]);
/** Failures of Node at a time when no byte of the request was written. Browsers do not tell. */
const NEVER_SENT = new Set(["ECONNREFUSED", "ENOTFOUND", "EAI_AGAIN", "EHOSTUNREACH", "ENETUNREACH", "UND_ERR_CONNECT_TIMEOUT"]);
/** Failures of Node over a certificate. They are the same the next time. */
const NOT_TRUSTED = /^(CERT_|ERR_TLS_CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;

/** The pause before the attempt after so many: up to the longest, less a random part of up to a half. */
export function pauseAfter(attempts: number, random: number, first = FIRST_PAUSE, longest = LONGEST_PAUSE): number {
  return Math.min(first * 2 ** (attempts - 1), longest) * (1 - random / 2);
}

export class Caller {
  readonly #bearer: string | undefined;

  constructor(
    readonly server: string,
    bearer: string | undefined,
    readonly deadlineMs: number,
    readonly attemptMs: number,
    readonly world: World,
  ) {
    this.#bearer = bearer;
  }

  /** Makes a call that may change something. */
  async command<Yes extends object, Reason extends string>(ask: Ask, options: CallOptions = {}): Promise<Answer<Yes, Reason>> {
    const { world } = this;
    optional(options.deadlineMs, ms => whole("deadlineMs", ms, 1, 86_400_000));
    optional(options.minPosition, position => {
      if (!/^(\d+:)?\d+\.\d+$/.test(String(position))) bad("minPosition: a position of an earlier answer is needed, such as 0.42");
    });
    const asked: Ask = { ...ask, query: { min_position: options.minPosition, ...ask.query } };
    const deadline = world.now() + (options.deadlineMs ?? this.deadlineMs);
    let lost = false;
    for (let attempts = 1; ; attempts += 1) {
      options.signal?.throwIfAborted();
      const time = Math.min(deadline - world.now(), this.attemptMs + (ask.waits ?? 0));
      const fate = await this.#attempt(asked, Math.max(time, 1), options.signal);
      if (fate.is === "yes") return fate.document as Yes;
      if (fate.is === "no") return { outcome: "refused", reason: fate.problem.outcome, problem: fate.problem, afterLostAttempt: lost };
      const { problem } = fate;
      if (fate.is === "rejected" && !lost) throw new FirstcomeError("rejected", sentence(fate.problem), attempts, problem);
      // What is turned down now may have been taken before.
      const setback: Setback = fate.is === "setback" ? fate : { ...fate, is: "setback", why: sentence(fate.problem), lost, again: false };
      lost ||= setback.lost;
      const pause = setback.again ? this.#pause(attempts, deadline - world.now(), setback.retryAfter) : undefined;
      if (pause === undefined) return this.#giveUp<Yes, Reason>(asked, setback, attempts, lost);
      await this.sleep(pause, options.signal);
    }
  }

  /** Makes a call that only reads: there is nothing that could have happened. */
  async read<Document extends object, Reason extends string>(ask: Ask, options?: CallOptions): Promise<Found<Document, Reason>> {
    const answer = await this.command<Document & { outcome: "found" }, Reason>({ ...ask, reads: true }, options);
    if (answer.outcome === "unknown") throw new Error("a read is never unknown");
    return answer.outcome === "refused" ? answer : { ...answer, outcome: "found" };
  }

  /** The pause before the next attempt; undefined if there is none in the time that is left. */
  #pause(attempts: number, left: number, asked: number | undefined): number | undefined {
    const own = pauseAfter(attempts, this.world.random());
    // What the server asks for is not cut short; beyond the deadline there is nothing to wait for. Without it a last attempt is made
    // a little before the deadline, so that it can be answered.
    if (asked !== undefined) return asked < left ? Math.min(Math.max(asked, own), left) : undefined;
    return left > LEAST ? Math.min(own, left / 2) : undefined;
  }

  #giveUp<Yes, Reason extends string>(ask: Ask, setback: Setback, attempts: number, lost: boolean): Answer<Yes, Reason> {
    const { problem } = setback;
    const why = `no answer from ${this.server}${attempts > 1 ? ` (attempt ${attempts})` : ""}: ${setback.why}`;
    if (!lost) throw new FirstcomeError("unavailable", `${why}; nothing changed`, attempts, problem);
    const resolve = async (options?: CallOptions): Promise<Answer<Yes, Reason>> => {
      try {
        return (await this.command(ask, options)) as Answer<Yes, Reason>;
      } catch (error) {
        // Nothing changed by this call; by the one before, that is as unknown as it was.
        if (error instanceof FirstcomeError && error.kind !== "invalid_argument") return unknown;
        throw error;
      }
    };
    const unknown = { outcome: "unknown" as const, why: `${why}; it may have happened`, attempts, problem, resolve };
    return unknown;
  }

  /** Waits, unless the signal ends it. */
  sleep(ms: number, signal: AbortSignal | undefined): Promise<void> {
    return new Promise((done, fail) => {
      const end = (then: () => void): void => {
        cancel();
        signal?.removeEventListener("abort", stop);
        then();
      };
      const stop = (): void => end(() => fail(signal?.reason));
      const cancel = this.world.after(ms, () => end(done));
      signal?.addEventListener("abort", stop);
      if (signal?.aborted) stop();
    });
  }

  /** Sends a request once and returns its answer, whose body is still to be read. Redirects are not followed: the key stays here. */
  send(ask: Ask, signal: AbortSignal): Promise<Response> {
    const query = new URLSearchParams();
    for (const [name, value] of Object.entries(ask.query ?? {})) if (value !== undefined) query.set(name, String(value));
    const headers: Record<string, string> = { accept: "application/json", ...ask.headers };
    if (this.#bearer !== undefined) headers["authorization"] = `Bearer ${this.#bearer}`;
    if (AGENT !== undefined) headers["user-agent"] = AGENT;
    if (ask.body !== undefined) headers["content-type"] = "application/json";
    const body = ask.body === undefined ? null : JSON.stringify(ask.body);
    const url = `${this.server}${ask.path}${query.size > 0 ? `?${query}` : ""}`;
    return this.world.fetch(url, { method: ask.method, headers, body, signal, redirect: "manual", credentials: "omit" });
  }

  async #attempt(ask: Ask, time: number, signal: AbortSignal | undefined): Promise<Fate> {
    const ending = new AbortController();
    const stop = (): void => ending.abort(signal?.reason);
    signal?.addEventListener("abort", stop, { once: true });
    const cancel = this.world.after(time, () => ending.abort(new Error("no answer in time")));
    try {
      const response = await this.send(ask, ending.signal);
      return this.sort(ask, response, await response.text());
    } catch (error) {
      signal?.throwIfAborted();
      return unanswered(ending.signal.aborted ? "no answer in time" : error, ask);
    } finally {
      cancel();
      signal?.removeEventListener("abort", stop);
    }
  }

  /** Sorts an answer that came back whole. */
  sort(ask: Ask, response: Response, body: string): Fate {
    const { status } = response;
    if (response.type === "opaqueredirect" || (status >= 300 && status < 400)) {
      return { is: "setback", why: "it redirects, which is not followed: give the address behind it as url", lost: false, again: false };
    }
    // What another program answers may repeat the request.
    const document = parsed(response.ok || this.#bearer === undefined ? body : body.replaceAll(this.#bearer, "(key)"));
    if (response.ok && document && (ask.yes?.includes(String(document["outcome"])) ?? true)) return { is: "yes", document };
    const seconds = Number(response.headers.get("retry-after") ?? NaN);
    const retryAfter = seconds >= 0 ? seconds * 1_000 : undefined;
    if (response.ok || typeof document?.["outcome"] !== "string") {
      // It may have been done: the answer of a success is broken, or a gateway in between gave up after it passed the request on.
      const mayBe = response.ok || status >= 500;
      const why = `it is not an answer of Firstcome (status ${status})`;
      return { is: "setback", why, lost: mayBe && !ask.reads, again: mayBe, retryAfter };
    }
    const problem = { status, detail: "", title: "", retry: false, changed: "no", ...document } as unknown as Problem;
    if (problem.retry_after_ms === undefined && retryAfter !== undefined) problem.retry_after_ms = retryAfter;
    const passing = status >= 500 || status === 429 || status === 408;
    // A name that is not known yet is a refusal, unless its status says that it is about this moment only.
    const isOfTheRules = PASSING_REFUSALS.has(problem.outcome) || (!passing && !NOT_OF_THE_RULES.has(problem.outcome));
    if (isOfTheRules) return { is: "no", problem };
    const said = document["changed"];
    const lost = !ask.reads && (said === "unknown" || (passing && said !== "no"));
    if (!lost && !passing) return { is: "rejected", problem };
    return { is: "setback", why: sentence(problem), problem, lost, again: problem.retry || lost, retryAfter: problem.retry_after_ms };
  }
}

function parsed(body: string): Record<string, unknown> | undefined {
  try {
    const document = JSON.parse(body) as Record<string, unknown> | null;
    return typeof document === "object" && document !== null && !Array.isArray(document) ? document : undefined;
  } catch {
    return undefined;
  }
}

/** An outcome and its sentence in one line. */
export function sentence({ outcome, detail, title }: Problem): string {
  return detail || title ? `${outcome}: ${detail || title}` : outcome;
}

/** Sorts a request without a whole answer. What is not certainly unsent may have been taken. */
export function unanswered(error: unknown, ask: Ask): Setback {
  const cause = (error as { cause?: unknown } | null)?.cause as { code?: string; errors?: { code?: string }[] } | undefined;
  const codes = cause?.errors?.map(one => one.code ?? "") ?? [cause?.code ?? ""];
  const isNotTrusted = codes.some(code => NOT_TRUSTED.test(code));
  const isUnsent = isNotTrusted || codes.every(code => NEVER_SENT.has(code));
  const why = typeof error === "string" ? error : codes.filter(Boolean).join(", ") || "the connection failed or broke";
  return { is: "setback", why, lost: !isUnsent && !ask.reads, again: !isNotTrusted };
}
