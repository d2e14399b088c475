// A receiver of webhooks: SECRET=whsec_… node receive.mjs PORT
//
// It checks each signature with the library `standardwebhooks`, does each event once, and prints what it did.
import { createServer } from "node:http";
import { Webhook } from "standardwebhooks";

const webhook = new Webhook(process.env.SECRET);
// In a shop: a table, written in the same transaction as what the event causes.
const done = new Set();

createServer(async (request, response) => {
  const parts = [];
  for await (const part of request) parts.push(part);
  const body = Buffer.concat(parts).toString("utf8");
  let event;
  try {
    event = webhook.verify(body, request.headers);
  } catch (why) {
    console.log(`refused: ${why.message}`);
    return response.writeHead(400).end();
  }
  const id = request.headers["webhook-id"];
  if (!done.has(id) && event.type !== "webhook.test") {
    const { number, campaign, subject } = event.data;
    console.log(number, event.type, campaign, subject);
    done.add(id);
  }
  response.writeHead(204).end();
}).listen(Number(process.argv[2]), "127.0.0.1");
