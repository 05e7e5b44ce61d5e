/** `callplane call`: sends one call over HTTP and, with `--follow`, follows it to its end. */
import { Fault } from '../../core/fault.ts'
import type { JsonObject } from '../../core/json.ts'
import { nearest } from '../../core/nearest.ts'
import { parseArguments, parseWhole } from '../arguments.ts'
import { prepareRequest } from '../client/call-request.ts'
import { readChunks } from '../client/chunks.ts'
import { deliver } from '../client/deliver.ts'
import { follow, isOver } from '../client/follow.ts'
import { type Answered, type Envelope, REMOTE_HELP, REMOTE_OPTIONS, Remote, readBody } from '../client/remote.ts'
import { StreamFollower, type Streaming } from '../client/stream-follower.ts'
import { type Command, type CommandIo, EXIT, print, usageFault } from '../command.ts'
import { createProgressBar } from '../terminal/progress-bar.ts'
import { plainText } from '../terminal/text.ts'

export const call: Command = {
  help: `
Usage: callplane call <operation> [options]

Options:
  --args <json>          The arguments: JSON, @file, or - for standard input.
  --file <name=path>     An attachment; repeatable. The file name gives its type, or name=path;type=image/png does.
  --follow               Waits for an async operation to end, with a progress bar on a terminal. Of a stream, prints each
                         frame on its own line as it arrives.
  -o, --output <file>    Writes a chunked result, or a result that is a file, to this file once it is complete.
  --json                 Prints the whole response instead of only the result.
  --idempotency-key <k>  The server runs calls with the same key only once.
  --session <id>         The session the call belongs to.
  --locale <tag>         The language of messages, for example de-CH.
  --timeout-ms <n>       How long the server may hold the request for the result.
${REMOTE_HELP}

Exit codes: 0 done (or accepted, without --follow), 1 failed, 2 the request was refused, 3 no server responds.
Ctrl-C does not stop a call that was accepted: the command prints the address where you can poll it. It does end a
stream that the command follows.

Examples:
  callplane call v1:Calculator.Add --args '{"a":1,"b":2}'
  callplane call v1:Reports.Generate --args '{"month":"2026-01"}' --follow
  callplane call v1:Files.Describe --file file=photo.png
  callplane call v1:Orders.Export --follow -o orders.csv
  callplane call v1:Waves.Watch --follow`,
  async run(io) {
    const { values, positionals } = parseArguments(
      io.args,
      {
        ...REMOTE_OPTIONS,
        args: { type: 'string' },
        file: { type: 'string', multiple: true, default: [] },
        follow: { type: 'boolean', default: false },
        output: { type: 'string', short: 'o' },
        json: { type: 'boolean', default: false },
        'idempotency-key': { type: 'string' },
        session: { type: 'string' },
        locale: { type: 'string' },
        'timeout-ms': { type: 'string' },
      },
      1,
    )
    const [op] = positionals
    if (op === undefined) throw usageFault('Name the operation to call, for example v1:Calculator.Add.')
    const remote = new Remote(values, io)
    const request = await prepareRequest(
      { op, args: values.args, files: values.file, context: contextOf(values) },
      io.stdin,
    )
    const { follow, json, output } = values
    return new CallCommand(op, remote, io, { follow, json, ...(output !== undefined && { output }) }).run(request)
  },
}

function contextOf(values: {
  'idempotency-key'?: string
  session?: string
  locale?: string
  'timeout-ms'?: string
}): JsonObject {
  const timeout = values['timeout-ms']
  return {
    ...(values['idempotency-key'] !== undefined && { idempotencyKey: values['idempotency-key'] }),
    ...(values.session !== undefined && { sessionId: values.session }),
    ...(values.locale !== undefined && { locale: values.locale }),
    ...(timeout !== undefined && { timeoutMs: parseWhole(timeout, '--timeout-ms', 0, Number.MAX_SAFE_INTEGER) }),
  }
}

interface Wishes {
  follow: boolean
  json: boolean
  output?: string
}

class CallCommand {
  readonly #op: string
  readonly #remote: Remote
  readonly #io: CommandIo
  readonly #wishes: Wishes
  /** The address where the call can be polled, once the server accepted it. */
  #address: string | undefined

  constructor(op: string, remote: Remote, io: CommandIo, wishes: Wishes) {
    this.#op = op
    this.#remote = remote
    this.#io = io
    this.#wishes = wishes
  }

  async run(request: () => RequestInit): Promise<number> {
    const ask = () => this.#remote.ask('/call', request())
    try {
      const answered = await ask()
      if (answered.envelope.state === 'error') return await this.#failed(answered)
      return await this.#accepted(answered.envelope, ask)
    } catch (thrown) {
      if (this.#address === undefined) throw thrown
      // The server accepted the call, so the call continues whatever happens here.
      const { signal, stderr } = this.#io
      print(stderr, `callplane: the call continues on the server; poll it at ${this.#address}`)
      if (signal.aborted) return EXIT.interrupted
      throw thrown
    }
  }

  async #accepted(first: Envelope, ask: () => Promise<Answered>): Promise<number> {
    if (first.result !== undefined) return this.#done(first)
    if (isOver(first)) return this.#elsewhere(first)
    if (!this.#wishes.follow) return this.#say(first)
    if (first.stream) return this.#frames({ ...first, stream: first.stream }, ask)
    this.#address = this.#remote.resolve(first.location?.uri ?? `ops/${encodeURIComponent(first.requestId)}`)
    if (!this.#wishes.json && (await this.#isChunked())) return this.#chunks(`${this.#address}/chunks`)
    const last = await this.#follow(first, this.#address)
    this.#address = undefined
    if (last.state === 'error') return this.#failed({ status: 200, envelope: last })
    return last.result === undefined ? this.#elsewhere(last) : this.#done(last)
  }

  async #follow(first: Envelope, address: string): Promise<Envelope> {
    const bar = createProgressBar(this.#io.stderr)
    bar.show(first.state, first.progress)
    try {
      return await follow(this.#remote, address, (now) => bar.show(now.state, now.progress))
    } finally {
      bar.clear()
    }
  }

  async #frames(first: Streaming, ask: () => Promise<Answered>): Promise<number> {
    const { stdout, stderr } = this.#io
    const show = (frame: string) => print(stdout, plainText(frame))
    const follower = new StreamFollower(this.#remote, first, ask, show)
    try {
      const end = await follower.run()
      const { requestId } = follower
      return end.state === 'error' ? this.#failed({ status: 200, envelope: { requestId, ...end } }) : EXIT.ok
    } catch (thrown) {
      if (!this.#remote.interrupted) throw thrown
      const { requestId } = follower
      const left = await this.#remote.leave({ op: 'v1:unsubscribeFromStream', args: { requestId } })
      if (!left) print(stderr, 'callplane: could not unsubscribe; the stream ends 60 seconds after its reader has gone')
      return EXIT.interrupted
    }
  }

  #done(envelope: Envelope): number {
    return this.#say(this.#wishes.json ? envelope : envelope.result)
  }

  /** The result is at another address, not in the envelope. */
  async #elsewhere(envelope: Envelope): Promise<number> {
    const { json, output } = this.#wishes
    const { location } = envelope
    if (json || !location) return this.#say(envelope)
    const uri = this.#remote.resolve(location.uri)
    if (await this.#isChunked()) return this.#chunks(uri)
    if (output === undefined) return this.#say(location)
    const headers = location.auth?.credentialType === 'bearer' && {
      Authorization: `Bearer ${location.auth.credential}`,
    }
    const response = await this.#remote.fetch(uri, { redirect: 'follow', ...(headers && { headers }) })
    if (response.status !== 200 || !response.body) {
      await response.body?.cancel()
      throw new Fault(
        'upstream',
        `The result at ${uri} cannot be fetched: the server responded with ${response.status}.`,
      )
    }
    await deliver(readBody(response.body, this.#remote), this.#io, output)
    return EXIT.ok
  }

  async #chunks(address: string): Promise<number> {
    await deliver(readChunks(this.#remote, address), this.#io, this.#wishes.output)
    this.#address = undefined
    return EXIT.ok
  }

  async #isChunked(): Promise<boolean> {
    const entry = (await this.#remote.registry()).find(({ op }) => op === this.#op)
    return entry?.chunked === true
  }

  #say(value: unknown): number {
    print(this.#io.stdout, JSON.stringify(value, null, 2))
    return EXIT.ok
  }

  async #failed({ status, envelope }: Answered): Promise<number> {
    const { stderr } = this.#io
    const { code = 'FAILED', message = 'No reason was given.', cause } = envelope.error ?? {}
    if (this.#wishes.json) this.#say(envelope)
    print(stderr, plainText(`callplane: ${code}: ${message}`))
    if (cause) print(stderr, JSON.stringify(cause, null, 2))
    if (code === 'UNKNOWN_OP') await this.#suggest()
    if (code === 'IDEMPOTENCY_KEY_REQUIRED') print(stderr, 'Pass one with --idempotency-key, for example a new UUID.')
    return status >= 400 && status < 500 ? EXIT.usage : EXIT.failed
  }

  async #suggest(): Promise<void> {
    const names = (await this.#remote.registry()).map(({ op }) => String(op))
    const close = nearest(this.#op, names, 3, (name) => [name, name.replace(/^v\d+:/, ''), name.replace(/^.*[:.]/, '')])
    if (close.length > 0) print(this.#io.stderr, plainText(`Did you mean ${close.join(' or ')}?`))
    else print(this.#io.stderr, 'Run "callplane ops" to list the operations.')
  }
}
