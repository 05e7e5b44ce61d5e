/** Asks a person at the terminal for a yes. */
import { createInterface } from 'node:readline'
import type { CommandIo } from '../command.ts'

type Asking = Pick<CommandIo, 'stdin' | 'stderr' | 'signal'>

export function canAsk({ stdin, stderr }: Asking): boolean {
  return stdin.isTTY === true && stderr.isTTY === true
}

/** Anything but a yes is a no, and so is the end of the input. Throws if the command is interrupted. */
export async function confirm({ stdin, stderr, signal }: Asking, question: string): Promise<boolean> {
  stderr.write(`${question} [y/N] `)
  // Not as a terminal: readline would take Ctrl-C for itself.
  const lines = createInterface({ input: stdin, terminal: false, signal })
  try {
    for await (const line of lines) return /^y(?:es)?$/i.test(line.trim())
    signal.throwIfAborted()
    return false
  } finally {
    lines.close()
  }
}
