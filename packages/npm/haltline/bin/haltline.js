#!/usr/bin/env node
// Starts the native program of this platform, which is a package of its own. Hooks never run this file: `haltline init`
// gives them the path of the native program.
"use strict";

const { spawnSync } = require("node:child_process");
const { constants } = require("node:os");

const platform = `${process.platform}-${process.arch}`;
let program;
try {
  program = require.resolve(`@haltline/${platform}/bin/haltline`);
} catch {
  const supported = Object.keys(require("../package.json").optionalDependencies).map((name) => name.split("/")[1]);
  if (supported.includes(platform)) {
    console.error(`haltline: the package @haltline/${platform} is missing; install haltline again without --omit=optional`);
  } else {
    console.error(`haltline: there is no program for ${platform}, only for ${supported.join(", ")}`);
  }
  process.exit(1);
}

// Ctrl-C reaches the program as well; it decides when to end.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, () => {});
const ended = spawnSync(program, process.argv.slice(2), { stdio: "inherit" });
if (ended.error) {
  console.error(`haltline: ${program}: ${ended.error.message}`);
  process.exit(1);
}
process.exit(ended.signal ? 128 + constants.signals[ended.signal] : ended.status);
