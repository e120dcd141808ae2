// What the plugin does with answers, and with a haltline that is not there, by hand: no client is needed for it.
// PLUGINS names the folder of the plugins to check; a Rust test writes them and starts this.
import assert from "node:assert/strict"
import { spawnSync } from "node:child_process"
import { mkdtempSync, readFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { mock, test } from "node:test"
import { pathToFileURL } from "node:url"

const load = async (name) => (await import(pathToFileURL(join(process.env.PLUGINS, name)))).haltline

// A client that writes down what it is asked for.
const stage = async (name = "haltline.mjs", sessions = {}) => {
  const folder = mkdtempSync(join(tmpdir(), "plugin"))
  process.env.NOTED = join(folder, "noted")
  const done = { aborted: [], toasts: [], logged: [], got: [] }
  const client = {
    session: {
      abort: async ({ path }) => void done.aborted.push(path.id),
      get: async ({ path }) => {
        done.got.push(path.id)
        return { data: { id: path.id, parentID: sessions[path.id] } }
      },
    },
    tui: { showToast: async ({ body }) => void done.toasts.push(body.message) },
    app: { log: async ({ body }) => void done.logged.push(body.message) },
  }
  const plugin = await load(name)
  const hooks = await plugin({ client, directory: folder })
  const noted = () => readFileSync(join(folder, "noted"), "utf8").trim().split("\n").map((line) => JSON.parse(line))
  const again = async (other = name) => (await load(other))({ client, directory: folder })
  return { hooks, done, noted, again, folder }
}

const before = (hooks, says, callID = "c1", sessionID = "s1", more = {}) =>
  hooks["tool.execute.before"]({ tool: "bash", sessionID, callID }, { args: { command: "make", says, ...more } })
const after = async (hooks, result, callID = "c1", sessionID = "s1") => {
  await hooks["tool.execute.after"]({ tool: "bash", sessionID, callID, args: { command: "make" } }, result)
  return result
}
const created = (id, parentID) => ({ event: { type: "session.created", properties: { sessionID: id, info: { id, parentID } } } })
const part = (more) => ({ event: { type: "message.part.updated", properties: { sessionID: "s1", part: { messageID: "m1", ...more } } } })

test("a refusal is thrown with its reason, and a pass is silent", async () => {
  const { hooks } = await stage()
  await before(hooks, "{}")
  await assert.rejects(before(hooks, '{"deny":"the same again"}'), { message: "the same again" })
  await before(hooks, "{}")
  await hooks.dispose()
})

test("a warning comes with the result, whichever kind of result it is", async () => {
  const { hooks } = await stage()
  await before(hooks, '{"tell":"the same answer twice"}')
  assert.equal((await after(hooks, { output: "ok\n", metadata: {} })).output, "ok\n\n\nthe same answer twice")
  assert.equal((await after(hooks, { output: "ok\n", metadata: {} })).output, "ok\n", "once")
  await before(hooks, '{"tell":"again"}')
  const { content } = await after(hooks, { content: [{ type: "text", text: "3 tickets" }] })
  assert.deepEqual(content, [{ type: "text", text: "3 tickets" }, { type: "text", text: "again" }])
  await hooks.dispose()
})

test("a stop ends the session that asked, refuses the call, and the agent above hears of it", async () => {
  const { hooks, done } = await stage()
  await hooks.event(created("s1"))
  await hooks.event(created("s2", "s1"))
  await assert.rejects(before(hooks, '{"deny":"enough","stop":true}', "c1", "s2"), { message: "enough" })
  assert.deepEqual(done.aborted, ["s2"])
  assert.match((await after(hooks, { output: "ok", metadata: {} })).output, /^ok\n\n.*sub-agent.*enough$/)
  await hooks.dispose()
})

test("what the person is to know is shown", async () => {
  const { hooks, done } = await stage()
  await before(hooks, '{"notice":"a loop"}')
  await after(hooks, { output: "ok", metadata: {} })
  assert.deepEqual([done.toasts, done.logged], [["a loop"], ["a loop"]])
  await hooks.dispose()
})

test("events come in order, each with the session at the top and the agent that acts", async () => {
  const { hooks, noted } = await stage()
  await hooks.event(created("s1"))
  await hooks["chat.message"]({ sessionID: "s1" }, { parts: [{ type: "text", text: "go", id: "p1" }] })
  await hooks.event({ event: { type: "message.updated", properties: { sessionID: "s1", info: { role: "assistant", modelID: "x" } } } })
  await hooks.event(part({ type: "tool", callID: "c1", tool: "bash", state: { status: "pending" } }))
  await before(hooks, "{}")
  await after(hooks, { output: "no rule", metadata: { exit: 2, output: "no rule" } })
  await hooks.event(part({ type: "tool", callID: "c2", tool: "read", state: { status: "error", input: {}, error: "gone" } }))
  await hooks.event(part({ type: "step-finish", tokens: { input: 1 }, cost: 0.1 }))
  await hooks.event(created("s2", "s1"))
  await hooks.event(created("s3", "s2"))
  await before(hooks, "{}", "c3", "s3")
  await hooks.event({ event: { type: "session.idle", properties: { sessionID: "s3" } } })
  await hooks.event({ event: { type: "session.idle", properties: { sessionID: "s1" } } })
  const { env } = { env: {} }
  await hooks["shell.env"]({ sessionID: "s3" }, { env })
  assert.deepEqual(env, { HALTLINE_OPENCODE_SESSION: "s1" })
  await hooks.dispose()
  const [started, ...events] = noted()
  assert.deepEqual(started, { started: ["hook", "opencode", "--stream"] })
  const told = events.map(({ event, session, agent, child, model, message }) => [event, session, agent, child, model, message])
  assert.deepEqual(told, [
    ["session.created", "s1", undefined, undefined, undefined, undefined],
    ["chat.message", "s1", undefined, undefined, undefined, undefined],
    ["tool.execute.before", "s1", undefined, undefined, "x", "m1"],
    ["tool.execute.after", "s1", undefined, undefined, "x", "m1"],
    ["tool.failed", "s1", undefined, undefined, "x", "m1"],
    ["step-finish", "s1", undefined, undefined, "x", "m1"],
    ["session.created", "s1", undefined, "s2", "x", undefined],
    ["session.created", "s1", "s2", "s3", undefined, undefined],
    ["tool.execute.before", "s1", "s3", undefined, undefined, undefined],
    ["session.idle", "s1", "s2", "s3", undefined, undefined],
    ["session.idle", "s1", undefined, undefined, "x", undefined],
    ["session.ended", "s1", undefined, undefined, "x", undefined],
  ])
})

test("what a fork copies from its session is told no second time, and what comes after it is", async () => {
  const { hooks, noted } = await stage()
  await hooks.event(created("s2"))
  const message = (id, time) =>
    hooks.event({ event: { type: "message.updated", properties: { sessionID: "s2", info: { id, role: "assistant", time } } } })
  const piece = (more) => hooks.event({ event: { type: "message.part.updated", properties: { sessionID: "s2", part: more } } })
  const failed = { type: "tool", tool: "read", callID: "c1", state: { status: "error", input: {}, error: "gone" } }
  await message("old", { created: 1, completed: 2 })
  await piece({ id: "p1", messageID: "old", ...failed })
  await piece({ id: "p2", messageID: "old", type: "step-finish", cost: 0.1 })
  await message("new", { created: 3 })
  await piece({ id: "p3", messageID: "new", ...failed })
  for (let time = 0; time < 2; time++) await piece({ id: "p4", messageID: "new", type: "step-finish", cost: 0.1 })
  await message("new", { created: 3, completed: 4 })
  await piece({ id: "p5", messageID: "new", ...failed, callID: "c2" })
  await hooks.dispose()
  assert.deepEqual(noted().slice(1).map(({ event, message, call }) => [event, message, call]), [
    ["session.created", undefined, undefined],
    ["tool.failed", "new", "c1"],
    ["step-finish", "new", undefined],
    ["tool.failed", "new", "c2"],
    ["session.ended", undefined, undefined],
  ])
})

test("a session that was there before is asked for once and taken up", async () => {
  const { hooks, done, noted } = await stage("haltline.mjs", { s2: "s1" })
  await Promise.all([before(hooks, "{}", "c1", "s2"), before(hooks, "{}", "c2", "s2")])
  await hooks.dispose()
  assert.deepEqual(done.got, ["s2", "s1"])
  const told = noted().slice(1).map(({ event, session, agent, resumed }) => [event, session, agent, resumed])
  assert.deepEqual(told, [
    ["session.created", "s1", undefined, true],
    ["tool.execute.before", "s1", "s2", undefined],
    ["tool.execute.before", "s1", "s2", undefined],
    ["session.ended", "s1", undefined, undefined],
  ])
})

test("a haltline that is not there is in nobody's way, and the person is told once", async () => {
  const { hooks, done } = await stage("missing.mjs")
  for (let turn = 0; turn < 3; turn++) {
    await before(hooks, '{"deny":"no"}')
    assert.equal((await after(hooks, { output: "ok", metadata: {} })).output, "ok")
  }
  await hooks.event(created("s1"))
  await hooks.dispose()
  assert.equal(done.toasts.length, 1)
  assert.match(done.toasts[0], /unwatched/)
})

test("a client that can open no more files goes on", () => {
  const program = `
    import { closeSync, openSync } from "node:fs"
    import { haltline } from ${JSON.stringify(pathToFileURL(join(process.env.PLUGINS, "haltline.mjs")).href)}
    const shown = []
    const client = { session: { get: async () => ({}) }, tui: { showToast: async ({ body }) => void shown.push(body.message) } }
    const hooks = await haltline({ client, directory: "." })
    const opened = []
    try { for (;;) opened.push(openSync("/dev/null")) } catch {}
    for (let left = Number(process.argv[1]); left > 0; left--) closeSync(opened.pop())
    await hooks["tool.execute.before"]({ tool: "bash", sessionID: "s1", callID: "c1" }, { args: {} })
    for (const file of opened) closeSync(file)
    console.log(shown.join())
  `
  // None left for its pipes, and too few.
  for (const left of ["0", "1", "2", "3"]) {
    const limited = 'ulimit -n 64 && exec "$0" --input-type=module --eval "$1" "$2"'
    const words = ["-c", limited, process.execPath, program, left]
    const { status, signal, stdout, stderr } = spawnSync("sh", words, { encoding: "utf8", detached: true })
    assert.deepEqual([status, signal, stderr], [0, null, ""], left)
    assert.match(stdout, /EMFILE.*unwatched/, left)
  }
})

test("a haltline that dies or babbles lets the call pass, and is tried again later", async () => {
  for (const says of ["die", "this is no JSON", '{}\n{"deny":"nobody asked"}']) {
    const { hooks, done, noted } = await stage()
    await before(hooks, says)
    await before(hooks, "{}")
    await after(hooks, { output: "ok", metadata: {} })
    await before(hooks, '{"deny":"not now"}').catch(() => {})
    mock.timers.enable({ apis: ["Date"], now: Date.now() + 31_000 })
    await assert.rejects(before(hooks, '{"deny":"no"}'), { message: "no" }, says)
    mock.timers.reset()
    assert.deepEqual([done.toasts.length, noted().filter(({ started }) => started).length], [1, 2], says)
    await hooks.dispose()
  }
})

test("a haltline that ends by itself is started again, and what it did not answer is asked again", async () => {
  const { hooks, done, noted, folder } = await stage()
  const leaves = (name) => ({ leaves: join(folder, name) })
  await before(hooks, "{}", "c1")
  await Promise.all([
    before(hooks, "{}", "c2", "s1", leaves("first")),
    assert.rejects(before(hooks, '{"deny":"no"}', "c3"), { message: "no" }),
  ])
  await before(hooks, "{}", "c4", "s1", leaves("second"))
  await hooks.dispose()
  assert.deepEqual(done.toasts, [])
  const told = noted().map(({ started, call, event }) => (started ? "started" : call ?? event))
  assert.deepEqual(told, ["started", "session.created", "c1", "started", "c2", "c3", "started", "c4", "session.ended"])
})

test("a haltline that ends before its first answer is left alone", async () => {
  const { hooks, done, noted } = await stage("leaving.mjs")
  for (let time = 0; time < 3; time++) await before(hooks, "{}")
  await hooks.dispose()
  assert.match(done.toasts.join(), /^haltline ended; .*unwatched[^,]*,[^,]*$/)
  assert.throws(noted)
})

test("a haltline that gives no answer is waited for no longer than the plugin wants", async () => {
  const { hooks, done } = await stage()
  await before(hooks, "{}")
  mock.timers.enable({ apis: ["setTimeout"] })
  const asked = before(hooks, "nothing")
  mock.timers.tick(5_000)
  await asked
  mock.timers.reset()
  assert.match(done.toasts[0], /no answer for 5 seconds/)
  await hooks.dispose()
})

test("of events that wait in line each has its time from when it is at the head", async () => {
  const { hooks, done } = await stage()
  await before(hooks, "{}")
  mock.timers.enable({ apis: ["setTimeout"] })
  // Nothing else keeps node from ending: the plugin does not.
  const alive = setInterval(() => {}, 1_000)
  const [first, second] = [before(hooks, "nothing"), before(hooks, "nothing")]
  mock.timers.tick(4_000)
  // One line comes for each that is asked for, and answers the oldest question.
  const third = before(hooks, "{}")
  await first
  mock.timers.tick(4_000)
  const fourth = before(hooks, '{}\n{}\n{"deny":"it still hears"}')
  await Promise.all([second, third, assert.rejects(fourth)])
  clearInterval(alive)
  mock.timers.reset()
  assert.deepEqual(done.toasts, [])
  await hooks.dispose()
})

test("of two installations in one folder the newest speaks", async () => {
  const { hooks, again, noted } = await stage()
  const newer = await again()
  for (const each of [hooks, newer]) await each.event(created("s1"))
  await before(hooks, '{"deny":"no"}')
  await assert.rejects(before(newer, '{"deny":"no"}'))
  await hooks.dispose()
  await assert.rejects(before(newer, '{"deny":"still"}'), { message: "still" })
  await newer.dispose()
  assert.deepEqual(noted().filter(({ event }) => event).map(({ event }) => event), [
    "session.created",
    "tool.execute.before",
    "tool.execute.before",
    "session.ended",
  ])
})

test("an installation whose haltline is not there silences no other, and no event is lost", async () => {
  const { hooks, again, done, noted } = await stage()
  const newer = await again("missing.mjs")
  for (const each of [hooks, newer]) await each.event(created("s1"))
  const both = async (...call) => {
    for (const each of [hooks, newer]) await before(each, ...call)
  }
  await Promise.all([both("{}", "c1"), both("{}", "c2")])
  await assert.rejects(both('{"deny":"the same again"}', "c3"), { message: "the same again" })
  mock.timers.enable({ apis: ["Date"], now: Date.now() + 31_000 })
  await both("{}", "c4")
  mock.timers.reset()
  for (const each of [hooks, newer]) await each.dispose()
  assert.deepEqual(done.toasts, [])
  assert.deepEqual(noted().slice(1).map(({ event, call }) => [event, call]), [
    ["session.created", undefined],
    ["tool.execute.before", "c1"],
    ["tool.execute.before", "c2"],
    ["tool.execute.before", "c3"],
    ["tool.execute.before", "c4"],
    ["session.ended", undefined],
  ])
})

test("what nobody expects is passed over", async () => {
  const { hooks } = await stage()
  const circle = {}
  circle.circle = circle
  await hooks["tool.execute.before"]({ tool: "x", sessionID: "s1", callID: "c" }, { args: { circle, big: 1n } })
  await hooks["tool.execute.before"]({ tool: "x" }, {})
  await hooks["tool.execute.after"]({ tool: "task", sessionID: "s1", callID: "c", args: {} }, undefined)
  await hooks["chat.message"]({ sessionID: "s1" }, {})
  await hooks["shell.env"]({}, {})
  for (const event of [{ type: "session.created", properties: {} }, { type: "message.part.updated" }, { type: "x" }, {}]) {
    await hooks.event({ event })
  }
  await assert.rejects(before(hooks, '{"deny":"it still hears"}'))
  await hooks.dispose()
})
