// The adapter in a real loop of the Vercel AI SDK with its mock model.

import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { generateText, isStepCount, stepCountIs, tool } from "ai";
import { MockLanguageModelV3 } from "ai/test";
import { z } from "zod";
import { guard } from "../src/ai-sdk.js";
import { Session } from "../src/index.js";

const here = mkdtempSync(join(tmpdir(), "haltline-"));
process.env.HALTLINE_STATE_DIR = join(here, "state");
process.env.HALTLINE_CONFIG = join(here, "config.toml");
writeFileSync(process.env.HALTLINE_CONFIG, "[budget]\ntokens_hard = 1000\n");

async function open(name) {
  const project = mkdtempSync(join(here, "project-"));
  mkdirSync(join(project, ".git"));
  return Session.open(name, { project });
}

/** A model that makes these calls one after another, then says "done"; every response uses so many tokens. */
function model(calls, tokens = 10) {
  const requests = [];
  const usage = { inputTokens: { total: tokens }, outputTokens: { total: 1 } };
  const doGenerate = async ({ prompt }) => {
    requests.push(JSON.stringify(prompt));
    const call = calls[requests.length - 1];
    const content = call
      ? [{ type: "tool-call", toolCallId: `c${requests.length}`, toolName: call[0], input: JSON.stringify(call[1]) }]
      : [{ type: "text", text: "done" }];
    return { content, finishReason: { unified: call ? "tool-calls" : "stop" }, usage, warnings: [] };
  };
  return { model: new MockLanguageModelV3({ doGenerate }), requests };
}

function tools(runs) {
  return {
    deploy: tool({
      inputSchema: z.object({ target: z.string() }),
      execute: async ({ target }) => {
        runs.push(target);
        throw new Error("no such target");
      },
    }),
    read: tool({
      inputSchema: z.object({ path: z.string() }),
      execute: async ({ path }) => {
        runs.push(path);
        return `content of ${path}`;
      },
    }),
  };
}

const limit = (isStepCount ?? stepCountIs)(20);
const run = (session, runs, { model }) =>
  generateText({ model, prompt: "go", ...guard(session, { tools: tools(runs), stopWhen: limit }) });

test("a loop ends after the third failure with a reason for the model", async () => {
  const session = await open("loop");
  const runs = [];
  const scripted = model(Array(9).fill(["deploy", { target: "prod" }]));
  const result = await run(session, runs, scripted);
  assert.deepEqual(runs, ["prod", "prod", "prod"]);
  assert.equal(result.steps.length, 5);
  assert.match(scripted.requests[4], /HL-FAIL-01: denied/);
  assert.equal(session.stopped.code, "HL-FAIL-01");
});

test("a healthy run is untouched", async () => {
  const runs = [];
  const calls = Array.from({ length: 8 }, (_, number) => ["read", { path: `file${number}` }]);
  const result = await run(await open("healthy"), runs, model(calls));
  assert.equal(result.text, "done");
  assert.equal(runs.length, 8);
});

test("a budget stops it, and sub-agents share it", async () => {
  const session = await open("budget");
  const helper = await session.subAgent("helper");
  const runs = [];
  await run(helper, runs, model([["read", { path: "a" }]], 600));
  await run(session, runs, model(Array.from({ length: 9 }, (_, number) => ["read", { path: `${number}` }])));
  assert.deepEqual(runs, ["a"]);
  assert.equal(session.stopped.code, "HL-BUDGET-02");
});
