/**
 * Standard output, written every few milliseconds and not once for each line: a write takes longer than everything else
 * about a line. What is not of level info is written at once, and nothing waits when the process ends.
 */
import { fstatSync, writeSync } from 'node:fs'

export interface LineOutput {
  write(line: string): unknown
}

const STDOUT = 1
const INFO = '{"level":"info"'
const BUFFER_BYTES = 65_536
/** Of UTF-8, for each unit of a string, at most. */
const BYTES_PER_UNIT = 3
/** POSIX, "PIPE_BUF": what a pipe takes in one piece, so that lines of several processes do not end up in each other. */
const PIPE_BYTES = 4096
const FULL_PIPE_MS = 5
/** Nobody sees that a line comes so much later, and a busy server writes a hundred at a time. */
const COLLECT_MS = 10

export function isStandardOutput(output: LineOutput): boolean {
  return 'fd' in output && output.fd === STDOUT
}

/** `whenBroken` gets what could not be written because its reader has gone; without it, that is nobody's loss. */
export function collectLines(whenBroken?: LineOutput): LineOutput {
  const maxBytes = fstatSync(STDOUT).isFile() ? BUFFER_BYTES : PIPE_BYTES
  // Many logs never say a word.
  let pending: Buffer | undefined
  let used = 0
  let awaited: NodeJS.Timeout | undefined
  let broken = false

  const put = (bytes: Buffer) => {
    if (broken) return
    broken = !writeFully(bytes)
    if (broken) whenBroken?.write(bytes.toString())
  }

  const flush = () => {
    clearTimeout(awaited)
    process.off('exit', flush)
    awaited = undefined
    const length = used
    used = 0
    if (pending) put(pending.subarray(0, length))
  }

  return {
    write(line: string) {
      pending ??= Buffer.allocUnsafe(BUFFER_BYTES)
      const most = line.length * BYTES_PER_UNIT
      if (used + most > pending.length) flush()
      if (most > pending.length) return put(Buffer.from(line))
      const end = used + pending.write(line, used)
      if (used > 0 && end > maxBytes) {
        put(pending.subarray(0, used))
        pending.copyWithin(0, used, end)
        used = end - used
      } else {
        used = end
      }
      if (!line.startsWith(INFO)) return flush()
      if (awaited) return
      awaited = setTimeout(flush, COLLECT_MS)
      // Comes after an exception that nobody caught, too.
      process.on('exit', flush)
    },
  }
}

/** False if nobody reads any more. */
function writeFully(bytes: Uint8Array): boolean {
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(STDOUT, bytes, at)
    } catch (thrown) {
      const { code } = thrown as NodeJS.ErrnoException
      if (code === 'EPIPE') return false
      if (code !== 'EAGAIN') throw thrown
      // A pipe that does not block is full. Lines are kept in order, so whoever writes waits for its reader.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, FULL_PIPE_MS)
    }
  }
  return true
}
