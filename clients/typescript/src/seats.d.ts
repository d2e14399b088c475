// The types of the element <firstcome-seats>, which `seats.mjs` writes from the scripts of the server's own page.

import type { Own } from "./events.js";

/** How the element knows what others do: at once, every few seconds, or not at the moment. */
export type SeatsLink = "live" | "polling" | "lost";

/** What the element tells the page around it. No event bubbles, and none can be cancelled. */
export interface SeatsEventMap {
  /** What the subject holds, or what is theirs, is now this. */
  basket: CustomEvent<{ holds: Own["holds"]; claims: Own["claims"] }>;
  /** Somebody wants to pay for this hold. */
  pay: CustomEvent<{ hold: Own["holds"][number] }>;
  /** A choice was refused; the element says so, too. The problem is one of the server, or of what the map knows already. */
  refused: CustomEvent<{ outcome: string; detail?: string }>;
  link: CustomEvent<{ link: SeatsLink }>;
  /** There is no token, or the server does not take it any more. */
  tokenneeded: CustomEvent<null>;
}

/** The element `<firstcome-seats>`. Its attributes are `server`, `campaign`, `pool`, `theme` and `lang`. */
export class FirstcomeSeats extends HTMLElement {
  /** The subject token. Without one the seats of a public campaign are shown, and none can be chosen. It cannot be read. */
  set token(token: string | null | undefined);
  /** What the subject holds, without the offers of a waitlist. */
  get holds(): Own["holds"];
  /** What is the subject's for good. */
  get claims(): Own["claims"];
  get link(): SeatsLink;
  addEventListener<K extends keyof SeatsEventMap>(
    type: K,
    listener: (this: FirstcomeSeats, event: SeatsEventMap[K]) => unknown,
    options?: boolean | AddEventListenerOptions,
  ): void;
  addEventListener(type: string, listener: EventListenerOrEventListenerObject | null, options?: boolean | AddEventListenerOptions): void;
  removeEventListener<K extends keyof SeatsEventMap>(
    type: K,
    listener: (this: FirstcomeSeats, event: SeatsEventMap[K]) => unknown,
    options?: boolean | EventListenerOptions,
  ): void;
  removeEventListener(type: string, listener: EventListenerOrEventListenerObject | null, options?: boolean | EventListenerOptions): void;
}

/** All texts of a language; `refused` has those of refusals by their outcome. */
export interface SeatsWords {
  refused: Record<string, string>;
  [name: string]: string | Record<string, string>;
}

/** The texts by language, at first `en` and `ko`. Another language is added before the element stands in the page. */
export const words: { en: SeatsWords; ko: SeatsWords; [language: string]: SeatsWords };

declare global {
  interface HTMLElementTagNameMap {
    "firstcome-seats": FirstcomeSeats;
  }
}
