#!/usr/bin/env node
/**
 * The entry point of `callplane`: reports a Node that is too old before it loads code that such a Node cannot parse.
 */
import { nodeTooOld } from '../server/open/node-version.ts'

const reason = nodeTooOld(process.versions.node)
if (reason === undefined) await import('./main.ts')
else {
  process.stderr.write(`${reason}\n`)
  process.exitCode = 1
}
