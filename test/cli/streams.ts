/** Runs a command inside the test, with streams that the test can read afterwards. */
import { PassThrough, Readable } from 'node:stream'
import type { Output } from '../../src/cli/command.ts'
import { run } from '../../src/cli/run.ts'

export interface RunOptions {
  stdin?: string
  env?: Record<string, string>
  signal?: AbortSignal
  /** True if a person types the input. */
  keyboard?: boolean
  /** True if standard error is a terminal. */
  terminal?: boolean
  /** True if standard output is one. */
  tty?: boolean
  /** Called with each piece that the command prints. */
  onOutput?: (text: string) => void
}

export async function runCommand(args: readonly string[], options: RunOptions = {}) {
  const {
    stdin = '',
    env = {},
    signal = new AbortController().signal,
    keyboard = false,
    terminal = false,
    tty = false,
    onOutput,
  } = options
  const [stdout, stderr] = [new Captured(tty), new Captured(terminal)]
  if (onOutput) stdout.on('data', (piece: Buffer) => onOutput(piece.toString('utf8')))
  const input = Object.assign(Readable.from([stdin]), { isTTY: keyboard })
  const code = await run({ args, stdin: input, stdout, stderr, env, signal })
  return { code, stdout: stdout.text, stderr: stderr.text }
}

class Captured extends PassThrough implements Output {
  readonly isTTY: boolean
  readonly columns = 100
  readonly #pieces: Buffer[] = []

  constructor(isTTY = false) {
    super()
    this.isTTY = isTTY
    this.on('data', (piece: Buffer) => this.#pieces.push(piece))
  }

  get text(): string {
    return Buffer.concat(this.#pieces).toString('utf8')
  }
}
