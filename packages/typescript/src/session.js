// Sessions: what a program reports of one agent and its sub-agents.

import { randomUUID } from "node:crypto";
import { resolve } from "node:path";
import { sharedConnection, stringify } from "./connection.js";
import { Denied, HaltlineError, Verdict } from "./verdict.js";

/** Longest output that is sent. Of a longer one, haltline gets the beginning and the end. */
const TEXT_CHARACTERS_MAX = 1 << 20;

/** @typedef {"ok" | "failed" | "rejected" | "denied" | "cancelled" | "rate_limited" | "unknown"} Outcome */
/** @typedef {{input?: number, output?: number, cacheRead?: number, cacheWrite?: number, costUsd?: number, model?: string}} Usage */
/**
 * @typedef {object} SessionOptions
 * @property {string} [project] The folder the session works in; default: the current folder.
 * @property {boolean} [memory] Keep nothing in files.
 * @property {"open" | "closed"} [fail] What to do while haltline cannot answer; default: `fail` of its configuration.
 * @property {string} [model] The model's name, for prices.
 */

/** One session of an agent. Sessions of the same name share everything, in any process of this machine. */
export class Session {
  /**
   * @param {string} name
   * @param {string | null} agent
   * @param {import("./connection.js").Connection} connection
   * @param {"open" | "closed" | undefined} fail
   */
  constructor(name, agent, connection, fail) {
    this.name = name;
    this.agent = agent;
    /** The verdict that ended the agent's turn, until `prompt` or `resumeTurn`. @type {Verdict | null} */
    this.stopped = null;
    this.connection = connection;
    this.fail = fail;
  }

  /**
   * Opens a session. Rejects if haltline is not installed.
   * @param {string} [name]
   * @param {SessionOptions} [options]
   */
  static async open(name = `node-${randomUUID()}`, options = {}) {
    const folder = options.project === undefined ? null : resolve(options.project);
    const session = new Session(name, null, sharedConnection(folder, options.memory ?? false), options.fail);
    await session.report("open", { model: options.model });
    return session;
  }

  /**
   * Asks whether a call may run. Report its end with `after`, unless the verdict denies it.
   * @param {string} tool
   * @param {unknown} [input]
   * @param {string} [call]
   */
  async before(tool, input = {}, call = `call-${randomUUID()}`) {
    const isPlain = typeof input === "string" || (typeof input === "object" && input !== null && !Array.isArray(input));
    const verdict = await this.report("before", { tool, input: isPlain ? input : { value: input }, call });
    if (verdict.stops) this.stopped = verdict;
    return verdict;
  }

  /**
   * Reports how a call ended. `call` is the verdict on its start, or its name.
   * @param {Verdict | string} call
   * @param {Outcome} [outcome]
   * @param {unknown} [output]
   * @param {{exit?: number, costUsd?: number}} [details]
   */
  after(call, outcome = "ok", output = "", details = {}) {
    const name = call instanceof Verdict ? call.call : call;
    const text = typeof output === "string" ? output : (stringify(output) ?? "");
    return this.report("after", { call: name, outcome, output: shortened(text), exit: details.exit, cost_usd: details.costUsd });
  }

  /**
   * Reports a response of the model and the tokens it used. The verdict is what the budgets say.
   * @param {Usage} usage
   */
  async model({ input = 0, output = 0, cacheRead = 0, cacheWrite = 0, costUsd, model }) {
    const usage = { input, output, cache_read: cacheRead, cache_write: cacheWrite };
    const verdict = await this.report("model", { usage, cost_usd: costUsd, model });
    if (verdict.denied) this.stopped = verdict;
    return verdict;
  }

  /**
   * Reports a prompt. After one of a person, haltline starts all counting again.
   * @param {string} [text]
   * @param {"user" | "system"} [source]
   */
  prompt(text, source = "user") {
    this.stopped = null;
    return this.report("prompt", { source, text });
  }

  /** Forgets `stopped`. haltline still denies what is OPEN. */
  resumeTurn() {
    this.stopped = null;
  }

  /**
   * A sub-agent: it shares the budgets of this session and has its own loops. `end` reports that it is done.
   * @param {string} name
   */
  async subAgent(name) {
    await this.report("spawn_start", { child: name });
    return new Session(this.name, name, this.connection, this.fail);
  }

  /** Reports that the session, or the sub-agent, is over. */
  async end() {
    if (this.agent === null) await this.report("end", {});
    else await this.ask("spawn_end", { agent: null, child: this.agent });
  }

  /**
   * What an action against a constraint would meet now. haltline records nothing.
   * @param {string} constraint
   */
  async check(constraint) {
    return new Verdict(await this.ask("check", { constraint }));
  }

  /**
   * Reports an action that broke the rule of a constraint.
   * @param {string} constraint
   * @param {string} action
   */
  async violation(constraint, action) {
    return new Verdict(await this.ask("violation", { constraint, action }));
  }

  /**
   * Runs a command that reads or reports, and returns what it prints with --json.
   * @param {string[]} words
   */
  async command(...words) {
    return (await this.ask("command", { arguments: words })).result;
  }

  /**
   * Guards a function: a denied call rejects with `Denied`; a function that throws is a failed call.
   * @template {unknown[]} Arguments
   * @template Result
   * @param {string} tool
   * @param {(...given: Arguments) => Result | Promise<Result>} run
   * @returns {(...given: Arguments) => Promise<Result>}
   */
  guarded(tool, run) {
    return async (...given) => {
      const verdict = await this.before(tool, { arguments: given });
      if (verdict.denied) throw new Denied(verdict);
      return this.finish(verdict, () => run(...given));
    };
  }

  /**
   * Runs a call that may run, and reports its end.
   * @template Result
   * @param {Verdict} verdict
   * @param {() => Result | Promise<Result>} run
   * @returns {Promise<Result>}
   */
  async finish(verdict, run) {
    let result;
    try {
      result = await run();
    } catch (error) {
      const isAbort = error instanceof Error && error.name === "AbortError";
      await this.after(verdict, isAbort ? "cancelled" : "failed", String(error));
      throw error;
    }
    await this.after(verdict, "ok", result);
    return result;
  }

  /**
   * @param {string} method
   * @param {Record<string, unknown>} fields
   */
  ask(method, fields) {
    return this.connection.ask(method, { session: this.name, agent: this.agent, ...fields });
  }

  /**
   * Reports an event of the agent's work. Only a failure of haltline itself is subject to `fail`.
   * @param {string} method
   * @param {Record<string, unknown>} fields
   */
  async report(method, fields) {
    let verdict;
    try {
      verdict = new Verdict(await this.ask(method, fields));
    } catch (error) {
      if (!(error instanceof HaltlineError) || error.kind !== "store") throw error;
      const isClosed = (this.fail ?? this.connection.fail) === "closed";
      if (isClosed && method !== "before") throw error;
      verdict = new Verdict({ verdict: "pass", call: fields.call, unguarded: error.message });
      if (isClosed) return closed(verdict);
    }
    if (verdict.unguarded === null) return verdict;
    if (this.fail === "closed" && method === "before" && !verdict.denied) return closed(verdict);
    process.emitWarning(`haltline did not check or count ${method}: ${verdict.unguarded}`);
    return verdict;
  }
}

/** @param {Verdict} verdict */
function closed({ unguarded }) {
  const reason = `HALTLINE HL-OWN-04: denied, because haltline itself failed: ${unguarded}`;
  return new Verdict({ verdict: "deny", code: "HL-OWN-04", reason, unguarded });
}

/** @param {string} text */
function shortened(text) {
  if (text.length <= TEXT_CHARACTERS_MAX) return text;
  const half = TEXT_CHARACTERS_MAX / 2;
  return `${text.slice(0, half)}\n[… ${text.length - 2 * half} characters …]\n${text.slice(-half)}`;
}
