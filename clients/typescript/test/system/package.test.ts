// The package as a user gets it: packed, installed in a new project, compiled strictly, and run.

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { ask, path, startServer, type Program } from "../programs.js";

const ADMIN = "conformance-admin-key";
const HERE = path("typescript/");
let folder: string;
let server: Program;

function run(command: string, args: string[], cwd: string, env: NodeJS.ProcessEnv = {}): string {
  try {
    return execFileSync(command, args, {
      cwd,
      env: { ...process.env, ...env },
      encoding: "utf8",
      timeout: 240_000,
      stdio: ["ignore", "pipe", "pipe"],
    });
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string };
    return assert.fail(`${command} ${args.join(" ")}: ${stdout}${stderr}`);
  }
}

before(async () => {
  folder = mkdtempSync(join(tmpdir(), "firstcome-consumer-"));
  server = await startServer("");
});
after(() => {
  server?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const strict = {
  strict: true,
  exactOptionalPropertyTypes: true,
  noUncheckedIndexedAccess: true,
  noImplicitReturns: true,
  skipLibCheck: false,
};

test("a new project installs the package, compiles and runs", { timeout: 600_000 }, async () => {
  const [packed] = JSON.parse(run("npm", ["pack", "--json", "--pack-destination", folder], HERE)) as {
    filename: string;
    files: { path: string }[];
  }[];
  assert.ok(packed);
  const files = packed.files.map(file => file.path);
  for (const wanted of ["README.md", "LICENSE-MIT", "LICENSE-APACHE", "package.json", "dist/index.js", "dist/index.d.ts", "dist/seats.js", "dist/seats.d.ts"])
    assert.ok(files.includes(wanted), `${wanted} is not in ${files.join()}`);
  assert.ok(
    files.every(file => /^(README\.md|LICENSE-\w+|package\.json|dist\/\w+(\.d\.ts|\.js))$/.test(file)),
    files.join(),
  );

  // As in this package: no other version of the compiler can come between.
  const { devDependencies } = JSON.parse(readFileSync(`${HERE}package.json`, "utf8")) as { devDependencies: Record<string, string> };
  writeFileSync(join(folder, "package.json"), JSON.stringify({ private: true, type: "module", devDependencies }));
  run("npm", ["install", "--no-audit", "--no-fund", `./${packed.filename}`], folder);
  const { dependencies = {} } = JSON.parse(readFileSync(join(folder, "node_modules/firstcome-client/package.json"), "utf8")) as {
    dependencies?: object;
  };
  assert.deepEqual(dependencies, {});

  // The programs of the README, with the address of this server.
  const readme = readFileSync(`${HERE}README.md`, "utf8").replaceAll("http://127.0.0.1:8080", server.url);
  const [claim = "", using = "", withHold = ""] = [...readme.matchAll(/```ts\n([^]*?)```/g)].map(match => match[1]);
  const source = join(folder, "src");
  mkdirSync(source);
  writeFileSync(join(source, "claim.ts"), claim);
  writeFileSync(join(source, "using.ts"), using);
  writeFileSync(join(source, "withHold.ts"), withHold);
  writeFileSync(join(source, "main.ts"), MAIN);
  const node = { target: "ES2022", lib: ["ES2022"], module: "NodeNext", types: ["node"], rootDir: "src", outDir: "dist", ...strict };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions: node, include: ["src"] }));
  run("npx", ["tsc"], folder);

  for (const name of ["spring", "hall"]) {
    await ask(
      server.url,
      "PUT",
      `/v1/campaigns/${name}`,
      { opens_at: "now", pools: [{ name: "main", kind: "counted", capacity: 9 }] },
      ADMIN,
    );
  }
  const env = { FIRSTCOME_URL: server.url, FIRSTCOME_KEY: ADMIN };
  assert.equal(run("node", ["dist/claim.js"], folder, env), "ann has rank 1\n");
  assert.equal(run("node", ["dist/claim.js"], folder, env), "ann has rank 1 already\n");
  const said = JSON.parse(run("node", ["dist/main.js"], folder, env)) as Record<string, unknown>;
  assert.deepEqual(said, {
    sold: "confirmed",
    declined: "the card was declined",
    released: "released",
    withHold: "confirmed, payment p-1",
    left: 5,
    results: ["claim ann", "claim ann", "claim ann", "claim ann"],
  });
  await ask(server.url, "POST", "/v1/campaigns/spring/close", undefined, ADMIN);
  assert.match(run("node", ["dist/claim.js"], folder, env), /^ann has rank 1 already/);

  // In the project of a page there are no types of Node, and no `esnext.disposable` but what the package brings.
  const page = {
    target: "ES2022",
    lib: ["ES2022", "DOM"],
    module: "ESNext",
    moduleResolution: "bundler",
    types: [],
    noEmit: true,
    ...strict,
  };
  writeFileSync(join(folder, "page.json"), JSON.stringify({ compilerOptions: page, files: ["page.ts"] }));
  writeFileSync(join(folder, "page.ts"), PAGE);
  run("npx", ["tsc", "-p", "page.json"], folder);
  writeFileSync(join(folder, "page.ts"), PAGE.replace('case "unknown":', 'case "not_known":'));
  assert.throws(() => run("npx", ["tsc", "-p", "page.json"], folder), /"not_known"/, "a wrong outcome does not compile");
  writeFileSync(join(folder, "page.ts"), SEATS);
  run("npx", ["tsc", "-p", "page.json"], folder);
  writeFileSync(join(folder, "page.ts"), SEATS.replace("detail.hold.hold", "detail.order"));
  assert.throws(() => run("npx", ["tsc", "-p", "page.json"], folder), /'order'/, "a wrong field of an event does not compile");
});

const MAIN = `
import { Client, type Result } from "firstcome-client";
import { sell } from "./using.js";
import { sell as sellWith } from "./withHold.js";

const client = new Client({ url: process.env["FIRSTCOME_URL"] ?? "", key: process.env["FIRSTCOME_KEY"] });
const said: Record<string, unknown> = {};
said["sold"] = await sell(client, "order-1", async () => {});
said["declined"] = await sell(client, "order-2", () => Promise.reject(new Error("the card was declined"))).catch((error: Error) => error.message);
const second = await client.holdById("hall", { subject: "ann", hold: "order-2" }).look();
said["released"] = second.outcome === "found" ? second.state : second.reason;
said["withHold"] = await sellWith(client, "order-3", async () => "p-1");
const campaign = await client.campaign("hall");
said["left"] = campaign.outcome === "found" ? campaign.left : campaign.reason;
const results: Result[] = [];
for await (const result of client.results("hall", { limit: 1 })) results.push(result);
said["results"] = results.map(result => \`\${result.kind} \${result.subject}\`);
console.log(JSON.stringify(said));
`;

// It compiles only if each case is told apart from the others, and none is left.
const PAGE = `
import { Client, FirstcomeError } from "firstcome-client";

export async function claim(client: Client): Promise<string> {
  try {
    const answer = await client.claim("spring", {});
    switch (answer.outcome) {
      case "won":
      case "already_won":
        return \`number \${answer.rank}\`;
      case "refused":
        return answer.reason === "sold_out" ? "sold out" : answer.problem.detail;
      case "unknown":
        return (await answer.resolve()).outcome;
    }
  } catch (error) {
    return error instanceof FirstcomeError && error.kind === "unavailable" ? "later" : "broken";
  }
}

export async function hold(client: Client, signal: AbortSignal): Promise<number> {
  await using hold = await client.hold("hall", { picks: [{ units: ["A1"] }], wait_ms: undefined }, { signal });
  if (hold.outcome === "refused" || hold.outcome === "unknown") return 0;
  if (hold.outcome === "confirmed") return hold.left;
  const joined = await client.join("hall", { quantity: 2 });
  if (joined.outcome === "waitlisted") return joined.ahead;
  return joined.outcome === "offered" ? joined.units.length : hold.units.length;
}

export async function follow(client: Client): Promise<void> {
  for await (const event of client.events("hall")) {
    if (event.event === "standing") for (const pool of event.data.pools) console.log(pool.left, pool.waiting);
    if (event.event === "own") console.log(event.data.claims.length, event.data.whole);
  }
}
`;

// A page with the seats, and with texts of its own.
const SEATS = `
import { words, type FirstcomeSeats } from "firstcome-client/seats";

words["fr"] = { ...words.en, hall: "Choisissez vos places", refused: { ...words.en.refused, sold_out: "Complet." } };
const seats: FirstcomeSeats = document.createElement("firstcome-seats");
seats.setAttribute("campaign", "hall");
seats.addEventListener("pay", ({ detail }) => console.log(detail.hold.hold, detail.hold.units.length));
seats.addEventListener("refused", ({ detail }) => console.log(detail.outcome, seats.link === "live"));
seats.token = "a token";
document.body.append(seats);
for (const hold of seats.holds) console.log(hold.expires_at);
`;
