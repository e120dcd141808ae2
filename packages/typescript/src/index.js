// haltline, the circuit breaker for AI agents, for programs that run under Node.

export { findProgram } from "./connection.js";
export { Session } from "./session.js";
export { Denied, HaltlineError, Verdict } from "./verdict.js";
