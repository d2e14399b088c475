/// <reference lib="esnext.disposable" preserve="true" />
export { Client, type ClientOptions, type OfPool, type OfSubject, type PageOptions, type WinnerOptions } from "./client.js";
export { FirstcomeError, type Answer, type As, type CallOptions, type Found, type Refused, type Unknown } from "./answer.js";
export type { BlockAnswer, HeldHold, Hold, HoldAnswer, SomeUnits } from "./holds.js";
export type { CampaignEvent, Own } from "./events.js";
export type * from "./documents.js";
