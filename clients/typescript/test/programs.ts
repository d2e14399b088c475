// The real server, and the faulty proxy before it. Both end with the test.

import assert from "node:assert/strict";
import { spawn, type ChildProcess } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout as pause } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/** The folder of all clients. */
export const CLIENTS = new URL("../../../", import.meta.url);
export const path = (name: string): string => fileURLToPath(new URL(name, CLIENTS));

export interface Program {
  /** Its first line. */
  url: string;
  stop(): void;
}

/** Starts a program whose first line on stdout is its address. */
async function start(command: string, args: string[], env: NodeJS.ProcessEnv): Promise<Program> {
  const child: ChildProcess = spawn(command, args, { env: { PATH: process.env["PATH"], ...env }, stdio: ["pipe", "pipe", "pipe"] });
  const stop = (): void => void child.kill("SIGKILL");
  process.on("exit", stop);
  let said = "";
  child.stderr?.on("data", chunk => (said = (said + String(chunk)).slice(-4_000)));
  assert.ok(child.stdout);
  const lines = createInterface(child.stdout);
  const ended = new Promise<never>((_, fail) => {
    child.on("error", fail);
    child.on("exit", code => fail(new Error(`${command} ended (${code}) before it said its address: ${said}`)));
  });
  ended.catch(() => undefined);
  const late = pause(60_000, undefined, { ref: false }).then(() => assert.fail(`${command} said no address in 60 s: ${said}`));
  const url = await Promise.race([new Promise<string>(done => lines.once("line", done)), ended, late]);
  return { url: url.slice(url.indexOf("http://")).trim(), stop };
}

/** Starts a server on a new folder. `FIRSTCOME` is the path of the program. */
export async function startServer(config: string, env: NodeJS.ProcessEnv = {}): Promise<Program> {
  const program = process.env["FIRSTCOME"];
  assert.ok(program, "set FIRSTCOME to the path of the program");
  const folder = mkdtempSync(join(tmpdir(), "firstcome-ts-"));
  writeFileSync(join(folder, "server.toml"), config);
  const args = ["serve", "--config", join(folder, "server.toml"), "--data", join(folder, "data"), "--listen", "127.0.0.1:0"];
  const server = await start(program, args, { FIRSTCOME_ADMIN_KEY: "conformance-admin-key", ...env });
  for (let round = 0; ; round += 1) {
    const ready = await fetch(`${server.url}/readyz`).then(
      answer => answer.ok,
      () => false,
    );
    if (ready) break;
    assert.ok(round < 300, "the server is not ready after 60 s");
    await pause(200);
  }
  const stop = (): void => {
    server.stop();
    rmSync(folder, { recursive: true, force: true, maxRetries: 20, retryDelay: 50 });
  };
  return { url: server.url, stop };
}

/** Starts the proxy; its address is that of its control interface. */
export const startProxy = (upstream: string): Promise<Program> =>
  start("python3", [path("conformance/proxy.py"), "--upstream", upstream, "--stop-with-stdin"], {});

/** A request of the test itself. Throws unless the status is that, or any success. */
export async function ask(url: string, method: string, at: string, body?: unknown, key?: string, status?: number): Promise<any> {
  const headers: Record<string, string> = key === undefined ? {} : { authorization: `Bearer ${key}` };
  if (body !== undefined) headers["content-type"] = "application/json";
  const answer = await fetch(url + at, { method, headers, ...(body === undefined ? {} : { body: JSON.stringify(body) }) });
  const text = await answer.text();
  assert.ok(status === undefined ? answer.ok : answer.status === status, `${method} ${at}: ${answer.status} ${text}`);
  return text === "" ? undefined : JSON.parse(text);
}
