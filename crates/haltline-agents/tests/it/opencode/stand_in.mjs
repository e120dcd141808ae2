#!/usr/bin/env node
// Stands in for `haltline hook opencode --stream`: notes every event, and answers as the arguments of a call say.
import { appendFileSync, existsSync, writeFileSync } from "node:fs"
import { createInterface } from "node:readline"

const noted = process.env.NOTED
if (noted) appendFileSync(noted, JSON.stringify({ started: process.argv.slice(2) }) + "\n")
for await (const line of createInterface({ input: process.stdin })) {
  const event = JSON.parse(line)
  // As one that was replaced: it ends without an answer, and the next one gives it.
  if (event.input?.leaves && !existsSync(event.input.leaves)) {
    writeFileSync(event.input.leaves, "")
    process.exit(0)
  }
  if (noted) appendFileSync(noted, line + "\n")
  const says = event.input?.says ?? "{}"
  if (says === "die") process.exit(1)
  if (says !== "nothing") console.log(says)
}
