/**
 * Standard output, written every few milliseconds and not once for each line: a write takes longer than everything else
 * about a line. What is not of level info is written at once, and nothing waits when the process ends.
 */
import { fstatSync, writeSync } from 'node:fs'

export interface LineOutput {
  write(line: string): unknown
}

export interface CollectingOutput extends LineOutput {
  /** For a line that is known to be of level info. */
  writeLater(line: string): void
}

const STDOUT = 1
const INFO = '{"level":"info"'
/** Of text: no more is kept back, however much is said within a turn. */
const COLLECT_LENGTH = 32_768
/** Of UTF-8, for each unit of a string, at most. */
const BYTES_PER_UNIT = 3
/** POSIX, "PIPE_BUF": what a pipe takes in one piece, so that lines of several processes do not end up in each other. */
const PIPE_BYTES = 4096
const FULL_PIPE_MS = 5
/** Nobody sees that a line comes so much later, and a busy server writes a hundred at a time. */
const COLLECT_MS = 10
const LINE_END = 0x0a

export function isStandardOutput(output: LineOutput): boolean {
  return 'fd' in output && output.fd === STDOUT
}

/** `whenBroken` gets what could not be written because its reader has gone; without it, that is nobody's loss. */
export function collectLines(whenBroken?: LineOutput): CollectingOutput {
  const maxBytes = fstatSync(STDOUT).isFile() ? Number.POSITIVE_INFINITY : PIPE_BYTES
  // One text that grows, and is made bytes once: in a third of the time that it takes line by line.
  let collected = ''
  // Many logs never say a word.
  let buffer: Buffer | undefined
  let awaited: NodeJS.Timeout | undefined
  let broken = false

  const put = (bytes: Buffer) => {
    if (broken) return
    broken = !writeFully(bytes)
    if (broken) whenBroken?.write(bytes.toString())
  }

  const encode = (text: string): Buffer => {
    buffer ??= Buffer.allocUnsafeSlow(COLLECT_LENGTH * BYTES_PER_UNIT)
    if (text.length * BYTES_PER_UNIT > buffer.length) return Buffer.from(text)
    return buffer.subarray(0, buffer.write(text))
  }

  const flush = () => {
    clearTimeout(awaited)
    process.off('exit', flush)
    awaited = undefined
    const bytes = encode(collected)
    collected = ''
    for (let at = 0, end: number; at < bytes.length; at = end) {
      end = endOfLines(bytes, at, maxBytes)
      put(bytes.subarray(at, end))
    }
  }

  const writeLater = (line: string) => {
    if (collected.length + line.length > COLLECT_LENGTH) flush()
    collected += line
    if (awaited) return
    awaited = setTimeout(flush, COLLECT_MS)
    // Comes after an exception that nobody caught, too.
    process.on('exit', flush)
  }

  return {
    writeLater,
    write(line) {
      if (line.startsWith(INFO)) return writeLater(line)
      collected += line
      flush()
    },
  }
}

/** Where the last line ends that begins at `from` and fits; that of the first, however long it is. */
function endOfLines(bytes: Buffer, from: number, maxBytes: number): number {
  if (bytes.length - from <= maxBytes) return bytes.length
  const last = bytes.lastIndexOf(LINE_END, from + maxBytes - 1)
  if (last >= from) return last + 1
  const first = bytes.indexOf(LINE_END, from)
  return first < 0 ? bytes.length : first + 1
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
