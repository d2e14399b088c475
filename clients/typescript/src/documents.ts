// Written by generate.mjs from docs/reference/openapi.json. Change nothing here.

import type { Answer, As, Found } from "./answer.js";

/** An answer that is not a yes (RFC 9457). */
export interface Problem {
  /** For `refund_due`, when it was decided. */
  at?: string;
  /** For `barred`, when the bar was set. */
  barred_at?: string;
  /** For `barred`, the name of the key that set the bar. */
  barred_by?: string;
  /** The campaign. */
  campaign?: string;
  /** Whether anything changed; `unknown` if it may have. */
  changed: "no" | "yes" | "unknown";
  /** `journal`, or `replica` if the state of this server was enough. */
  decided?: "journal" | "replica" | (string & {});
  /** One sentence about this problem. */
  detail: string;
  /** For `bad_seat` and `bad_code`, the errors, by line. */
  errors?: { line: number; why: string; }[];
  /** For `not_changeable`, the setting that cannot change. */
  field?: string;
  /** For a PUT with an archived name, an unused name. */
  free_name?: string;
  /** The hold; for `has_hold` the one that the subject has. */
  hold?: string;
  /** For `reissued_since`, the issue number of the present code. */
  issue?: number;
  /** For `level_too_low`, the level of the space. */
  level?: number;
  /** For `too_many_requests`, `too_many_streams` and `too_many_wrong_codes`, the limit. */
  limit?: string;
  /** For `too_big_for_memory`, the memory that this server may use. */
  limit_bytes?: number;
  /** For `import_incomplete`, how many lines the import has. */
  lines?: number;
  /** For `level_too_low`, the required level. */
  needed?: number;
  /** For `too_big_for_memory`, the required memory. */
  needed_bytes?: number;
  /** For `chunk_missing`, how many lines the import has. */
  next?: number;
  /** For `not_open`, the opening time, if there is one. */
  opens_at?: string;
  outcome: string;
  /** For seats sent with a campaign, their pool. */
  pool?: string;
  /** The position to which this answer belongs, if the state was read. */
  position?: string;
  /** For `not_eligible`, the reason of the team's own service; for `barred`, that of the operator. */
  reason?: string;
  /** Whether the same request may succeed later. */
  retry: boolean;
  /** For `too_many_requests` and `too_many_wrong_codes`, the milliseconds after which to try again. */
  retry_after_ms?: number;
  /** The HTTP status. */
  status: number;
  /** For `refund_due`, the owner of the hold. */
  subject?: string;
  /** One sentence about every problem with this outcome. */
  title: string;
  /** The page that explains it: `/problems/` and the outcome. */
  type: string;
  /** The units; for `unit_taken` all taken ones. */
  units?: Unit[];
  /** For `version_mismatch`, the version of the campaign. */
  version?: number;
}

/** A won unit. */
export interface Won {
  /** When it was won. */
  at: string;
  /** The campaign. */
  campaign: string;
  /** The code of a coded pool. */
  code?: string | null;
  /** `journal`, or `replica` if the state of this server was enough. */
  decided: "journal" | "replica" | (string & {});
  /** `won`, or `already_won` if the subject had it before. */
  outcome: "won" | "already_won";
  /** The pool. */
  pool: string;
  /** The position to which this answer belongs. */
  position: string;
  /** The rank in the pool, from 1, without gaps. */
  rank: number;
  /** Its owner. */
  subject: string;
}

/** A cancelled claim. */
export interface Cancelled {
  /** When it was cancelled the first time. */
  at: string;
  /** `subject` or `operator`: who cancelled it the first time. */
  by: "subject" | "operator" | (string & {});
  /** The campaign. */
  campaign: string;
  /** `journal`, or `replica` if the state of this server was enough. */
  decided: "journal" | "replica" | (string & {});
  /** Whether the subject is now excluded from the campaign by a bar. */
  kept_out?: boolean;
  /** `cancelled`. */
  outcome: "cancelled";
  /** The pool. */
  pool: string;
  /** The position to which this answer belongs. */
  position: string;
  /** Its rank, which is never used again. */
  rank: number;
  /** The owner of the claim. */
  subject: string;
}

/** One claim of a subject. */
export interface Claim {
  /** When it was won. */
  at: string;
  /** Its cancel; null while it is live. */
  cancelled?: { at: string; by: "subject" | "operator" | (string & {}); reason: string; } | null;
  /** Its code in a coded pool, while the claim is live: for the subject itself, and for keys with the role `redeem`. */
  code?: string | null;
  /** The id of its hold, if it was confirmed from one. */
  hold?: string | null;
  /** The pool. */
  pool: string;
  /** The rank in the pool. */
  rank: number;
  /** Its unit in a seated pool. */
  unit?: string | null;
}

/** A place on a waitlist, as the answer to a claim that waits. */
export interface Waitlisted {
  /** How many wait in front, whatever they wait for. */
  ahead: number;
  /** The campaign. */
  campaign: string;
  /** `journal`, or `replica` if the state of this server was enough. */
  decided: "journal" | "replica" | (string & {});
  /** How many offers the subject did not take. With the third one it is off the list. */
  offers_not_taken: number;
  /** `waitlisted`. */
  outcome: "waitlisted";
  /**
   * Whether something of what the subject wants was free since it joined, but too little or not together: others could
   * have it, and the subject kept its place.
   */
  passed_over: boolean;
  /** The pool. */
  pool: string;
  /** The position to which this answer belongs. */
  position: string;
  /** How many units the subject waits for. A repeated request does not change it. */
  quantity: number;
  /** Who waits. */
  subject: string;
}

/** Where a subject stands with the waitlist of a pool. */
export interface Place {
  /** Whether it waits for seats next to each other; only while it waits. */
  adjacent?: boolean | null;
  /** How many wait in front, whatever they wait for; only while the subject waits. */
  ahead?: number | null;
  /** The area it waits for. */
  area?: string | null;
  /** The campaign. */
  campaign: string;
  /** The channel it waits through. */
  channel?: string | null;
  /** Whether this data is known to be durable; `false` if it was not within 1 s. */
  durable: boolean;
  /** When the offer is over; later if the store is down meanwhile. */
  expires_at?: string | null;
  /** The price category it waits for. */
  grade?: string | null;
  /** The id of the hold, if it is offered: confirm or release it as any hold. */
  hold?: string | null;
  /** How many offers it did not take. With the third one it is off the list. */
  offers_not_taken: number;
  /** Whether something of what it wants was free since it joined, but too little or not together; only while it waits. */
  passed_over?: boolean | null;
  /** The pool. */
  pool: string;
  /** The position to which this answer belongs. */
  position: string;
  /** How many units the subject waits for, or has in the offer. */
  quantity: number;
  /** Since when it has this place; for an offer, since when it is made. */
  since: string;
  /** Whether this node's state may be out of date. */
  stale: boolean;
  /** `waits`, or `offered` if units are held for the subject until a deadline. */
  state: "waits" | "offered" | (string & {});
  /** The subject. */
  subject: string;
  /** The offered units. */
  units?: Unit[];
}

/** The end of a wait that the subject asked for. */
export interface LeftWaitlist {
  /** The campaign. */
  campaign: string;
  /** `journal`, or `replica` if the state of this server was enough. */
  decided: "journal" | "replica" | (string & {});
  /** `left_waitlist`. */
  outcome: "left_waitlist";
  /** The position to which this answer belongs. */
  position: string;
  /** The subject. */
  subject: string;
  /** Whether it was on the list, or had an offer, which is over now. */
  was_on: boolean;
}

/** Reserved units. */
export interface Held {
  /** The campaign. */
  campaign: string;
  /** `journal`, or `replica` if the state of this server was enough. */
  decided: "journal" | "replica" | (string & {});
  /** When the units are free again; later if the store is down meanwhile. */
  expires_at: string;
  /** The id of the hold. */
  hold: string;
  /** `true` if it is an offer from the waitlist: it is confirmed or released as it is. */
  offer?: boolean;
  /** `held`, or `already_held` if they were held before; `offered` if the waitlist holds them for a claim that waits. */
  outcome: "held" | "already_held" | "offered";
  /** The position to which this answer belongs. */
  position: string;
  /** The owner of the hold. */
  subject: string;
  /** All units of the hold. */
  units: Unit[];
}

/** An extended hold. */
export interface Extended {
  /** The campaign. */
  campaign: string;
  /** `journal`, or `replica` if the state of this server was enough. */
  decided: "journal" | "replica" | (string & {});
  /** When its units are free again; later if the store is down meanwhile. */
  expires_at: string;
  /** The id of the hold. */
  hold: string;
  /** `extended`. */
  outcome: "extended";
  /** The position to which this answer belongs. */
  position: string;
  /** The owner of the hold. */
  subject: string;
}

/** Confirmed or released units. */
export interface Ended {
  /** When the last of them was confirmed. */
  at?: string | null;
  /** The campaign. */
  campaign: string;
  /** `journal`, or `replica` if the state of this server was enough. */
  decided: "journal" | "replica" | (string & {});
  /** The id of the hold. */
  hold: string;
  /** How many units the hold still has. */
  left: number;
  /** `confirmed` or `released`. */
  outcome: "confirmed" | "released";
  /** The position to which this answer belongs. */
  position: string;
  /** Whether the hold had expired and its units were taken again. */
  retaken?: boolean | null;
  /** The owner of the hold. */
  subject: string;
  /** The units of the request; with their ranks if they are confirmed. */
  units: Unit[];
}

/** The current state of a hold, with its position. */
export interface HoldState {
  /** The campaign. */
  campaign: string;
  /** Whether this data is known to be durable; `false` if it was not within 1 s. */
  durable: boolean;
  /** When its units are free again, if it is live; later if the store is down meanwhile. */
  expires_at?: string | null;
  /** How many of its units are held. */
  held: number;
  /** The id of the hold. */
  hold: string;
  /** `true` if it is an offer from the waitlist: it is confirmed or released as it is. */
  offer?: boolean;
  /** The position to which this answer belongs. */
  position: string;
  /** Whether this node's state may be out of date. */
  stale: boolean;
  /** When it was made. */
  started_at: string;
  /** `live`, `confirmed`, `expired`, `released` or `refund_due`. */
  state: "live" | "confirmed" | "expired" | "released" | "refund_due" | (string & {});
  /** The owner of the hold. */
  subject: string;
  /** All its units, in any state. */
  units: Unit[];
}

/** A unit of a hold. Places of an area, and units of a counted pool, are one item with a `quantity`. */
export interface Unit {
  /** The area. */
  area?: string | null;
  /** Three capital letters. */
  currency?: string | null;
  /** Its price category. */
  grade?: string | null;
  /** The pool. */
  pool: string;
  /** The price of one unit, in the smallest unit of its currency. */
  price_minor?: number | null;
  /** The number of units, if they have no names. */
  quantity?: number | null;
  /** Its rank in its pool, if it is confirmed. */
  rank?: number | null;
  /** Its state: `held`, `confirmed`, `expired`, `released` or `refund_due`. */
  state?: "held" | "confirmed" | "expired" | "released" | "refund_due" | (string & {}) | null;
  /** The seat. */
  unit?: string | null;
}

/** A step on a code. No answer to a step has the code. */
export interface CodeStep {
  /** For `redeemed` and `rolled_back`, when it was the first time. */
  at?: string | null;
  /** The campaign. */
  campaign: string;
  /** `journal`, or `replica` if the state of this server was enough. */
  decided: "journal" | "replica" | (string & {});
  /** For `rolled_back`, whether the code had expired meanwhile: then its use did not come back. */
  expired?: boolean | null;
  /** For `reserved` and `already_reserved`, when the reservation ends. */
  expires_at?: string | null;
  /** `reserved`, `already_reserved`, `redeemed`, `rolled_back` or `reservation_ended`. */
  outcome: "reserved" | "already_reserved" | "redeemed" | "rolled_back" | "reservation_ended";
  /** The pool of the code. */
  pool: string;
  /** The position to which this answer belongs. */
  position: string;
  /** The rank of the code's claim. */
  rank: number;
  /** The reference. */
  reference: string;
}

/** Codes that were looked up. */
export interface CodesFound {
  /** The campaign. */
  campaign: string;
  /** The codes, the latest first in each pool: at most 100. */
  codes: Code[];
  /** Whether this data is known to be durable; `false` if it was not within 1 s. */
  durable: boolean;
  /** Whether there are more codes, or more references or marks of one, than are shown. */
  more: boolean;
  /** The position to which this answer belongs. */
  position: string;
  /** Whether this node's state may be out of date. */
  stale: boolean;
}

/** An issued code and its history. */
export interface Code {
  /** The code that the claim has now; a code that was replaced is not shown. */
  code: string;
  /** From when on it cannot be redeemed; null for never. */
  expires_at?: string | null;
  /** The issue number of the code that the claim has now: 1, and one more each time it was replaced. */
  issue: number;
  /** When the claim was won. */
  issued_at: string;
  /** What operators did to it, in order: at most the latest 1,000 in an answer. */
  marks: CodeMark[];
  /** Its pool. */
  pool: string;
  /** The rank of its claim. */
  rank: number;
  /** How many of them are gone. */
  redeemed: number;
  /** What was done with it under references, the latest first: at most 1,000 in an answer. */
  references: CodeUse[];
  /** How many of them are reserved. */
  reserved: number;
  /**
   * `issued`, `reserved`, `redeemed`, `expired`, `suspended` or `revoked`. A code that was looked up by its text and has been
   * replaced is `revoked`.
   */
  standing: "issued" | "reserved" | "redeemed" | "expired" | "suspended" | "revoked" | (string & {});
  /** Its holder. */
  subject: string;
  /** How many times it can be redeemed. */
  uses: number;
}

/** A use of a code. */
export interface CodeUse {
  /** When this state began; of `over`, when it was reserved. */
  at: string;
  /** For `rolled_back`, whether the code had expired meanwhile: then its use did not come back. */
  expired?: boolean | null;
  /** For `reserved`, when the reservation ends. */
  expires_at?: string | null;
  /** For `rolled_back`, when it had been redeemed. */
  redeemed_at?: string | null;
  /** The reference. */
  reference: string;
  /** `reserved`, `over` (the reservation has expired), `released`, `redeemed` or `rolled_back`. */
  state: "reserved" | "over" | "released" | "redeemed" | "rolled_back" | (string & {});
  /** Who used it, if somebody else than its holder was named. */
  subject?: string | null;
}

/** What an operator did to a code. */
export interface CodeMark {
  /** When. */
  at: string;
  /** The issue number from then on. */
  issue: number;
  /** The reason; empty if there is none. */
  reason: string;
  /** `revoke`, `suspend`, `restore` or `reissue`. */
  what: "revoke" | "suspend" | "restore" | "reissue" | (string & {});
  /** The name of the key it was done with. */
  who: string;
}

/** A page of results. */
export interface ResultPage {
  /**
   * Whether this data is known to be durable; in the other formats the header `firstcome-durable: false` says that it is
   * not.
   */
  durable: boolean;
  /** The number of the last result of the space. */
  last: number;
  /** The `after` of the next page; null if this is the last one so far. */
  next?: number | null;
  /** The position to which this answer belongs. */
  position: string;
  /** The results, by number. */
  results: Result[];
}

/** One result. */
export interface Result {
  /** When it happened. */
  at: string;
  /** Who cancelled a claim: `subject` or `operator`. */
  by?: "subject" | "operator" | (string & {}) | null;
  /** The campaign. */
  campaign: string;
  /** The id of its hold, if it was confirmed from one. */
  hold?: string | null;
  /** For `code_marked` of a whole import, its id. */
  import?: string | null;
  /** For `code_marked` of one code, its issue number from then on. */
  issue?: number | null;
  /** `claim`, `cancel`, `refund_due`, `moved`, `redeemed`, `rolled_back`, `code_marked` or `unserved`. */
  kind: "claim" | "cancel" | "refund_due" | "moved" | "redeemed" | "rolled_back" | "code_marked" | "unserved" | (string & {});
  /** The old unit of a move. */
  moved_from?: string | null;
  /** 1, 2, 3 over all campaigns of the space; those of one campaign have gaps. */
  number: number;
  /** The pool. */
  pool: string;
  /** For `unserved`, how many units the subject waited for. */
  quantity?: number | null;
  /** The rank; 0 if there is no claim. */
  rank: number;
  /** Why a claim was undone, a seat moved or a code marked; for `unserved` `ended`, `not_taken` or `limit_reached`. */
  reason?: string | null;
  /** For `redeemed` and `rolled_back`, the reference: an order or a payment. */
  reference?: string | null;
  /** The subject of the result. */
  subject: string;
  /** The unit of a seated pool; the new one for a move. */
  unit?: string | null;
  /** Who used the code, if that is not its holder. */
  used_by?: string | null;
  /**
   * For `code_marked`, `revoke`, `suspend`, `restore` or `reissue`; for `rolled_back` `expired` if the use did not come
   * back.
   */
  verdict?: string | null;
}

/** A page of winners of one pool. */
export interface WinnerPage {
  /**
   * Whether this data is known to be durable; in the other formats the header `firstcome-durable: false` says that it is
   * not.
   */
  durable: boolean;
  /** The last rank given in the pool, cancelled or not. */
  last_rank: number;
  /** The `after` of the next page; null if this is the last one so far. */
  next?: number | null;
  /** The position to which this answer belongs. */
  position: string;
  /** The winners, by rank. Cancelled claims are left out. */
  winners: Winner[];
}

/** A live claim. */
export interface Winner {
  /** When it was won. */
  at: string;
  /** The campaign. */
  campaign: string;
  /** Its code in a coded pool, if `with_codes` asks for it. */
  code?: string | null;
  /** The id of its hold, if it was confirmed from one. */
  hold?: string | null;
  /** The pool. */
  pool: string;
  /** The rank in the pool. */
  rank: number;
  /** Its owner. */
  subject: string;
  /** The current unit of the subject in a seated pool. */
  unit?: string | null;
}

/**
 * The current state of a campaign, for a page. `live_holds` and `unsettled` are only in answers to keys, not to subject
 * tokens.
 */
export interface Campaign {
  /** Whether a hold may leave a single free seat between taken ones. */
  allow_orphans: boolean;
  /** A page should ask again after this time, in milliseconds. */
  ask_again_ms: number;
  /** Its name. */
  campaign: string;
  /** Whether a subject that cancelled may claim again. */
  claim_again: boolean;
  /** When it was closed. */
  closed_at?: string | null;
  /** When it closes; null for never. */
  closes_at?: string | null;
  /** Milliseconds until it closes: 0 after that, null if it never closes. */
  closes_in_ms?: number | null;
  /** When it was created. */
  created_at: string;
  /** Whether this data is known to be durable; `false` if it was not within 1 s. */
  durable: boolean;
  /** The longest time of a hold with extensions, from its start. */
  hold_max_ms: number;
  /** How long a hold lasts. */
  hold_ttl_ms: number;
  /** How many live holds one subject may have: `one` or `many`. */
  holds: string;
  /** How many holds one subject may start in an hour. */
  holds_per_hour: number;
  /** Units that are free in all pools. */
  left: number;
  /** The limits of one subject. */
  limits: Limits;
  /** The number of live holds. */
  live_holds?: number | null;
  /** The server's time. */
  now: string;
  /** How long an offer to somebody on a waitlist lasts. */
  offer_ms?: number | null;
  /** When it opens; null for a draft. */
  opens_at?: string | null;
  /** Milliseconds until it opens: 0 after that, null for a draft. */
  opens_in_ms?: number | null;
  /** Its pools. */
  pools: Pool[];
  /** The position to which this answer belongs. */
  position: string;
  /** Whether everybody may read it, its map and its events, without a key. */
  public?: boolean;
  /** Whether this node's state may be out of date. */
  stale: boolean;
  /** `draft`, `scheduled`, `open`, `paused` or `closed`. */
  state: "draft" | "scheduled" | "open" | "paused" | "closed" | (string & {});
  /** The title for people. */
  title: string;
  /** Whether a cancelled unit goes back to its pool. */
  units_return: boolean;
  /** Results of this campaign that the ledger does not have yet. */
  unsettled?: number | null;
  /** Increases with every change; send it in `If-Match`. */
  version: number;
}

/**
 * The current state of a pool. `held`, `blocked`, `last_rank`, `cancelled` and `offered` are only in answers to keys, not
 * to subject tokens.
 */
export interface Pool {
  /** Units that are blocked. */
  blocked?: number | null;
  /** Claims that were cancelled. */
  cancelled?: number | null;
  /** All its units; of a seated pool, those that were added. */
  capacity: number;
  /** The codes of a coded pool. */
  codes?: { key?: string | null; only_by_holder: boolean; source: string; uses: number; uses_per_subject?: number | null; valid_for_ms?: number | null; valid_until?: string | null; } | null;
  /** Units that are reserved until a deadline. */
  held?: number | null;
  /** `counted`, `seated` or `coded`. */
  kind: "counted" | "seated" | "coded" | (string & {});
  /** The last rank given. */
  last_rank?: number | null;
  /** Units that are free and for sale. */
  left: number;
  /** How many units of it one subject may have. */
  limit?: number | null;
  /** Its name. */
  name: string;
  /** How many have an offer of its units. */
  offered?: number | null;
  /** Units that are not free. */
  taken: number;
  /** How many wait for its units. */
  waiting?: number;
  /** How many may wait for its units at most. */
  waitlist?: number | null;
}

/** The limits of one subject. */
export interface Limits {
  /** Units over all pools, held and claimed together. */
  campaign?: number | null;
  /** By price category, if there are such limits. */
  grades?: Record<string, number>;
}

/** The map of a seated pool. With `standing=1` it has no `rows`, `areas` and `groups`. */
export interface SeatMap {
  /** Left, held, confirmed and blocked of each area. */
  area_standing: number[][];
  /** Its areas. */
  areas?: SeatMapArea[];
  /** The campaign. */
  campaign: string;
  /** Its groups. */
  groups?: SeatMapGroup[];
  /** The pool. */
  pool: string;
  /** The position to which this answer belongs. */
  position: string;
  /** Its rows. */
  rows?: SeatMapRow[];
  /** A letter for each seat, in the order of adding: `.` free, `-` not for sale, `h` held, `c` confirmed, `b` blocked. */
  standing: string;
}

/** A row of seats. */
export interface SeatMapRow {
  /** Whether it is accessible: one value if it is the same for all seats, otherwise a list with a value for each. */
  accessible?: boolean | (boolean | null)[];
  /** The channel that sells it: one value if it is the same for all seats, otherwise a list with a value for each. */
  channel?: string | (string | null)[];
  /** Whether it is for a companion: one value if it is the same for all seats, otherwise a list with a value for each. */
  companion?: boolean | (boolean | null)[];
  /** Three capital letters: one value if it is the same for all seats, otherwise a list with a value for each. */
  currency?: string | (string | null)[];
  /** The caller's own text: one value if it is the same for all seats, otherwise a list with a value for each. */
  extra?: string | (string | null)[];
  /** The number of its first seat, if the numbers follow each other. */
  first?: number;
  /** Its price category: one value if it is the same for all seats, otherwise a list with a value for each. */
  grade?: string | (string | null)[];
  /** The group it is sold with: one value if it is the same for all seats, otherwise a list with a value for each. */
  group?: string | (string | null)[];
  /** The rest of the name of each seat. */
  names: string[];
  /** The number on the seat; left out if it is the rest of the name: one value if it is the same for all seats, otherwise a list with a value for each. */
  number?: string | (string | null)[];
  /** The common beginning of the names of its seats. */
  prefix: string;
  /** Its price in the smallest unit of `currency`: one value if it is the same for all seats, otherwise a list with a value for each. */
  price_minor?: number | (number | null)[];
  /** How good it is, 0 best: one value if it is the same for all seats, otherwise a list with a value for each. */
  quality?: number | (number | null)[];
  /** Its name. */
  row: string;
  /** The numbers of its seats, if they do not. */
  seats?: number[];
  /** Its section. */
  section: string;
  /** Where to draw it, from the left: one value if it is the same for all seats, otherwise a list with a value for each. */
  x?: number | (number | null)[];
  /** Where to draw it, from the top: one value if it is the same for all seats, otherwise a list with a value for each. */
  y?: number | (number | null)[];
}

/** An area of general admission. */
export interface SeatMapArea {
  /** How many places it has. */
  capacity: number;
  /** The channel that sells it; any channel if empty. */
  channel: string;
  /** Three capital letters. */
  currency: string | null;
  /** The caller's own text. */
  extra: string;
  /** Whether it is for sale. */
  for_sale: boolean;
  /** Its price category. */
  grade: string;
  /** Its name. */
  name: string;
  /** The price of a place, in the smallest unit of `currency`. */
  price_minor: number | null;
}

/** Seats that are sold together. */
export interface SeatMapGroup {
  /** Its name. */
  name: string;
  /** The numbers of its seats. */
  seats: number[];
}

/** The changes of a pool. */
export interface PoolChange {
  /** The changed areas. */
  areas?: number[][];
  /** Units that are free and for sale. */
  left: number;
  /** The pool. */
  pool: string;
  /** The numbers of the changed seats, by their new letter. */
  seats?: Record<string, number[]>;
}

/** A token. */
export interface Minted {
  /** The name of the campaign, or the beginning of names followed by `*`. */
  campaign: string;
  /** Whether it allows cancels. */
  cancel: boolean;
  /** When it expires. */
  expires_at: string;
  /** `minted`. */
  outcome: "minted";
  /** The subject of the token. */
  subject: string;
  /** The token; the browser sends `Authorization: Bearer TOKEN`. */
  token: string;
}

/** A claim: the subject, and the pool; and, if it waits, what for. */
export interface ClaimRequest {
  /** With `wait`, only seats next to each other in one row. */
  adjacent?: boolean | undefined;
  /** With `wait`, places of this area, and no seats. */
  area?: string | undefined;
  /** With `wait`, the channel of the seller: only with it can its reserved seats be had. */
  channel?: string | undefined;
  /** With `wait`, only seats of this price category. */
  grade?: string | undefined;
  /** The pool; may be left out if the campaign has one. */
  pool?: string | undefined;
  /** With `wait`, how many units, which come together or not at all: 1 to 10; 1 if left out. */
  quantity?: number | undefined;
  /**
   * The subject: 1 to 255 bytes of UTF-8 without control characters. Required with a key; a subject token contains its
   * subject.
   */
  subject?: string | undefined;
  /** Whether to join the waitlist of the pool if what is wanted is not free. */
  wait?: boolean | undefined;
}

/** A hold: the subject, and the units. */
export interface HoldRequest {
  /**
   * The id of the hold, 1 to 64 bytes: a repeated request with the same id is the same hold. `Idempotency-Key` has the same
   * meaning. Without either, the server generates one.
   */
  id?: string | undefined;
  /** The units: all of them or none. */
  picks: UnitPick[];
  /**
   * The subject: 1 to 255 bytes of UTF-8 without control characters. Required with a key; a subject token contains its
   * subject.
   */
  subject?: string | undefined;
  /** How long to wait for named seats that are taken: 0 to 3,000; more counts as 3,000. No wait if left out. */
  wait_ms?: number | undefined;
}

/** Some units of one pool: `units` by name, or a `quantity` (of an `area`, or of a counted pool), or the `best` seats. */
export interface UnitPick {
  /** Whether the best seats must be marked as accessible. */
  accessible?: boolean | undefined;
  /** Whether the best seats must be next to each other; yes if left out. */
  adjacent?: boolean | undefined;
  /** The area of `quantity`. */
  area?: string | undefined;
  /** A number of best seats: 1 to 100. */
  best?: number | undefined;
  /** The channel of the seller: only with it can its reserved seats be held. */
  channel?: string | undefined;
  /** Three capital letters. */
  currency?: string | undefined;
  /** The best of this price category only. */
  grade?: string | undefined;
  /** The pool; may be left out if the campaign has one. */
  pool?: string | undefined;
  /** The best at this price only, in the smallest unit of `currency`. */
  price_minor?: number | undefined;
  /** How many places of the area, or units of a counted pool: 1 to 500. */
  quantity?: number | undefined;
  /** Names of seats, of groups (all their seats), or of areas (one place each). */
  units?: string[] | undefined;
}

/** Units to add to a hold, or to give back. */
export interface ChangeRequest {
  /** The units, in the form of a hold. */
  picks?: UnitPick[] | undefined;
  /** The pool of `units`; may be left out if the campaign has one. */
  pool?: string | undefined;
  /** The owner of the hold. Required with a key; a subject token contains its subject. */
  subject?: string | undefined;
  /** Names of units of the only pool, or of `pool`. */
  units?: string[] | undefined;
}

/** The units to confirm. */
export interface ConfirmRequest {
  /** The answer to a late confirm. */
  late?: Late | undefined;
  /** The units, in the form of a hold. */
  picks?: UnitPick[] | undefined;
  /** The pool of `units`; may be left out if the campaign has one. */
  pool?: string | undefined;
  /** The owner of the hold. */
  subject: string;
  /** Names of units of the only pool, or of `pool`; all held units if none is named. */
  units?: string[] | undefined;
}

/** The new time of a hold. */
export interface ExtendRequest {
  /** The owner of the hold. Required with a key; a subject token contains its subject. */
  subject?: string | undefined;
  /** The time from now; the campaign's time of a hold if left out. */
  ttl_ms?: number | undefined;
}

/** The answer to a confirm after the hold has expired. */
export type Late = "refuse" | "retake";

/** A use of a code is set aside. */
export interface ReserveRequest {
  /** The code as it was typed. */
  code: string;
  /** The caller's customer who typed the code, 1 to 255 bytes: wrong codes are counted for it. */
  for?: string | undefined;
  /** The pool; if left out, every coded pool of the campaign is tried. */
  pool?: string | undefined;
  /**
   * The caller's name for this use, such as the id of an order: 1 to 64 bytes. Code and reference are the identity of the
   * step.
   */
  reference: string;
  /** Who uses it. Required where only its holder may; a subject token contains its subject. */
  subject?: string | undefined;
  /** For how long: 1,000 to 86,400,000; 900,000 (15 minutes) if left out. */
  ttl_ms?: number | undefined;
}

/** A code is used. */
export interface RedeemRequest {
  /** The code as it was typed. */
  code: string;
  /** The caller's customer who typed the code, 1 to 255 bytes: wrong codes are counted for it. */
  for?: string | undefined;
  /** The pool; if left out, every coded pool of the campaign is tried. */
  pool?: string | undefined;
  /** The caller's name for this use, such as the id of an order: 1 to 64 bytes. */
  reference: string;
  /** Who uses it. Required where only its holder may. */
  subject?: string | undefined;
}

/** A redemption is undone, or a reservation is given back. */
export interface CodeStepRequest {
  /** The code as it was typed. */
  code: string;
  /** The caller's customer who typed the code, 1 to 255 bytes: wrong codes are counted for it. */
  for?: string | undefined;
  /** The pool; if left out, every coded pool of the campaign is tried. */
  pool?: string | undefined;
  /** The reference of the redemption or of the reservation. */
  reference: string;
}

/** Codes are looked up: by their text, or by their holder. Exactly one of `code` and `subject`. */
export interface CodeLookUpRequest {
  /** The code as it was typed. */
  code?: string | undefined;
  /** The caller's customer who typed the code, 1 to 255 bytes: wrong codes are counted for it. */
  for?: string | undefined;
  /** The pool; if left out, every coded pool of the campaign. */
  pool?: string | undefined;
  /** The holder. */
  subject?: string | undefined;
}

/** The subject and the campaigns of a token. */
export interface TokenRequest {
  /** The name of the campaign, or the beginning of names followed by `*`. */
  campaign: string;
  /** Whether it allows cancels; no if left out. */
  cancel?: boolean | undefined;
  /** How long it is valid, in seconds, 1 to 2,678,400 (31 days); 900 if left out. */
  expires_in_s?: number | undefined;
  /** The subject of the token: 1 to 255 bytes of UTF-8 without control characters. */
  subject: string;
}

/** Why `ClaimAnswer` can be a refusal. Later versions may add more. */
export type ClaimReason =
  | "pool_required"
  | "barred"
  | "not_eligible"
  | "not_found"
  | "no_such_unit"
  | "level_too_low"
  | "already_cancelled"
  | "paused"
  | "not_open"
  | "hold_required"
  | "limit_reached"
  | "sold_out"
  | "no_waitlist"
  | "waitlist_full"
  | "too_many_wishes"
  | "not_seated"
  | "space_moved"
  | "archived"
  | "closed";
/** What `claim` comes to. */
export type ClaimAnswer = Answer<As<Won, "already_won" | "won">, ClaimReason>;

/** Why `JoinAnswer` can be a refusal. Later versions may add more. */
export type JoinReason =
  | "pool_required"
  | "barred"
  | "not_eligible"
  | "not_found"
  | "no_such_unit"
  | "level_too_low"
  | "already_cancelled"
  | "paused"
  | "not_open"
  | "hold_required"
  | "limit_reached"
  | "sold_out"
  | "no_waitlist"
  | "waitlist_full"
  | "too_many_wishes"
  | "not_seated"
  | "space_moved"
  | "archived"
  | "closed";
/** What `claim` comes to. */
export type JoinAnswer = Answer<As<Won, "already_won" | "won"> | As<Held, "offered"> | As<Waitlisted, "waitlisted">, JoinReason>;

/** Why `CancelAnswer` can be a refusal. Later versions may add more. */
export type CancelReason =
  | "pool_required"
  | "not_found"
  | "no_such_claim"
  | "level_too_low"
  | "code_in_use"
  | "space_moved"
  | "archived";
/** What `cancel_claim` comes to. */
export type CancelAnswer = Answer<As<Cancelled, "cancelled">, CancelReason>;

/** Why `PlaceAnswer` can be a refusal. Later versions may add more. */
export type PlaceReason =
  | "pool_required"
  | "not_found"
  | "not_on_waitlist"
  | "archived";
/** What `show_place` comes to. */
export type PlaceAnswer = Found<Place, PlaceReason>;

/** Why `LeaveAnswer` can be a refusal. Later versions may add more. */
export type LeaveReason =
  | "pool_required"
  | "not_found"
  | "level_too_low"
  | "space_moved"
  | "archived";
/** What `leave_waitlist` comes to. */
export type LeaveAnswer = Answer<As<LeftWaitlist, "left_waitlist">, LeaveReason>;

/** Why `TakeHoldAnswer` can be a refusal. Later versions may add more. */
export type TakeHoldReason =
  | "pool_required"
  | "barred"
  | "not_eligible"
  | "not_found"
  | "no_such_unit"
  | "level_too_low"
  | "already_cancelled"
  | "paused"
  | "not_open"
  | "not_seated"
  | "not_for_sale"
  | "unit_taken"
  | "sold_out"
  | "limit_reached"
  | "orphan_left"
  | "has_hold"
  | "refund_due"
  | "claim_required"
  | "space_moved"
  | "archived"
  | "closed"
  | "hold_expired"
  | "hold_released"
  | "too_many_units"
  | "id_reused"
  | "too_many_holds";
/** What `hold` comes to. */
export type TakeHoldAnswer = Answer<As<Held, "already_held" | "held"> | As<Ended, "confirmed">, TakeHoldReason>;

/** Why `AddAnswer` can be a refusal. Later versions may add more. */
export type AddReason =
  | "pool_required"
  | "not_yours"
  | "barred"
  | "not_eligible"
  | "not_found"
  | "no_such_hold"
  | "no_such_unit"
  | "level_too_low"
  | "already_confirmed"
  | "already_cancelled"
  | "paused"
  | "not_open"
  | "not_seated"
  | "not_for_sale"
  | "unit_taken"
  | "sold_out"
  | "limit_reached"
  | "orphan_left"
  | "is_offer"
  | "claim_required"
  | "space_moved"
  | "archived"
  | "hold_expired"
  | "hold_released"
  | "closed"
  | "id_reused"
  | "too_many_units";
/** What `add_to_hold` comes to. */
export type AddAnswer = Answer<As<Held, "already_held" | "held">, AddReason>;

/** Why `DropAnswer` can be a refusal. Later versions may add more. */
export type DropReason =
  | "pool_required"
  | "not_yours"
  | "not_found"
  | "no_such_hold"
  | "no_such_unit"
  | "level_too_low"
  | "already_confirmed"
  | "not_seated"
  | "not_for_sale"
  | "is_offer"
  | "space_moved"
  | "archived"
  | "hold_expired"
  | "hold_released"
  | "id_reused";
/** What `drop_from_hold` comes to. */
export type DropAnswer = Answer<As<Held, "already_held" | "held">, DropReason>;

/** Why `ExtendAnswer` can be a refusal. Later versions may add more. */
export type ExtendReason =
  | "not_yours"
  | "not_found"
  | "no_such_hold"
  | "level_too_low"
  | "already_confirmed"
  | "space_moved"
  | "archived"
  | "hold_expired"
  | "hold_released"
  | "id_reused";
/** What `extend_hold` comes to. */
export type ExtendAnswer = Answer<As<Extended, "extended">, ExtendReason>;

/** Why `ConfirmAnswer` can be a refusal. Later versions may add more. */
export type ConfirmReason =
  | "pool_required"
  | "not_yours"
  | "barred"
  | "not_found"
  | "no_such_hold"
  | "no_such_unit"
  | "level_too_low"
  | "not_seated"
  | "not_for_sale"
  | "not_held"
  | "refund_due"
  | "space_moved"
  | "archived"
  | "hold_released"
  | "hold_expired"
  | "id_reused";
/** What `confirm_hold` comes to. */
export type ConfirmAnswer = Answer<As<Ended, "confirmed">, ConfirmReason>;

/** Why `ReleaseAnswer` can be a refusal. Later versions may add more. */
export type ReleaseReason =
  | "pool_required"
  | "not_yours"
  | "not_found"
  | "no_such_hold"
  | "no_such_unit"
  | "level_too_low"
  | "not_seated"
  | "not_for_sale"
  | "not_held"
  | "already_confirmed"
  | "space_moved"
  | "archived"
  | "hold_expired"
  | "id_reused";
/** What `release_hold` comes to. */
export type ReleaseAnswer = Answer<As<Ended, "released">, ReleaseReason>;

/** Why `HoldStateAnswer` can be a refusal. Later versions may add more. */
export type HoldStateReason =
  | "not_yours"
  | "not_found"
  | "no_such_hold"
  | "archived";
/** What `show_hold` comes to. */
export type HoldStateAnswer = Found<HoldState, HoldStateReason>;

/** Why `ReserveCodeAnswer` can be a refusal. Later versions may add more. */
export type ReserveCodeReason =
  | "not_yours"
  | "barred"
  | "not_found"
  | "no_such_code"
  | "level_too_low"
  | "not_coded"
  | "not_issued"
  | "already_redeemed"
  | "code_suspended"
  | "limit_reached"
  | "code_used"
  | "code_reserved"
  | "too_many_references"
  | "reused_since"
  | "space_moved"
  | "archived"
  | "code_revoked"
  | "code_expired"
  | "malformed"
  | "subject_required"
  | "id_reused"
  | "too_many_wrong_codes";
/** What `reserve_code` comes to. */
export type ReserveCodeAnswer = Answer<As<CodeStep, "already_reserved" | "reserved">, ReserveCodeReason>;

/** Why `RedeemCodeAnswer` can be a refusal. Later versions may add more. */
export type RedeemCodeReason =
  | "not_yours"
  | "barred"
  | "not_found"
  | "no_such_code"
  | "level_too_low"
  | "not_coded"
  | "not_issued"
  | "already_rolled_back"
  | "code_suspended"
  | "limit_reached"
  | "code_used"
  | "code_reserved"
  | "too_many_references"
  | "space_moved"
  | "archived"
  | "code_revoked"
  | "code_expired"
  | "malformed"
  | "subject_required"
  | "id_reused"
  | "too_many_wrong_codes";
/** What `redeem_code` comes to. */
export type RedeemCodeAnswer = Answer<As<CodeStep, "redeemed">, RedeemCodeReason>;

/** Why `RollBackCodeAnswer` can be a refusal. Later versions may add more. */
export type RollBackCodeReason =
  | "not_found"
  | "no_such_code"
  | "level_too_low"
  | "not_coded"
  | "not_issued"
  | "not_redeemed"
  | "space_moved"
  | "archived"
  | "malformed"
  | "too_many_wrong_codes";
/** What `roll_back_code` comes to. */
export type RollBackCodeAnswer = Answer<As<CodeStep, "rolled_back">, RollBackCodeReason>;

/** Why `ReleaseCodeAnswer` can be a refusal. Later versions may add more. */
export type ReleaseCodeReason =
  | "not_found"
  | "no_such_code"
  | "level_too_low"
  | "not_coded"
  | "not_issued"
  | "not_reserved"
  | "already_redeemed"
  | "already_rolled_back"
  | "space_moved"
  | "archived"
  | "malformed"
  | "too_many_wrong_codes";
/** What `release_code` comes to. */
export type ReleaseCodeAnswer = Answer<As<CodeStep, "reservation_ended">, ReleaseCodeReason>;

/** Why `CodesFoundAnswer` can be a refusal. Later versions may add more. */
export type CodesFoundReason =
  | "not_found"
  | "no_such_code"
  | "no_such_claim"
  | "not_coded"
  | "not_issued"
  | "archived"
  | "malformed"
  | "too_many_wrong_codes";
/** What `look_up_codes` comes to. */
export type CodesFoundAnswer = Found<CodesFound, CodesFoundReason>;

/** Why `CampaignAnswer` can be a refusal. Later versions may add more. */
export type CampaignReason =
  | "not_found"
  | "archived";
/** What `show_campaign` comes to. */
export type CampaignAnswer = Found<Campaign, CampaignReason>;

/** Why `SeatMapAnswer` can be a refusal. Later versions may add more. */
export type SeatMapReason =
  | "not_found"
  | "not_seated"
  | "archived";
/** What `show_seats` comes to. */
export type SeatMapAnswer = Found<SeatMap, SeatMapReason>;

/** Why `MintTokenAnswer` can be a refusal. Later versions may add more. */
export type MintTokenReason = never;
/** What `mint_token` comes to. */
export type MintTokenAnswer = Answer<As<Minted, "minted">, MintTokenReason>;

/** Outcomes that are no decisions of the rules. */
export const NOT_OF_THE_RULES: ReadonlySet<string> = new Set([
  "busy",
  "outbox_full",
  "store_full",
  "unavailable",
  "unknown",
  "stale_position",
  "nothing_lost",
  "level_not_read",
  "beyond_results",
  "tag_required",
  "invalid_request",
  "invalid_subject",
  "invalid_settings",
  "too_big_for_memory",
  "unsupported_media_type",
  "not_acceptable",
  "too_large",
  "timeout",
  "unauthorized",
  "eligibility_unknown",
  "token_expired",
  "forbidden",
  "origin_not_allowed",
  "no_such_route",
  "method_not_allowed",
  "too_many_connections",
  "too_many_requests",
  "too_many_streams",
  "no_ledger",
  "no_such_webhook",
  "too_many_webhooks",
]);
