// What haltline answers, and the errors of this package.

/** @typedef {"pass" | "warn" | "deny" | "stop"} VerdictName */

/** The answer to an event. Give `reason` to the model if the verdict warns or denies. */
export class Verdict {
  /** @param {Record<string, any>} response */
  constructor(response) {
    /** @type {VerdictName} */
    this.name = response.verdict;
    /** @type {string | null} */
    this.reason = response.reason ?? null;
    /** @type {string | null} */
    this.code = response.code ?? null;
    /** @type {string | null} */
    this.circuit = response.circuit ?? null;
    /** @type {string | null} */
    this.retryAt = response.retry_at ?? null;
    /** The call, in the verdict on its start: hand it to `Session.after`. @type {string | null} */
    this.call = response.call ?? null;
    /** What a person should read. @type {string[]} */
    this.notices = response.notices ?? [];
    /** Why haltline could not check or count this event. @type {string | null} */
    this.unguarded = response.unguarded ?? null;
  }

  get warns() {
    return this.name === "warn";
  }

  /** True if the call must not run. */
  get denied() {
    return this.name === "deny" || this.name === "stop";
  }

  /** True if the agent's turn must end. */
  get stops() {
    return this.name === "stop";
  }
}

/** haltline could not answer. `kind` is that of the protocol; `hint` says what helps, if anything does. */
export class HaltlineError extends Error {
  /**
   * @param {string} message
   * @param {string} kind
   * @param {string | null} [hint]
   */
  constructor(message, kind, hint = null) {
    super(hint ? `${message} (${hint})` : message);
    this.name = "HaltlineError";
    this.kind = kind;
    this.hint = hint;
  }
}

/** haltline denied a call. The message is written for the model. If `verdict.stops`, the agent's turn ends. */
export class Denied extends Error {
  /** @param {Verdict} verdict */
  constructor(verdict) {
    super(verdict.reason ?? "haltline denied this call");
    this.name = "Denied";
    this.verdict = verdict;
  }
}
