/// <reference lib="esnext.disposable" preserve="true" />
export { Client, type ClientOptions, type JoinRequest, type OfPool, type OfSubject, type PageOptions } from "./client.js";
export { FirstcomeError, type Answer, type As, type CallOptions, type Found, type Refused, type Unknown } from "./answer.js";
export { type BlockAnswer, type Confirmed, type HeldHold, type Hold, type HoldAnswer, type Released, type SomeUnits } from "./holds.js";
export type { CampaignEvent, Own } from "./events.js";
export type * from "./documents.js";
