/**
 * Writes to standard output every few milliseconds instead of once per line, because a write takes longer than
 * everything else about a line. Lines of a level other than info are written at once, and the exit of the process
 * writes everything that is left.
 */
import { fstatSync, writeSync } from 'node:fs'

export interface LineOutput {
  write(line: string): unknown
}

export interface CollectingOutput extends LineOutput {
  /** Takes a line that is known to be of level info. */
  writeLater(line: string): void
}

const STDOUT = 1
const INFO = '{"level":"info"'
/** In UTF-16 units. Longer text is written at once, even within one turn of the event loop. */
const COLLECT_LENGTH = 32_768
/** The most UTF-8 bytes that one UTF-16 unit takes. */
const BYTES_PER_UNIT = 3
/** POSIX, "PIPE_BUF": a pipe takes this many bytes in one piece, so that the lines of several processes do not mix. */
const PIPE_BYTES = 4096
const FULL_PIPE_MS = 5
/** Short enough that readers do not notice; a busy server writes a hundred lines at a time. */
const COLLECT_MS = 10
const LINE_END = 0x0a

export function isStandardOutput(output: LineOutput): boolean {
  return 'fd' in output && output.fd === STDOUT
}

/**
 * `whenBroken` receives text that could not be written because the reader closed the pipe. Without it, that text is
 * dropped.
 */
export function collectLines(whenBroken?: LineOutput): CollectingOutput {
  const maxBytes = fstatSync(STDOUT).isFile() ? Number.POSITIVE_INFINITY : PIPE_BYTES
  // One growing string, encoded once, takes a third of the time of encoding line by line.
  let collected = ''
  // Allocated on first use, because many logs never write a line.
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
    // The event also fires after an uncaught exception.
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

/**
 * Returns the end of the last line that begins at `from` or later and fits into `maxBytes`. If the first line does not
 * fit, returns its end.
 */
function endOfLines(bytes: Buffer, from: number, maxBytes: number): number {
  if (bytes.length - from <= maxBytes) return bytes.length
  const last = bytes.lastIndexOf(LINE_END, from + maxBytes - 1)
  if (last >= from) return last + 1
  const first = bytes.indexOf(LINE_END, from)
  return first < 0 ? bytes.length : first + 1
}

/** Returns false if the reader closed the pipe. */
function writeFully(bytes: Uint8Array): boolean {
  for (let at = 0; at < bytes.length; ) {
    try {
      at += writeSync(STDOUT, bytes, at)
    } catch (thrown) {
      const { code } = thrown as NodeJS.ErrnoException
      if (code === 'EPIPE') return false
      if (code !== 'EAGAIN') throw thrown
      // The non-blocking pipe is full. The writer waits for the reader, so that lines stay in order.
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, FULL_PIPE_MS)
    }
  }
  return true
}
