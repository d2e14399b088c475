// The package in a real browser: as it is built, without a bundler, with a subject token, from another origin.

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { setTimeout as pause } from "node:timers/promises";
import { Client } from "../../src/index.js";
import { ask, path, startServer, type Program } from "../programs.js";

const ADMIN = "conformance-admin-key";
const pages = new Map<string, string>();
let site: Server;
let origin: string;
let server: Program;
let report: (text: string) => void = () => undefined;

function serve(request: IncomingMessage, response: ServerResponse): void {
  const { pathname } = new URL(request.url ?? "/", "http://site.test");
  if (pathname === "/report") {
    let body = "";
    request.on("data", chunk => (body += String(chunk))).on("end", () => report(body));
    response.end();
    return;
  }
  if (pathname === "/token") {
    void token("cem", "arena").then(text => response.end(text));
    return;
  }
  if (pathname.startsWith("/firstcome-client/")) {
    response.setHeader("content-type", "text/javascript");
    response.end(readFileSync(path(`typescript/dist/${pathname.slice("/firstcome-client/".length)}`)));
    return;
  }
  response.setHeader("content-type", "text/html; charset=utf-8");
  response.statusCode = pages.has(pathname) ? 200 : 404;
  response.end(pages.get(pathname) ?? "");
}

async function listen(handler: (request: IncomingMessage, response: ServerResponse) => void): Promise<[Server, string]> {
  const listening = createServer(handler);
  await new Promise<void>(done => listening.listen(0, "127.0.0.1", done));
  return [listening, `http://127.0.0.1:${(listening.address() as AddressInfo).port}`];
}

before(async () => {
  [site, origin] = await listen(serve);
  server = await startServer(`cors_origins = "${origin}"\n`, { FIRSTCOME_TOKEN_SECRET: "a-secret-of-the-tests-with-32-characters" });
  const seats = { opens_at: "now", public: true, pools: [{ name: "main", kind: "counted", capacity: 500 }] };
  await ask(server.url, "PUT", "/v1/campaigns/spring", seats, ADMIN);
  await ask(server.url, "PUT", "/v1/campaigns/hall", seats, ADMIN);
  const hall = ["A1", "A2", "A3", "A4"].map(name => ({ name, row: "A", section: "Stalls" }));
  const pools = [{ name: "main", kind: "seated", seats: hall }];
  await ask(server.url, "PUT", "/v1/campaigns/arena", { opens_at: "now", allow_orphans: true, pools }, ADMIN);
});
after(() => {
  site?.close();
  site?.closeAllConnections();
  server?.stop();
});

/** Opens a page and returns what it reports. */
async function open(url: string): Promise<any> {
  const folder = mkdtempSync(join(tmpdir(), "firstcome-chromium-"));
  const flags = [
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--no-first-run",
    `--user-data-dir=${folder}`,
  ];
  const reported = new Promise<string>(done => (report = done));
  const browser = spawn(process.env["CHROMIUM"] ?? "chromium", [...flags, url], { stdio: ["ignore", "ignore", "pipe"], detached: true });
  let said = "";
  browser.stderr.on("data", chunk => (said = (said + String(chunk)).slice(-2_000)));
  const gone = new Promise<never>((_, fail) => {
    browser.on("error", why => fail(new Error(`no browser (install chromium, or set CHROMIUM to its path): ${why.message}`)));
    browser.on("exit", code => fail(new Error(`the browser ended (${code}): ${said}`)));
  });
  gone.catch(() => undefined);
  const late = pause(60_000, undefined, { ref: false }).then(() => assert.fail(`the page reported nothing in 60 s: ${said}`));
  try {
    return JSON.parse(await Promise.race([reported, gone, late]));
  } finally {
    // Its group: it has processes of its own.
    if (browser.pid !== undefined) process.kill(-browser.pid, "SIGKILL");
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  }
}

async function token(subject: string, campaign: string): Promise<string> {
  const minted = await new Client({ url: server.url, key: ADMIN }).mintToken({ subject, campaign });
  assert.equal(minted.outcome, "minted");
  return minted.outcome === "minted" ? minted.token : "";
}

test("a page claims, holds and follows with a token", { timeout: 120_000 }, async () => {
  let followed = 0;
  const [elsewhere, redirecting] = await listen((request, response) => {
    if (request.url === "/followed") followed += 1;
    const cors = { "access-control-allow-origin": origin, "access-control-allow-headers": "authorization,content-type" };
    response.writeHead(request.method === "OPTIONS" ? 204 : 307, { ...cors, location: "/followed" }).end();
  });
  const nobody = await listen(() => undefined).then(([closing, url]) => new Promise<string>(done => closing.close(() => done(url))));
  const parts = { url: server.url, redirecting, nobody, token: await token("ann", "hall") };
  pages.set(
    "/test.html",
    `<!doctype html><meta charset="utf-8"><script type="module">
    const came = { hasNode: typeof process !== "undefined" || typeof Buffer !== "undefined" };
    try {
      const { Client } = await import("./firstcome-client/index.js");
      const { url, redirecting, nobody, token } = ${JSON.stringify(parts)};
      const client = new Client({ url, token });
      const of = promise => promise.then(answer => answer.outcome, error => error.kind + " " + (error.problem?.outcome ?? ""));
      came.first = await client.claim("hall", {});
      came.again = await of(client.claim("hall", {}));
      for await (const claim of client.claims("hall", { subject: "ann" })) came.claims = claim.rank;
      const hold = await client.hold("hall", { picks: [{ quantity: 2 }] });
      came.held = hold.outcome;
      came.extended = await of(hold.extend());
      came.confirmed = await of(hold.confirm());
      await hold[Symbol.asyncDispose]();
      came.hold = (await hold.look()).state;
      const block = await client.withHold("hall", { picks: [{ quantity: 1 }] }, hold => hold);
      came.ran = block.outcome + " " + (await block.value.look()).state;
      came.campaign = (await client.campaign("hall")).left;
      came.public = await of(new Client({ url }).campaign("hall"));
      for await (const { event, data } of client.events("hall")) {
        if (event !== "own") continue;
        came.own = data.claims.map(claim => claim.rank);
        break;
      }
      came.wrong = await of(new Client({ url, token: "no.such.token" }).claim("hall", {}));
      came.redirect = await of(new Client({ url: redirecting, token }).claim("hall", {}));
      came.nobody = await of(new Client({ url: nobody, token, deadlineMs: 500 }).claim("hall", {}));
      came.nobodyRead = await of(new Client({ url: nobody, token, deadlineMs: 500 }).campaign("hall"));
    } catch (error) {
      came.error = String(error?.stack ?? error);
    }
    await fetch("/report", { method: "POST", body: JSON.stringify(came) });
  </script>`,
  );
  try {
    const { first, ...came } = await open(`${origin}/test.html`);
    assert.deepEqual(came, {
      hasNode: false,
      again: "already_won",
      claims: 1,
      held: "held",
      extended: "extended",
      confirmed: "rejected forbidden",
      hold: "released",
      ran: "ran released",
      campaign: 499,
      public: "found",
      own: [1],
      wrong: "rejected unauthorized",
      redirect: "unavailable ",
      nobody: "unknown",
      nobodyRead: "unavailable ",
    });
    assert.deepEqual([first.outcome, first.rank, first.subject], ["won", 1, "ann"]);
    assert.equal(followed, 0, "the token went elsewhere");
  } finally {
    elsewhere.close();
    elsewhere.closeAllConnections();
  }
});

test("the page of the README works", { timeout: 120_000 }, async () => {
  const readme = readFileSync(path("typescript/README.md"), "utf8");
  const page = /```html\n([^]*?)```/.exec(readme)?.[1] ?? assert.fail("the README has no page");
  const watch = `<script>
    const text = name => document.querySelector(name).textContent;
    const until = async (what) => { for (let round = 0; round < 300 && !what(); round += 1) await new Promise(done => setTimeout(done, 50)); };
    addEventListener("load", async () => {
      await until(() => document.querySelector("button").onclick);
      document.querySelector("button").click();
      await until(() => text("output") && text("p") === "499 left");
      await fetch("/report", { method: "POST", body: JSON.stringify([text("output"), text("p")]) });
    });
  </script>`;
  pages.set("/readme.html", `<!doctype html><meta charset="utf-8">${page.replace("https://firstcome.example", server.url)}${watch}`);
  assert.deepEqual(await open(`${origin}/readme.html#token=${await token("bob", "spring")}`), ["Number 1", "499 left"]);
});

test("the file of the package is that of the server, and the page with seats of the README works with both", { timeout: 180_000 }, async () => {
  const served = await fetch(`${server.url}/c/-/seats.js`);
  assert.equal(await served.text(), readFileSync(path("typescript/dist/seats.js"), "utf8"));
  const readme = readFileSync(path("typescript/README.md"), "utf8");
  const page = [...readme.matchAll(/```html\n([^]*?)```/g)][1]?.[1] ?? assert.fail("the README has no page with seats");
  const watch = `<script>
    const until = async (what) => { for (let round = 0; round < 600 && !what(); round += 1) await new Promise(done => setTimeout(done, 50)); };
    addEventListener("load", async () => {
      const seats = document.querySelector("firstcome-seats"), at = name => seats.shadowRoot?.querySelector(name);
      const total = document.querySelector("#total");
      await until(() => at("#bestGo") && !at("#bestGo").disabled);
      if (seats.holds.length === 0) at("#bestGo").click();
      await until(() => total.textContent === "2 held");
      await fetch("/report", { method: "POST", body: JSON.stringify([total.textContent, seats.holds[0]?.units.map(unit => unit.unit)]) });
    });
  </script>`;
  const whole = (file: string): string =>
    `<!doctype html><html lang="en"><meta charset="utf-8">${page.replace("https://firstcome.example/c/-/seats.js", file).replaceAll("https://firstcome.example", server.url)}${watch}`;
  pages.set("/seats.html", whole("./firstcome-client/seats.js"));
  pages.set("/served.html", whole(`${server.url}/c/-/seats.js`));
  const first = await open(`${origin}/seats.html`);
  assert.equal(first[0], "2 held");
  // Another visit, with the file of the server: it has the same seats.
  assert.deepEqual(await open(`${origin}/served.html`), first);
});
