// Holds: units set aside, paid for, given back.

import { FirstcomeError, type Answer, type As, type CallOptions, type Refused, type Unknown } from "./answer.js";
import { type Caller } from "./call.js";
import { bad, name, optional, picks, segment, text, units, whole } from "./check.js";
import type * as Doc from "./documents.js";

/** Units of a hold: by their `units`, with the `pool` if there are several, or by `picks` without `best`. */
export type SomeUnits = Omit<Doc.ChangeRequest, "subject">;

/** The steps on a hold. Each is a call of its own; sent again after a lost answer it happens once. */
export class Hold {
  readonly #caller: Caller;
  readonly #path: string;
  /** Whether some of it may still be held, as far as the steps taken here tell. */
  #isOpen = true;

  /** @internal */
  constructor(
    caller: Caller,
    /** The campaign. */
    readonly campaign: string,
    /** The owner of the hold. */
    readonly subject: string,
    /** The id of the hold. */
    readonly hold: string,
  ) {
    text("subject", subject, 255);
    this.#path = `/v1/campaigns/${name("campaign", campaign)}/holds/${segment("hold", hold, 64)}`;
    this.#caller = caller;
  }

  /** Reads the hold as it stands, until 24 h after its end. */
  async look(options?: CallOptions): Promise<Doc.HoldStateAnswer> {
    return this.#caller.read({ method: "GET", path: this.#path, query: { subject: this.subject } }, options);
  }

  /** Adds units: all that are named, or none. */
  async add(what: SomeUnits, options?: CallOptions): Promise<Doc.AddAnswer> {
    return this.#step("add", ["held", "already_held"], what, options);
  }

  /** Gives some units back. */
  async drop(what: SomeUnits, options?: CallOptions): Promise<Doc.DropAnswer> {
    return this.#step("drop", ["held", "already_held"], what, options);
  }

  /**
   * Moves the deadline to `ttl_ms` from now, 1 to 86,400,000; by the campaign's time of a hold, if left out. It is never earlier, and not
   * beyond the campaign's `hold_max_ms`: look at `expires_at`. Extend before the customer is charged, and charge only after `extended`.
   */
  async extend(to: Omit<Doc.ExtendRequest, "subject"> = {}, options?: CallOptions): Promise<Doc.ExtendAnswer> {
    return this.#step("extend", ["extended"], to, options);
  }

  /**
   * Makes units the subject's for good: all that are held, if none is named. For who took the money: a subject token may not.
   *
   * At the deadline or later it is refused (`hold_expired`). With `late: "retake"` the same units are taken again if all are free
   * (`retaken`); otherwise it is refused with `refund_due`: give the money back.
   */
  async confirm(what: Omit<Doc.ConfirmRequest, "subject"> = {}, options?: CallOptions): Promise<Doc.ConfirmAnswer> {
    // Until it is known that nothing was confirmed, nothing is released at the end of a block.
    const wasOpen = this.#isOpen;
    this.#isOpen = false;
    try {
      const answer: Doc.ConfirmAnswer = await this.#step("confirm", ["confirmed"], what, options);
      if (answer.outcome === "refused") this.#isOpen = wasOpen;
      else if (answer.outcome === "confirmed" && answer.left > 0) this.#isOpen = true;
      return answer;
    } catch (error) {
      if (error instanceof FirstcomeError) this.#isOpen = wasOpen;
      throw error;
    }
  }

  /** Gives units back: all that are held, if none is named. */
  async release(what: SomeUnits = {}, options?: CallOptions): Promise<Doc.ReleaseAnswer> {
    const answer: Doc.ReleaseAnswer = await this.#step("release", ["released"], what, options);
    if (answer.outcome === "released" && answer.left === 0) this.#isOpen = false;
    return answer;
  }

  /** Releases what is held, unless that was confirmed, or may have been. Never throws: what is not released expires. @internal */
  async letGo(): Promise<void> {
    if (this.#isOpen) await this.release().catch(() => undefined);
  }

  async #step<Yes extends object, Reason extends string>(
    verb: string,
    yes: readonly string[],
    what: SomeUnits & Doc.ExtendRequest & { late?: Doc.Late | undefined },
    options?: CallOptions,
  ): Promise<Answer<Yes, Reason>> {
    optional(what.pool, pool => name("pool", pool));
    optional(what.ttl_ms, ms => whole("ttl_ms", ms, 1, 86_400_000));
    optional(what.units, units);
    optional(what.picks, picks);
    if ((verb === "add" || verb === "drop") && !what.units && !what.picks) bad(`${verb}: name units or picks`);
    if (verb !== "add" && what.picks?.some(pick => pick.best)) bad(`${verb}: name the units; best is only for new ones`);
    // Steps that name their units, or all of them, are the same when they are sent again. A quantity is not, and a time is from
    // another moment.
    const counts = verb === "extend" || what.picks?.some(pick => !pick.units);
    const headers: Record<string, string> = counts ? { "idempotency-key": newId("step") } : {};
    const body = { ...what, subject: this.subject };
    return this.#caller.command({ method: "POST", path: `${this.#path}/${verb}`, body, headers, yes }, options);
  }
}

/** Units that are set aside, with the steps on them. At the end of an `await using` block what is still held is released. */
export type HeldHold = As<Hold & Doc.Held & AsyncDisposable, "held" | "already_held">;

/** What came of a hold that is not there: `confirmed` if one with this id was taken before, and its units are the subject's. */
type NoHold = (As<Doc.Ended, "confirmed"> | Refused<Doc.TakeHoldReason> | Unknown<HoldAnswer>) & AsyncDisposable;

/** What taking a hold came to. */
export type HoldAnswer = HeldHold | NoHold;

/** What came of a hold and its block: `ran`, with what the block returned; otherwise why there was no hold to run it with. */
export type BlockAnswer<Value> = { readonly outcome: "ran"; readonly value: Value } | NoHold;

/** Gives an answer an end, for `await using`. `id` is the hold that was asked for. */
export function asBlock(caller: Caller, answer: Doc.TakeHoldAnswer, id: string): HoldAnswer {
  const nothing = { [Symbol.asyncDispose]: () => Promise.resolve() };
  if (answer.outcome === "held" || answer.outcome === "already_held") {
    const hold = new Hold(caller, answer.campaign, answer.subject, answer.hold);
    // Units that are held under another id belong to whoever took them.
    return Object.assign(hold, answer, answer.hold === id ? { [Symbol.asyncDispose]: () => hold.letGo() } : nothing);
  }
  if (answer.outcome !== "unknown") return { ...answer, ...nothing };
  return { ...answer, ...nothing, resolve: async options => asBlock(caller, await answer.resolve(options), id) };
}

/** Draws an id that nobody guesses. */
export function newId(kind: string): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return `${kind}-${Array.from(bytes, byte => byte.toString(16).padStart(2, "0")).join("")}`;
}
