// What a call comes to: a value where the rules decided or nobody can know, an error where something is broken.

import type { Problem } from "./documents.js";

/** Settings of one call, beside those of the client. */
export interface CallOptions {
  /**
   * Ends the call: it rejects with the signal's reason. A command may have happened all the same; make the same call again to learn.
   */
  signal?: AbortSignal | undefined;
  /** How long this call may take altogether, in milliseconds, 1 to 86,400,000. The client's, if left out. */
  deadlineMs?: number | undefined;
  /** The `position` of an earlier answer: what was decided there is seen in this one, on whichever server it is. */
  minPosition?: string | undefined;
}

/** The rules said no, and nothing changed; except with `refund_due`, which is a result. It is never asked again by itself. */
export interface Refused<Reason extends string = string> {
  readonly outcome: "refused";
  /** Why: a stable name. Later versions of the server may have more. */
  readonly reason: Reason | (string & {});
  /** The whole document: `problem.detail` is a sentence for people, `problem.opens_at` when it opens, and so on. */
  readonly problem: Problem;
  /**
   * Whether an earlier attempt of this call was sent and its answer lost. That attempt is almost always over. To be certain of the
   * no, make the same call again later.
   */
  readonly afterLostAttempt: boolean;
}

/** No answer came before the deadline, and it may have happened. */
export interface Unknown<Result = unknown> {
  readonly outcome: "unknown";
  /** What became of the last attempt. An earlier one may be the one that happened. */
  readonly why: string;
  /** How many requests were sent. */
  readonly attempts: number;
  /** What the server said last, where it said something. */
  readonly problem: Problem | undefined;
  /**
   * Finds out: makes the same request again, with the same identity. A yes is what happened, now or before, and it happened once. It is
   * `unknown` again if nobody can say within the deadline. What must not happen any more is not resolved: look what is there (`claims`,
   * `holdById`), and cancel or release it. After the end of this process the same call with the same arguments does the same; give a
   * hold an `id` of yours for that.
   */
  resolve(options?: CallOptions): Promise<Result>;
}

/** A document with each of these outcomes: a union in which a look at `outcome` tells them apart. */
export type As<Document, Outcome extends string> = Outcome extends unknown ? Document & { readonly outcome: Outcome } : never;

/** What a command came to: a yes with its document, a no with its reason, or that nobody knows. Look at `outcome`. */
export type Answer<Yes, Reason extends string> = Yes | Refused<Reason> | Unknown<Answer<Yes, Reason>>;

/** What a read came to: the document, or why there is none. */
export type Found<Document, Reason extends string> = As<Document, "found"> | Refused<Reason>;

/**
 * Something is broken. It is thrown; what the rules say is a value. No message and no field has the key. By `kind`:
 *
 * - `invalid_argument`: an argument cannot be right, and nothing was sent;
 * - `rejected`: the server turned the request down before its rules looked at it, and nothing changed: an unknown key
 *   (`problem.outcome` is `unauthorized`), a missing right, a wrong form. The same request will be turned down again. Also a list
 *   or a stream of a campaign that is not there;
 * - `unavailable`: there was no answer before the deadline, and nothing changed: the server could not be reached, or each time said
 *   that it cannot answer now (`problem.outcome` is `busy`, for example), or the call only reads. It may be made again later.
 */
export class FirstcomeError extends Error {
  override readonly name = "FirstcomeError";

  /** @internal */
  constructor(
    readonly kind: "invalid_argument" | "rejected" | "unavailable",
    message: string,
    /** How many requests were sent. */
    readonly attempts = 0,
    /** What the server said last, where it said something. `retry_after_ms` is when to ask again. */
    readonly problem: Problem | undefined = undefined,
  ) {
    super(message);
  }
}
