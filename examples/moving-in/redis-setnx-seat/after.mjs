// Seats that are held with Firstcome.
import { Client } from "firstcome-client";

const firstcome = new Client({ url: process.env.FIRSTCOME_URL, key: process.env.FIRSTCOME_KEY });

/** Gives a basket, or null if somebody else has the seat. */
export async function hold(show, seat, customer) {
  const answer = known(await firstcome.hold(show, { subject: customer, picks: [{ units: [seat] }] }));
  if (answer.reason === "unit_taken") return null;
  if (answer.outcome === "refused") throw new Error(answer.problem.detail);
  return { show, customer, id: answer.hold };
}

/** After the payment. Gives false if it comes too late: the money goes back. */
export async function confirm({ show, customer, id }) {
  return known(await firstcome.holdById(show, { subject: customer, hold: id }).confirm()).outcome === "confirmed";
}

/** The customer closed the page, or the payment failed. */
export async function release({ show, customer, id }) {
  await firstcome.holdById(show, { subject: customer, hold: id }).release();
}

/** Without an answer it may have happened, so it is neither yes nor no: the same request again tells. */
function known(answer) {
  if (answer.outcome === "unknown") throw new Error("Please try again");
  return answer;
}
