// haltline's plugin for OpenCode: asks `haltline hook opencode --stream` before and after every tool call.
// Written by `haltline init --client opencode` and taken away by `haltline uninstall --client opencode`.
//
// It decides nothing. Whatever goes wrong here or in haltline, the agent goes on as if the plugin were not there: only
// an answer that refuses throws. One line of JSON goes out for each event, one comes back, in the same order.
import { spawn } from "node:child_process"

const COMMAND = ["haltline", "hook", "opencode"]

// The client waits for a hook without end, so the plugin does not.
const DEADLINE_MS = 5_000
// How long haltline is left alone after it failed.
const PAUSE_MS = 30_000
// No event is longer, no answer is, and nothing is remembered of more calls or sessions.
const EVENT_CHARS_MAX = 32_000_000
const ANSWER_CHARS_MAX = 1_000_000
const KEPT_MAX = 1_000

// By folder: who speaks, and the haltlines that can be asked. The plugin may be installed for the user and for the project:
// the newest speaks, and where its own haltline does not answer, which on another machine may not even be there, it asks
// the one before.
const folders = (globalThis[Symbol.for("haltline.opencode")] ??= new Map())

// Puts a value into a map that never grows without end.
const keep = (map, key, value) => {
  map.delete(key)
  map.set(key, value)
  if (map.size > KEPT_MAX) map.delete(map.keys().next().value)
  return value
}

const within = (promise, otherwise) =>
  new Promise((resolve) => {
    const timer = setTimeout(resolve, DEADLINE_MS, otherwise)
    Promise.resolve(promise).then(resolve, () => resolve(otherwise)).finally(() => clearTimeout(timer))
  })

// A running `haltline hook opencode --stream`. An event that it does not answer has none.
class Haltline {
  constructor() {
    this.why = undefined
    this.child = undefined
    this.waiting = []
    this.hasAnswered = false
    this.timer = undefined
    this.pausedUntil = 0
  }

  ask(event) {
    let line
    try {
      line = JSON.stringify(event)
      if (!line || line.length > EVENT_CHARS_MAX) return Promise.resolve({})
      if (!this.isRunning()) return Promise.resolve()
    } catch {
      return Promise.resolve({})
    }
    return new Promise((resolve) => {
      this.waiting.push({ line, resolve })
      if (this.waiting.length === 1) this.wait()
      this.write(line)
    })
  }

  write(line) {
    const { child } = this
    try {
      child?.stdin?.write(line + "\n")
    } catch (error) {
      this.fail(child, `does not listen (${error.message})`)
    }
  }

  // Events are answered one after another: the time runs for the one at the head of the line.
  wait() {
    clearTimeout(this.timer)
    const { child } = this
    const late = () => this.fail(child, `gave no answer for ${DEADLINE_MS / 1000} seconds`)
    if (this.waiting.length > 0) this.timer = setTimeout(late, DEADLINE_MS)
  }

  release(answer) {
    for (const { resolve } of this.waiting.splice(0)) resolve(answer)
    this.wait()
  }

  isRunning() {
    if (this.child) return true
    if (Date.now() < this.pausedUntil) return false
    try {
      this.start()
    } catch (error) {
      this.fail(this.child, `cannot be started (${error.message})`)
    }
    return this.child !== undefined
  }

  start() {
    // Until it is there, a failure has something to end.
    this.child = {}
    const child = spawn(COMMAND[0], [...COMMAND.slice(1), "--stream"], { stdio: ["pipe", "pipe", "ignore"] })
    this.child = child
    this.hasAnswered = false
    child.on("error", (error) => this.fail(child, `failed (${error.message})`))
    // A pipe that breaks says less than the end that follows, or the answer that does not.
    for (const pipe of [child.stdin, child.stdout]) pipe?.on("error", () => {})
    // A system that has no files left gives none; why it could not be started follows.
    if (!child.stdout) return
    let text = ""
    child.stdout.setEncoding("utf8")
    child.stdout.on("data", (piece) => {
      text += piece
      for (let end = text.indexOf("\n"); end >= 0 && this.child === child; end = text.indexOf("\n")) {
        const line = text.slice(0, end)
        text = text.slice(end + 1)
        this.hear(child, line)
      }
      if (text.length > ANSWER_CHARS_MAX) this.fail(child, "answered without end")
    })
    child.on("exit", (code) => code !== 0 && this.fail(child, "ended"))
    // By then everything that it said is heard.
    child.on("close", (code) => this.ended(child, code))
    // The client's own end does not wait for haltline, which ends when its input does.
    for (const part of [child, child.stdin, child.stdout]) part.unref?.()
  }

  // A haltline that was replaced ends by itself before it takes the next event: what waits is asked of the new one.
  ended(child, code) {
    if (this.child !== child) return
    if (code !== 0 || !this.hasAnswered) return this.fail(child, "ended")
    this.child = undefined
    if (this.waiting.length === 0) return
    if (!this.isRunning()) return this.release()
    this.wait()
    for (const { line } of this.waiting) this.write(line)
  }

  hear(child, line) {
    let answer
    try {
      answer = JSON.parse(line)
    } catch {
      return this.fail(child, "gave an answer that is none")
    }
    const asked = this.waiting.shift()
    if (!asked) return this.fail(child, "answered what nobody asked")
    this.hasAnswered = true
    this.wait()
    asked.resolve(answer ?? {})
  }

  fail(child, why) {
    if (!child || this.child !== child) return
    this.child = undefined
    this.pausedUntil = Date.now() + PAUSE_MS
    // One that never ran has no number of its own, and the signal would be everybody's.
    if (child.pid) child.kill("SIGKILL")
    this.why = why
    this.release()
  }

  // What was asked is still written, and nothing is waited for.
  end() {
    const child = this.child
    this.child = undefined
    child?.stdin?.end()
    this.release({})
  }
}

export const haltline = async ({ client, directory }) => {
  const own = Symbol(directory)
  const folder = folders.get(directory) ?? { streams: new Map() }
  folders.set(directory, folder)
  folder.speaker = own
  const speaks = () => folder.speaker === own
  const command = COMMAND.join("\0")
  const stream = folder.streams.get(command) ?? new Haltline()
  folder.streams.delete(command)
  folder.streams.set(command, stream)

  // What the person is told. Nobody waits for it, and it may well find no screen.
  const show = (message) => {
    const shown = [
      () => client.tui.showToast({ body: { title: "haltline", message, variant: "warning", duration: 10_000 } }),
      () => client.app.log({ body: { service: "haltline", level: "warn", message } }),
    ]
    for (const show of shown) Promise.resolve().then(show).catch(() => {})
  }
  let complained = false
  const tellHaltline = async (event) => {
    for (const each of [...folder.streams.values()].reverse()) {
      const answer = await each.ask(event)
      if (answer) return answer
    }
    const then = "the agent goes on unwatched, and haltline is tried again later (see: haltline doctor)"
    if (!complained) show(`haltline ${stream.why}; ${then}`)
    complained = true
    return {}
  }

  // By the session's id: the session at the top, and the one above. Sub-agents are sessions of their own.
  const sessions = new Map()
  // By session and call: the response the call belongs to.
  const responses = new Map()
  // By message: whether it is a copy. A fork writes every old message of its session again, and its parts after it.
  const copies = new Map()
  // The parts that were told.
  const told = new Map()
  // By session: the model that works, and what it is still to be told.
  const models = new Map()
  const unsaid = new Map()

  const tell = (id, text) => keep(unsaid, id, [...(unsaid.get(id) ?? []), text].slice(-8))

  const at = (id, place) => ({
    session: place.root,
    agent: place.root === id ? undefined : id,
    folder: directory,
    model: models.get(id),
  })

  // A session that was there before this plugin is asked for, and taken up.
  const find = async (id) => {
    const found = await within(Promise.resolve().then(() => client.session.get({ path: { id } })), {})
    const parent = found?.data?.parentID
    const above = parent && parent !== id ? await placeOf(parent) : undefined
    const place = { root: above?.root ?? id, parent }
    if (!parent) await act(id, await tellHaltline({ event: "session.created", ...at(id, place), resumed: true }), false)
    return keep(sessions, id, place)
  }
  const placeOf = (id) => sessions.get(id) ?? keep(sessions, id, find(id))

  // Does what haltline answers; throws where it refuses and somebody waits to hear it.
  const act = async (id, answer, isAsked) => {
    if (answer.notice) show(answer.notice)
    if (answer.tell) tell(id, answer.tell)
    if (answer.stop) {
      const parent = sessions.get(id)?.parent
      // The client tells the agent above only that its task was cancelled.
      if (parent && answer.deny) tell(parent, `The sub-agent was ended: ${answer.deny}`)
      await within(Promise.resolve().then(() => client.session.abort({ path: { id } })))
    }
    if (answer.deny && isAsked) throw new Error(answer.deny)
  }

  const ask = async (event, id, more, isAsked) => {
    let answer
    try {
      if (!speaks() || !id) return
      // Waiting only where it must be keeps events in their order.
      const place = sessions.get(id)?.root ? sessions.get(id) : await placeOf(id)
      answer = await tellHaltline({ event, ...at(id, place), ...more })
    } catch {
      return
    }
    await act(id, answer, isAsked)
  }

  const key = (id, call) => `${id}/${call}`

  // Whether a part tells something that happened just now, and for the first time.
  const isNews = ({ id, messageID }) => {
    if (copies.get(messageID) || told.has(id)) return false
    if (id) keep(told, id, true)
    return true
  }

  // What the bus tells and no hook does.
  const heard = async ({ type, properties }) => {
    const { info, part } = properties ?? {}
    const id = properties?.sessionID ?? info?.sessionID ?? part?.sessionID
    if (type === "session.created") {
      const parent = info.parentID
      const root = parent ? (sessions.get(parent)?.root ?? (await placeOf(parent)).root) : info.id
      keep(sessions, info.id, { root, parent })
      return parent ? ask(type, parent, { child: info.id }) : ask(type, info.id, {})
    }
    if (type === "message.updated" && info?.role === "assistant") {
      keep(models, id, info.modelID)
      // A message is first heard of when its response begins; a copy is complete from the start.
      if (!copies.has(info.id)) keep(copies, info.id, info.time?.completed !== undefined)
    } else if (type === "message.part.updated" && part?.type === "tool") {
      keep(responses, key(id, part.callID), part.messageID)
      if (part.state?.status !== "error" || !isNews(part)) return
      const { tool, callID, state } = part
      const failed = { input: state.input, error: state.error, metadata: { interrupted: state.metadata?.interrupted } }
      return ask("tool.failed", id, { tool, call: callID, message: part.messageID, ...failed })
    } else if (type === "message.part.updated" && part?.type === "step-finish" && isNews(part)) {
      return ask("step-finish", id, { message: part.messageID, tokens: part.tokens, cost: part.cost })
    } else if (type === "session.idle" || type === "session.deleted") {
      const place = sessions.get(id)
      if (!place?.root) return
      return place.parent ? ask(type, place.parent, { child: id }) : ask(type, id, {})
    } else if (type === "session.compacted") {
      return ask(type, id, {})
    }
  }

  return {
    // Nobody catches what this would throw.
    event: async ({ event }) => {
      await heard(event).catch(() => {})
    },
    "chat.message": async ({ sessionID }, { parts }) => {
      const texts = (parts ?? []).map(({ type, text, synthetic, ignored }) => ({ type, text, synthetic, ignored }))
      await ask("chat.message", sessionID, { parts: texts }, true)
    },
    "tool.execute.before": async ({ tool, sessionID, callID }, { args }) => {
      const message = responses.get(key(sessionID, callID))
      await ask("tool.execute.before", sessionID, { tool, call: callID, message, input: args }, true)
    },
    "tool.execute.after": async ({ tool, sessionID, callID, args }, result) => {
      const message = responses.get(key(sessionID, callID))
      const { exit, sessionId, background } = result?.metadata ?? {}
      const output = result?.output ?? result?.content
      const more = { output, isError: result?.isError, metadata: { exit, sessionId, background } }
      await ask("tool.execute.after", sessionID, { tool, call: callID, message, input: args, ...more })
      const texts = speaks() ? unsaid.get(sessionID) : undefined
      if (!texts || !result) return
      // A tool of a server answers with a list of contents.
      if (typeof result.output === "string") result.output = [result.output, ...texts].join("\n\n")
      else if (Array.isArray(result.content)) result.content.push({ type: "text", text: texts.join("\n\n") })
      else return
      unsaid.delete(sessionID)
    },
    // What the agent's commands start knows whose it is.
    "shell.env": async ({ sessionID }, { env }) => {
      const root = sessions.get(sessionID)?.root
      if (root && env) env.HALTLINE_OPENCODE_SESSION = root
    },
    dispose: async () => {
      // The one that speaks may still need this one's haltline.
      if (!speaks()) return
      const tops = [...sessions].filter(([id, place]) => place.root === id)
      await within(Promise.all(tops.map(([id]) => ask("session.ended", id, {}))))
      folder.speaker = undefined
      if (folders.get(directory) === folder) folders.delete(directory)
      for (const each of folder.streams.values()) each.end()
    },
  }
}
