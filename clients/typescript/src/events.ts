// Server-sent events of a campaign, with a new connection where one ends.

import { FirstcomeError } from "./answer.js";
import { pauseAfter, sentence, unanswered, type Ask, type Caller } from "./call.js";
import type { Claim, HoldState, Place, PoolChange } from "./documents.js";

/** What the subject of a token has in the campaign: all live holds and places, and the claims that are new or changed. */
export interface Own {
  claims: Omit<Claim, "code">[];
  holds: Omit<HoldState, "position" | "stale" | "durable">[];
  places: Omit<Place, "position" | "stale" | "durable">[];
  /** Whether the claims take the place of all that are known. */
  whole: boolean;
  /** Whether another event with further claims follows. */
  more: boolean;
  position: string;
}

/**
 * An event of a campaign. `id` is the position to go on from, as `after` of a later call; undefined until the server gave one.
 *
 * - `standing`: the standing of these seats and areas changed, or how many wait
 * - `campaign`: the state and version of the campaign are now these
 * - `own`: only with a subject token: what the subject has
 * - `reset`: the changes cannot be told: fetch the map again, and stay
 * - `end`: the token has expired. It is the last event; begin again with a new token
 */
export type CampaignEvent = { readonly id: string | undefined } & (
  | { readonly event: "standing"; readonly data: { position: string; pools: (PoolChange & { waiting?: number })[] } }
  | { readonly event: "campaign"; readonly data: { state: string; version: number } }
  | { readonly event: "own"; readonly data: Own }
  | { readonly event: "reset"; readonly data: { position: string } }
  | { readonly event: "end"; readonly data: { outcome: string } }
);

const KNOWN = new Set(["standing", "campaign", "own", "reset", "end"]);
/** The server sends a comment every 15 s. Without a byte for so long the connection is dead. */
const SILENCE = 45_000;
const LONGEST_PAUSE = 30_000;
const LARGEST_EVENT = 16 * 1024 * 1024;

/** Follows a campaign until the signal ends it or the server says that it is of no use. */
export async function* follow(caller: Caller, ask: Ask, signal?: AbortSignal): AsyncGenerator<CampaignEvent, void, void> {
  const { world, attemptMs } = caller;
  let [last, retryMs, failures] = [undefined as string | undefined, 1_000, 0];
  for (;;) {
    signal?.throwIfAborted();
    const ending = new AbortController();
    const stop = (): void => ending.abort();
    signal?.addEventListener("abort", stop, { once: true });
    let cancel = world.after(attemptMs, stop);
    let asked: number | undefined;
    try {
      const headers = { accept: "text/event-stream", ...(last === undefined ? {} : { "last-event-id": last }) };
      const response = await caller.send({ ...ask, headers }, ending.signal);
      if (response.status === 200 && response.body && response.headers.get("content-type")?.startsWith("text/event-stream")) {
        const alive = (): void => {
          cancel();
          cancel = world.after(SILENCE, stop);
          failures = 0;
        };
        for await (const part of parse(response.body, alive)) {
          retryMs = part.retry ?? retryMs;
          last = part.id ?? last;
          if (part.data === undefined || !KNOWN.has(part.event)) continue;
          yield { event: part.event, data: JSON.parse(part.data), id: last } as CampaignEvent;
          if (part.event === "end") return;
        }
      } else {
        asked = refused(caller, ask, response, await response.text());
      }
    } catch (error) {
      signal?.throwIfAborted();
      if (error instanceof FirstcomeError) throw error;
      const { again, why } = unanswered(error, ask);
      if (!again) throw new FirstcomeError("unavailable", `no events: ${why}`, failures + 1);
    } finally {
      cancel();
      ending.abort();
      signal?.removeEventListener("abort", stop);
    }
    // All streams of a server that stops end at once: not all are to come back at once.
    failures += 1;
    const random = world.random();
    const pause = failures === 1 ? retryMs * (1 + random / 2) : pauseAfter(failures, random, retryMs, LONGEST_PAUSE);
    await caller.sleep(Math.max(pause, asked ?? 0), signal);
  }
}

/** Throws what does not pass; otherwise returns after how many milliseconds the server wants to be asked again. */
function refused(caller: Caller, ask: Ask, response: Response, body: string): number | undefined {
  const fate = caller.sort(ask, response, body);
  if (fate.is === "no" || fate.is === "rejected") throw new FirstcomeError("rejected", sentence(fate.problem), 1, fate.problem);
  if (fate.is === "setback" && fate.again && !response.ok) return fate.retryAfter;
  const why = fate.is === "setback" && !response.ok ? fate.why : "the answer is no stream";
  throw new FirstcomeError("unavailable", `no events: ${why}`, 1);
}

interface Part {
  event: string;
  data?: string;
  id?: string;
  retry?: number;
}

/**
 * Reads a stream of events as the HTML standard has it (9.2.6). What has no empty line behind it is left out: it may be a half.
 * `retry` and `id` are also told without data.
 */
export async function* parse(body: ReadableStream<Uint8Array>, alive: () => void): AsyncGenerator<Part, void, void> {
  const [reader, decoder] = [body.getReader(), new TextDecoder()];
  let [text, part, data] = ["", { event: "message" } as Part, [] as string[]];
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      alive();
      text += decoder.decode(value, { stream: true });
      if (text.length > LARGEST_EVENT) throw new Error("an event is too large");
      // A carriage return at the end may be the first half of a line break.
      const lines = text.split(/\r\n|\n|\r(?!$)/);
      text = lines.pop() ?? "";
      for (const line of lines) {
        if (line === "") {
          if (data.length > 0) part.data = data.join("\n");
          yield part;
          [part, data] = [{ event: "message" }, []];
          continue;
        }
        const [, field = "", content = ""] = /^([^:]*)(?:: ?(.*))?$/s.exec(line) ?? [];
        if (field === "data") data.push(content);
        else if (field === "event") part.event = content;
        else if (field === "id" && !content.includes("\0")) part.id = content;
        else if (field === "retry" && /^\d{1,9}$/.test(content)) part.retry = Number(content);
      }
    }
  } finally {
    await reader.cancel().catch(() => undefined);
  }
}
