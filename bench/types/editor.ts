/** Drives TypeScript's language server as an editor does: opens a program, edits it, and asks while the user types. */
import { type ChildProcessByStdio, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import type { Readable, Writable } from 'node:stream'
import { cpuUsOf } from '../engines/cpu-time.ts'
import { TSSERVER } from './compile.ts'

export interface Place {
  /** Both count from 1. */
  line: number
  offset: number
}

interface Message {
  type: string
  request_seq?: number
  success?: boolean
  message?: string
  body?: unknown
}

type Server = ChildProcessByStdio<Writable, Readable, null>

export class Editor {
  readonly #server: Server
  readonly #file: string
  readonly #waiting = new Map<number, (message: Message) => void>()
  #seq = 0

  constructor(file: string) {
    this.#file = file
    const options = ['--disableAutomaticTypingAcquisition', '--suppressDiagnosticEvents']
    this.#server = spawn(process.execPath, [TSSERVER, ...options], { stdio: ['pipe', 'pipe', 'inherit'] })
    readMessages(this.#server.stdout, (message) => {
      if (message.type === 'response') this.#waiting.get(message.request_seq ?? -1)?.(message)
    })
    this.#send('open', { file })
  }

  /** CPU time of the language server so far. */
  cpuMs(): number {
    return cpuUsOf(this.#server.pid as number) / 1_000
  }

  /** Adds an empty line at the end, after which the server has to look at the program again. */
  edit(): void {
    const line = readFileSync(this.#file, 'utf8').split('\n').length
    this.#send('change', { file: this.#file, line, offset: 1, endLine: line, endOffset: 1, insertString: '\n' })
  }

  /** The names that the editor would list. */
  async complete(place: Place): Promise<string[]> {
    const body = await this.#ask('completionInfo', { file: this.#file, ...place })
    return (body as { entries: { name: string }[] }).entries.map(({ name }) => name)
  }

  /** The text that the editor would show over a name. */
  async explain(place: Place): Promise<string> {
    const body = await this.#ask('quickinfo', { file: this.#file, ...place })
    return (body as { displayString: string }).displayString
  }

  async close(): Promise<void> {
    const exited = once(this.#server, 'exit')
    this.#send('exit', {})
    await exited
  }

  async #ask(command: string, given: object): Promise<unknown> {
    const { success, message, body } = await new Promise<Message>((resolve, reject) => {
      const seq = this.#send(command, given)
      const gone = () => reject(new Error('The language server ended; its own output is above.'))
      this.#server.once('exit', gone)
      this.#waiting.set(seq, (answer) => {
        this.#waiting.delete(seq)
        this.#server.off('exit', gone)
        resolve(answer)
      })
    })
    if (!success) throw new Error(`The language server refused ${command}: ${message}`)
    return body
  }

  #send(command: string, given: object): number {
    const seq = this.#seq++
    this.#server.stdin.write(`${JSON.stringify({ seq, type: 'request', command, arguments: given })}\n`)
    return seq
  }
}

/** Each message has a header with its length, as in HTTP. */
export function readMessages(source: Readable, receive: (message: Message) => void): void {
  let rest = Buffer.alloc(0)
  source.on('data', (piece: Buffer) => {
    rest = Buffer.concat([rest, piece])
    for (;;) {
      const end = rest.indexOf('\r\n\r\n')
      if (end < 0) return
      const length = Number(/Content-Length: (\d+)/.exec(rest.subarray(0, end).toString())?.[1])
      if (rest.length < end + 4 + length) return
      receive(JSON.parse(rest.subarray(end + 4, end + 4 + length).toString()) as Message)
      rest = rest.subarray(end + 4 + length)
    }
  })
}

/** The place right after the first occurrence of a text. */
export function placeAfter(content: string, wanted: string): Place {
  const at = content.indexOf(wanted)
  if (at < 0) throw new Error(`The program has no "${wanted}".`)
  const before = content.slice(0, at + wanted.length).split('\n')
  return { line: before.length, offset: (before.at(-1) as string).length + 1 }
}
