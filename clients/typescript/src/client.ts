// The client: which server it knows, with which key, and what can be asked of it.

import { FirstcomeError, type CallOptions } from "./answer.js";
import { Caller, sentence, WORLD, type Ask, type World } from "./call.js";
import { bad, name, optional, picks, segment, text, whole } from "./check.js";
import type * as Doc from "./documents.js";
import { follow, type CampaignEvent } from "./events.js";
import { asBlock, Hold, newId, type BlockAnswer, type HeldHold, type HoldAnswer } from "./holds.js";

/** Where the server is, and who asks. */
export interface ClientOptions {
  /** The server's address, `https://…` or `http://…`, also with a path before that of its routes. */
  url: string;
  /** A key. It stays on your servers: a browser gets a token. */
  key?: string | undefined;
  /** A subject token, in the place of a key: for one subject. Its calls may leave out `subject` in bodies. */
  token?: string | undefined;
  /** How long a call may take altogether, in milliseconds, 1 to 86,400,000; 15,000 if left out. */
  deadlineMs?: number | undefined;
  /** How long one attempt may take, in milliseconds, 1 to 600,000; 6,000 if left out. More than the server's `command_wait_ms`. */
  attemptMs?: number | undefined;
  /** What to send requests with; the global `fetch` if left out. */
  fetch?: typeof fetch | undefined;
}

/** Where a list begins, and how it is read. */
export interface PageOptions {
  /** Begins behind this number of a result, or rank of a winner: where an earlier reader ended. 0 if left out. */
  after?: number | undefined;
  /** How many lines are fetched at a time, 1 to 10,000; 1,000 if left out. */
  limit?: number | undefined;
}

/** Which winners: of a pool, with the code of each (role `redeem`) or without. */
export type WinnerOptions = PageOptions & OfPool & { with_codes?: boolean | undefined };
/** A pool of the campaign; may be left out if it has one. */
export type OfPool = { pool?: string | undefined };
/** A subject, named in the path of its route: needed with a token, too. */
export type OfSubject = { subject: string };

/**
 * A client of one server, or of the servers behind one address. Make one and keep it.
 *
 * Each method that asks for something the rules decide returns a value with an `outcome`: what happened, `refused` with the reason, or
 * `unknown`. It throws a {@link FirstcomeError} where something is broken. Until its deadline a call goes on: where no connection was made,
 * where the answer was lost, and after the pause a busy server asks for. Every request keeps its identity over that, so nothing happens
 * twice; a refusal is never asked again.
 */
export class Client {
  readonly #caller: Caller;
  readonly #hasKey: boolean;

  /** Sends nothing yet. */
  constructor(options: ClientOptions);
  /** @internal */
  constructor(options: ClientOptions, environment: World);
  constructor(options: ClientOptions, environment: World = WORLD) {
    const { key, token, deadlineMs = 15_000, attemptMs = 6_000 } = options;
    if (key !== undefined && token !== undefined) bad("give a key or a token, not both");
    const bearer = key ?? token;
    if (bearer !== undefined && (typeof bearer !== "string" || !/^[\x21-\x7e]{1,4096}$/.test(bearer))) {
      bad("key and token: 1 to 4096 visible ASCII characters are needed, without spaces and line breaks");
    }
    whole("deadlineMs", deadlineMs, 1, 86_400_000);
    whole("attemptMs", attemptMs, 1, 600_000);
    const world = options.fetch === undefined ? environment : { ...environment, fetch: options.fetch };
    this.#hasKey = key !== undefined;
    this.#caller = new Caller(address(options.url), bearer, deadlineMs, attemptMs, world);
  }

  /** Reads a campaign: its state, its times by the server's clock, and how much is left of each pool. */
  async campaign(campaign: string, options?: CallOptions): Promise<Doc.CampaignAnswer> {
    return this.#caller.read({ method: "GET", path: path(campaign) }, options);
  }

  /**
   * Claims a unit for a subject: 1 to 255 bytes, compared byte by byte. A claim is known by its campaign, pool and subject: asked for again
   * it is `already_won`, with the same rank and time.
   */
  async claim(campaign: string, what: Pick<Doc.ClaimRequest, "subject" | "pool">, options?: CallOptions): Promise<Doc.ClaimAnswer> {
    const { subject, pool } = what;
    return this.#caller.command(this.#post(`${path(campaign)}/claims`, { subject, pool }, ["won", "already_won"]), options);
  }

  /**
   * Claims units of a pool, and joins its waitlist if they are not free. One unit of a counted pool, and a code, is `won` at once if it is
   * free; more units, and seats, are `offered`: a hold to confirm or to release with {@link holdById}. A subject has one place in a pool:
   * asked again, the answer is as it stands then, whatever is wished for. `quantity` is 1 to 10.
   */
  async join(campaign: string, what: Omit<Doc.ClaimRequest, "wait">, options?: CallOptions): Promise<Doc.JoinAnswer> {
    optional(what.quantity, quantity => whole("quantity", quantity, 1, 10));
    for (const wish of ["grade", "channel", "area"] as const) optional(what[wish], value => text(wish, value, 64));
    const outcomes = ["won", "already_won", "offered", "waitlisted"];
    return this.#caller.command(this.#post(`${path(campaign)}/claims`, { ...what, wait: true }, outcomes), options);
  }

  /** Reads where a subject stands with the waitlist of a pool: how many are in front, or its offer. */
  async place(campaign: string, what: OfSubject & OfPool, options?: CallOptions): Promise<Doc.PlaceAnswer> {
    return this.#caller.read({ method: "GET", path: path(campaign, "waitlist", what), query: pool(what) }, options);
  }

  /** Takes a subject off the waitlist of a pool. An offer that it has ends, and goes to the next one. */
  async leave(campaign: string, what: OfSubject & OfPool, options?: CallOptions): Promise<Doc.LeaveAnswer> {
    const ask: Ask = { method: "DELETE", path: path(campaign, "waitlist", what), query: pool(what), yes: ["left_waitlist"] };
    return this.#caller.command(ask, options);
  }

  /** Cancels a claim in the name of its subject. Its `rank` is named, so that a repeated cancel cannot cancel a newer claim. */
  async cancel(campaign: string, what: OfSubject & OfPool & { rank: number }, options?: CallOptions): Promise<Doc.CancelAnswer> {
    const query = { ...pool(what), rank: whole("rank", what.rank, 1, 4_294_967_295), by: "subject" };
    return this.#caller.command({ method: "DELETE", path: path(campaign, "claims", what), query, yes: ["cancelled"] }, options);
  }

  /**
   * Sets units aside until a deadline: all that are picked, or none. The `id`, 1 to 64 bytes, makes it the same hold when it is asked for
   * again; one that nobody guesses is drawn for each call, if left out. Give one that is stored with the order where it must be found again
   * after this process ended.
   *
   * The answer can be used with `await using`: at the end of the block what was held by this call and not confirmed is released, also when
   * it throws. That never throws: what cannot be released expires. Not released is what a confirm whose end is unknown may have confirmed,
   * what the subject held before under another id (`already_held`), and what an `unknown` hold may have taken.
   */
  async hold(campaign: string, what: Doc.HoldRequest, options?: CallOptions): Promise<HoldAnswer> {
    const id = what.id ?? newId("hold");
    segment("id", id, 64);
    picks(what.picks);
    const waits = optional(what.wait_ms, ms => whole("wait_ms", ms, 0, 60_000)) ?? 0;
    const ask = this.#post(`${path(campaign)}/holds`, { ...what, id }, ["held", "already_held", "confirmed"]);
    return asBlock(this.#caller, await this.#caller.command({ ...ask, waits }, options), id);
  }

  /**
   * Takes a hold and runs a block with it, for where there is no `await using`. When the block returns or throws, what is not confirmed is
   * released by the same rules: confirm with `hold.confirm()` inside. Without a hold the block does not run.
   */
  async withHold<Returned>(
    campaign: string,
    what: Doc.HoldRequest,
    block: (hold: HeldHold) => Returned,
    options?: CallOptions,
  ): Promise<BlockAnswer<Awaited<Returned>>> {
    const hold = await this.hold(campaign, what, options);
    if (hold.outcome !== "held" && hold.outcome !== "already_held") return hold;
    try {
      return { outcome: "ran", value: await block(hold) };
    } finally {
      await hold[Symbol.asyncDispose]();
    }
  }

  /** The steps on a hold whose id is known: one that was stored, or an offer of a waitlist. Nothing is sent. */
  holdById(campaign: string, what: OfSubject & { hold: string }): Hold {
    return new Hold(this.#caller, campaign, what.subject, what.hold);
  }

  /**
   * Sets a use of a code aside for `ttl_ms`, 1,000 to 86,400,000; 15 minutes if left out. The code and the `reference`, 1 to 64 bytes such
   * as the id of an order, are the identity of this and the next steps.
   */
  async reserveCode(campaign: string, what: Doc.ReserveRequest, options?: CallOptions): Promise<Doc.ReserveCodeAnswer> {
    optional(what.ttl_ms, ms => whole("ttl_ms", ms, 1_000, 86_400_000));
    return this.#caller.command(codes(campaign, "reserve", what, ["reserved", "already_reserved"]), options);
  }

  /** Uses a code, reserved before or not. Name the customer who typed it in `for`: wrong codes are counted for it. */
  async redeemCode(campaign: string, what: Doc.RedeemRequest, options?: CallOptions): Promise<Doc.RedeemCodeAnswer> {
    return this.#caller.command(codes(campaign, "redeem", what, ["redeemed"]), options);
  }

  /** Undoes a redemption. The use comes back, unless the code has expired meanwhile (`expired`). */
  async rollBackCode(campaign: string, what: Doc.CodeStepRequest, options?: CallOptions): Promise<Doc.RollBackCodeAnswer> {
    return this.#caller.command(codes(campaign, "roll-back", what, ["rolled_back"]), options);
  }

  /** Gives a reservation back. */
  async releaseCode(campaign: string, what: Doc.CodeStepRequest, options?: CallOptions): Promise<Doc.ReleaseCodeAnswer> {
    return this.#caller.command(codes(campaign, "release", what, ["reservation_ended"]), options);
  }

  /** Reads how a code stands, whose it is and what was done with it; or the codes of a subject. */
  async lookUpCodes(campaign: string, what: Doc.CodeLookUpRequest, options?: CallOptions): Promise<Doc.CodesFoundAnswer> {
    if ((what.code === undefined) === (what.subject === undefined)) bad("name either a code or a subject");
    return this.#caller.read(codes(campaign, "look-up", what), options);
  }

  /**
   * The results of a campaign in their order, from the first one on, fetched page by page: `for await (const result of …)`. It ends at the
   * last one there is; to go on later, give the last `number` as `after`. A list that cannot be read is a {@link FirstcomeError}.
   */
  results(campaign: string, from: PageOptions = {}, options?: CallOptions): AsyncGenerator<Doc.Result, void, void> {
    return this.#pages("results", `${path(campaign)}/results`, from, {}, options);
  }

  /** Who has a unit of a pool now, by rank; otherwise as {@link results}. */
  winners(campaign: string, from: WinnerOptions = {}, options?: CallOptions): AsyncGenerator<Doc.Winner, void, void> {
    return this.#pages("winners", `${path(campaign)}/winners`, from, { ...pool(from), with_codes: from.with_codes }, options);
  }

  /** All claims of a subject in a campaign, the latest first in each pool, with those that are cancelled; read as {@link results}. */
  claims(campaign: string, of: OfSubject, options?: CallOptions): AsyncGenerator<Doc.Claim, void, void> {
    return this.#pages("claims", path(campaign, "claims", of), {}, {}, options);
  }

  /** Reads the map of a seated pool. Its `position` is where {@link events} go on. */
  async seats(campaign: string, what: { pool: string }, options?: CallOptions): Promise<Doc.SeatMapAnswer> {
    return this.#caller.read({ method: "GET", path: `${path(campaign)}/pools/${name("pool", what.pool)}/seats` }, options);
  }

  /**
   * Follows a campaign: `for await (const event of …)`. `after` is the position of a map or the `id` of an event; without one it begins
   * with a `reset`. Where the connection ends, breaks, or is silent for 45 s, it is made again from the last id, after the pause the server asks
   * for or one that grows to 30 s. It ends with the loop, with the signal (its reason is thrown), after an `end`, or with a
   * {@link FirstcomeError} where asking again is of no use.
   */
  events(
    campaign: string,
    from: { after?: string | undefined } = {},
    options: Pick<CallOptions, "signal"> = {},
  ): AsyncGenerator<CampaignEvent, void, void> {
    const query = { after: optional(from.after, after => text("after", after, 64)) };
    return follow(this.#caller, { method: "GET", path: `${path(campaign)}/events`, query, reads: true }, options.signal);
  }

  /**
   * Issues a token with which a browser acts for one subject in a campaign, or in all whose names begin with what stands before `*`. It
   * lasts `expires_in_s`, 1 to 2,678,400 seconds; 900 if left out. `cancel` says whether it may cancel.
   */
  async mintToken(what: Doc.TokenRequest, options?: CallOptions): Promise<Doc.MintTokenAnswer> {
    text("subject", what.subject, 255);
    if (what.campaign !== "*") name("campaign", what.campaign.replace(/\*$/, ""));
    optional(what.expires_in_s, seconds => whole("expires_in_s", seconds, 1, 2_678_400));
    return this.#caller.command({ method: "POST", path: "/v1/tokens", body: what, yes: ["minted"] }, options);
  }

  /** A command whose body names its subject, which a token has itself. */
  #post(to: string, body: Doc.ClaimRequest & { id?: string }, yes: readonly string[]): Ask {
    if (this.#hasKey || body.subject !== undefined) text("subject", body.subject, 255);
    pool(body);
    return { method: "POST", path: to, body, yes };
  }

  async *#pages<Line>(
    list: string,
    path: string,
    from: PageOptions,
    query: Ask["query"],
    options?: CallOptions,
  ): AsyncGenerator<Line, void, void> {
    const limit = whole("limit", from.limit ?? 1_000, 1, 10_000);
    let after: unknown = whole("after", from.after ?? 0, 0, Number.MAX_SAFE_INTEGER);
    while (typeof after === "number") {
      const ask: Ask = { method: "GET", path, query: { ...query, after, limit } };
      const page = await this.#caller.read<{ [field: string]: unknown }, string>(ask, options);
      // Who has no claim has an empty list of them.
      if (page.outcome === "refused" && page.reason === "no_such_claim") return;
      if (page.outcome === "refused") throw new FirstcomeError("rejected", sentence(page.problem), 1, page.problem);
      yield* page[list] as Line[];
      after = page["next"];
    }
  }
}

/** The path of a campaign, or of what a subject has in it. */
function path(campaign: string, part?: "claims" | "waitlist", of?: OfSubject): string {
  return `/v1/campaigns/${name("campaign", campaign)}${part ? `/${part}/${segment("subject", of?.subject, 255)}` : ""}`;
}

function pool(of: OfPool): { pool: string | undefined } {
  return { pool: optional(of.pool, one => name("pool", one)) };
}

/** A step on a code, or a look at codes. */
function codes(campaign: string, verb: string, body: Doc.CodeLookUpRequest & { reference?: string }, yes?: string[]): Ask {
  if (body.code === undefined ? yes : typeof body.code !== "string" || body.code === "") bad("code: what was typed is needed");
  if (yes) text("reference", body.reference, 64);
  optional(body.subject, subject => text("subject", subject, 255));
  optional(body.for, customer => text("for", customer, 255));
  pool(body);
  return { method: "POST", path: `${path(campaign)}/codes/${verb}`, body, ...(yes && { yes }) };
}

/** Accepts the address of a server. What is wrong stays out of the message: it may have a password. */
function address(of: string): string {
  if (!URL.canParse(of)) bad("url: an address like https://firstcome.example is needed");
  const url = new URL(of);
  if (url.protocol !== "http:" && url.protocol !== "https:") bad("url: it begins with http:// or https://");
  if (url.username || url.password) bad("url: it has a user or a password; give the key as key");
  if (url.search || url.hash) bad("url: it has a query or a fragment");
  return url.origin + url.pathname.replace(/\/+$/, "");
}
