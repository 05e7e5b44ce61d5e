#!/usr/bin/env node
/** What `callplane` starts: a Node that is too old is told so before it reads anything that it does not understand. */
import { nodeTooOld } from '../server/open/node-version.ts'

const reason = nodeTooOld(process.versions.node)
if (reason === undefined) await import('./main.ts')
else {
  process.stderr.write(`${reason}\n`)
  process.exitCode = 1
}
