// The session API with the real program, which HALTLINE_PROGRAM names.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, existsSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { Denied, HaltlineError, Session } from "../src/index.js";

const examples = fileURLToPath(new URL("../../../examples/protocol/", import.meta.url));
const here = mkdtempSync(join(tmpdir(), "haltline-"));
process.env.HALTLINE_STATE_DIR = join(here, "state");
process.env.HALTLINE_CONFIG = join(here, "config.toml");
writeFileSync(process.env.HALTLINE_CONFIG, "[budget]\ntokens_hard = 1000\n");

/** A project of its own, and with it a process and circuits of its own. */
function project() {
  const folder = mkdtempSync(join(here, "project-"));
  mkdirSync(join(folder, ".git"));
  return folder;
}

async function fail(session, times) {
  const verdicts = [];
  for (let run = 0; run < times; run++) {
    const verdict = await session.before("bash", { command: "make test" });
    verdicts.push(verdict);
    if (!verdict.denied) await session.after(verdict, "failed", "no rule", { exit: 2 });
  }
  return verdicts;
}

const names = (verdicts) => verdicts.map((verdict) => verdict.name);

test("a loop of failures is warned, denied and stopped, and after a prompt the counts begin again", async () => {
  const session = await Session.open("s", { project: project() });
  const verdicts = await fail(session, 5);
  assert.deepEqual(names(verdicts), ["pass", "pass", "warn", "deny", "stop"]);
  assert.equal(verdicts[3].code, "HL-FAIL-01");
  assert.match(verdicts[3].reason, /make test/);
  assert.equal(session.stopped, verdicts[4]);
  await session.prompt("go on");
  assert.equal(session.stopped, null);
});

test("a budget denies calls, and sub-agents share it but not their loops", async () => {
  const session = await Session.open("s", { project: project() });
  const helper = await session.subAgent("helper");
  assert.equal((await fail(helper, 4)).at(-1).name, "deny");
  assert.equal((await fail(session, 1))[0].name, "pass");
  await helper.model({ input: 2000 });
  assert.equal((await session.before("read", { path: "a" })).code, "HL-BUDGET-02");
  await helper.end();
});

test("requests at the same time get their own answers", async () => {
  const session = await Session.open("s", { project: project() });
  const verdicts = await Promise.all(
    Array.from({ length: 50 }, (_, number) => session.before("read", { path: `${number}` }, `c${number}`)),
  );
  assert.deepEqual(verdicts.map((verdict) => verdict.call), Array.from({ length: 50 }, (_, number) => `c${number}`));
});

test("a guarded function rejects with the reason, and what it throws is a failure", async () => {
  const session = await Session.open("s", { memory: true, project: project() });
  let runs = 0;
  const deploy = session.guarded("deploy", (target) => {
    runs++;
    throw new Error(`no ${target}`);
  });
  for (let run = 0; run < 3; run++) await assert.rejects(deploy("prod"), /no prod/);
  await assert.rejects(deploy("prod"), (error) => error instanceof Denied && error.verdict.code === "HL-FAIL-01");
  assert.equal(runs, 3);
});

test("arguments may be anything", async () => {
  const session = await Session.open("s", { project: project() });
  const cycle = {};
  cycle.self = cycle;
  let deep = [];
  for (let level = 0; level < 1000; level++) deep = [deep];
  const shared = { a: 1 };
  const values = [cycle, deep, 10n, () => 1, Symbol("x"), new Map([["a", 1]]), new Set([1]), NaN, "\ud800", "x".repeat(3 << 20)];
  for (const value of [...values, undefined, null, 7, [shared, shared]]) {
    const verdict = await session.before("tool", { value });
    assert.equal(verdict.name, "pass");
    await session.after(verdict, "ok", value);
  }
});

test("mistakes of the caller and operator actions are errors", async () => {
  const session = await Session.open("s", { project: project() });
  await assert.rejects(session.after("call", "broken"), (error) => error instanceof HaltlineError && error.kind === "usage");
  await assert.rejects(session.command("reset", "--all"), HaltlineError);
  assert.equal((await session.command("status")).schema, 1);
  assert.equal((await session.check("no-force-push")).name, "pass");
});

test("a killed process is one unchecked call, or a denied one, and the next call has a new process", async () => {
  for (const [setting, name] of [["open", "pass"], ["closed", "deny"]]) {
    const session = await Session.open(setting, { project: project(), fail: setting });
    await fail(session, 3);
    session.connection.child.kill("SIGSTOP");
    const waiting = session.before("read", { path: "a" });
    session.connection.child.kill("SIGKILL");
    const unchecked = await waiting;
    assert.equal(unchecked.name, name);
    assert.match(unchecked.unguarded, /haltline doctor/);
    // What was OPEN is OPEN in the new process.
    assert.equal((await fail(session, 1))[0].name, "deny");
  }
});

test("a store in memory writes no file, and without the program the error says what to do", async () => {
  const folder = project();
  const run = (program) => {
    const code = `const { Session } = await import(${JSON.stringify(new URL("../src/index.js", import.meta.url).href)});
      await (await Session.open("s", { memory: true })).before("a"); console.log("done");`;
    const env = { ...process.env, HALTLINE_PROGRAM: program, HALTLINE_STATE_DIR: join(folder, "state") };
    return spawnSync(process.execPath, ["--input-type=module", "-e", code], { cwd: folder, env, encoding: "utf8", timeout: 60_000 });
  };
  // It also ends by itself: an idle connection keeps no program alive.
  assert.equal(run(process.env.HALTLINE_PROGRAM).stdout, "done\n");
  assert.ok(!existsSync(join(folder, "state")));
  assert.match(run("/no/such/haltline").stderr, /HALTLINE_PROGRAM/);
});

test("the client passes the requests of the conformance script", async () => {
  const session = await Session.open("conformance", { memory: true, project: project() });
  for (const line of readFileSync(join(examples, "conformance.jsonl"), "utf8").trim().split("\n")) {
    const { name, request, expect } = JSON.parse(line);
    if (request === undefined) continue;
    const { method, ...fields } = request;
    const found = await session.connection.ask(method, fields).catch((error) => ({ error: { kind: error.kind, message: error.message } }));
    for (const [key, value] of Object.entries(expect)) {
      if (key === "error") assert.equal(found.error?.kind, value.kind, name);
      // The budget of these tests is a part of the configuration, which the script does not know.
      else assert.deepEqual(found[key], value, name);
    }
  }
});
