#!/usr/bin/env node
/** The entry point of `npm create callplane`: reports a Node that is too old before it loads the rest. */
const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)

if (major > 22 || (major === 22 && minor >= 18)) {
  const { main } = await import('./main.ts')
  process.exitCode = await main({
    args: process.argv.slice(2),
    folder: process.cwd(),
    input: process.stdin,
    output: process.stdout,
    errors: process.stderr,
  })
} else {
  process.stderr.write(
    `Callplane needs Node 22.18 or newer. This is Node ${process.versions.node}. Install a newer Node.\n`,
  )
  process.exitCode = 1
}
