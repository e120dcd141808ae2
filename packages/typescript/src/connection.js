// The child process `haltline serve --stdio`, which all sessions of a process share.

import { spawn } from "node:child_process";
import { HaltlineError } from "./verdict.js";

const PROTOCOL = 1;
/** haltline itself waits at most 5 seconds for other writers of its store. */
const ANSWER_MS_MAX = 30_000;

/** The haltline command line: HALTLINE_PROGRAM, or the one on PATH. */
export function findProgram() {
  return process.env.HALTLINE_PROGRAM || "haltline";
}

/**
 * Any value as JSON. What JSON cannot express is replaced by its type, which is the same in every run.
 * @param {unknown} value
 */
export function stringify(value) {
  /** @type {object[]} */
  const above = [];
  return JSON.stringify(value, function (_name, item) {
    if (typeof item === "bigint") return item.toString();
    if (typeof item === "function" || typeof item === "symbol") return `<${typeof item}>`;
    if (typeof item !== "object" || item === null) return item;
    while (above.length > 0 && above.at(-1) !== this) above.pop();
    if (above.includes(item) || above.length > 64) return "<cycle>";
    above.push(item);
    if (item instanceof Map) return Object.fromEntries(item);
    if (item instanceof Set) return [...item];
    if (item instanceof Error) return `${item.name}: ${item.message}`;
    return item;
  });
}

/** One child process. Its answers find their requests by id. */
export class Connection {
  /**
   * @param {string | null} folder
   * @param {boolean} memory
   */
  constructor(folder, memory) {
    this.arguments = ["serve", "--stdio", ...(memory ? ["--memory"] : []), ...(folder ? ["-C", folder] : [])];
    /** @type {import("node:child_process").ChildProcessWithoutNullStreams | null} */
    this.child = null;
    this.lastId = 0;
    /** @type {Map<number, {resolve: (response: any) => void, reject: (error: Error) => void}>} */
    this.waiting = new Map();
    /** What to do while haltline cannot answer, as its configuration said last. @type {"open" | "closed"} */
    this.fail = "open";
  }

  /**
   * Sends a request and returns its response. Rejects with HaltlineError if there is none, or if it is an error.
   * @param {string} method
   * @param {Record<string, unknown>} fields
   * @returns {Promise<Record<string, any>>}
   */
  async ask(method, fields) {
    if (this.child === null) {
      const child = this.#start();
      const hello = await this.#exchange(child, "hello", {});
      if (hello.protocol !== PROTOCOL) throw new HaltlineError("haltline speaks another protocol", "setup", "update haltline");
      this.fail = hello.fail;
    }
    const response = await this.#exchange(this.child ?? this.#start(), method, fields);
    if (response.error) throw new HaltlineError(response.error.message, response.error.kind, response.error.hint);
    return response;
  }

  /** Ends the child process. */
  close() {
    this.child?.stdin.end();
    this.child = null;
  }

  #start() {
    // Its own process group: Ctrl-C is for the program, which may still want to report the end of a call.
    const child = spawn(findProgram(), this.arguments, { stdio: ["pipe", "pipe", "inherit"], detached: true });
    const typed = /** @type {import("node:child_process").ChildProcessWithoutNullStreams} */ (/** @type {unknown} */ (child));
    this.child = typed;
    /** @type {Buffer[]} */
    let parts = [];
    /** @param {HaltlineError} error */
    const fail = (error) => {
      if (this.child !== typed) return;
      this.child = null;
      const waiting = [...this.waiting.values()];
      this.waiting.clear();
      for (const { reject } of waiting) reject(error);
    };
    typed.on("error", (error) => {
      fail(new HaltlineError(`${findProgram()}: ${error.message}`, "setup", "install haltline, or set HALTLINE_PROGRAM to its path"));
    });
    typed.on("close", () => fail(new HaltlineError("the haltline process ended", "store", "haltline doctor")));
    typed.stdin.on("error", () => {});
    typed.stdout.on("data", (chunk) => {
      let rest = /** @type {Buffer} */ (chunk);
      for (let end = rest.indexOf(10); end >= 0; end = rest.indexOf(10)) {
        const line = Buffer.concat([...parts, rest.subarray(0, end)]).toString();
        parts = [];
        rest = rest.subarray(end + 1);
        const response = JSON.parse(line);
        this.waiting.get(response.id)?.resolve(response);
        this.waiting.delete(response.id);
      }
      if (rest.length > 0) parts.push(rest);
      this.#hold();
    });
    this.#hold();
    return typed;
  }

  /** Keeps the program alive only while it waits for an answer. */
  #hold() {
    const child = this.child;
    if (child === null) return;
    const isWaiting = this.waiting.size > 0;
    for (const one of [child, child.stdin, child.stdout]) {
      const handle = /** @type {{ref?: () => void, unref?: () => void}} */ (one);
      if (isWaiting) handle.ref?.();
      else handle.unref?.();
    }
  }

  /**
   * @param {import("node:child_process").ChildProcessWithoutNullStreams} child
   * @param {string} method
   * @param {Record<string, unknown>} fields
   * @returns {Promise<Record<string, any>>}
   */
  #exchange(child, method, fields) {
    const id = ++this.lastId;
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => child.kill("SIGKILL"), ANSWER_MS_MAX);
      const done = (/** @type {() => void} */ then) => {
        clearTimeout(timer);
        then();
      };
      this.waiting.set(id, {
        resolve: (response) => done(() => resolve(response)),
        reject: (error) => done(() => reject(error)),
      });
      this.#hold();
      child.stdin.write(`${stringify({ v: PROTOCOL, ...fields, id, method })}\n`);
    });
  }
}

/** @type {Map<string, Connection>} */
const connections = new Map();

/**
 * The connection of this process for a folder.
 * @param {string | null} folder
 * @param {boolean} memory
 */
export function sharedConnection(folder, memory) {
  const key = `${memory} ${folder ?? ""}`;
  const connection = connections.get(key) ?? new Connection(folder, memory);
  connections.set(key, connection);
  return connection;
}
