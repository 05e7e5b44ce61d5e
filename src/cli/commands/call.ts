/** `callplane call`: sends one call over HTTP and, with `--follow`, follows it to its end. */
import { readChunks } from '../../client/downloads/chunks.ts'
import { readRanges } from '../../client/downloads/ranges.ts'
import { isFault } from '../../client/fault.ts'
import { changes } from '../../client/full-run.ts'
import { isOver } from '../../client/judge.ts'
import type { Envelope, OutgoingCall } from '../../client/options.ts'
import { Subscription } from '../../client/streams/subscription.ts'
import type { Received } from '../../client/transport.ts'
import { nearest } from '../../core/nearest.ts'
import { parseArguments, parseWhole } from '../arguments.ts'
import { type CallWords, prepareCall } from '../client/call-request.ts'
import { deliver } from '../client/deliver.ts'
import { REMOTE_HELP, REMOTE_OPTIONS, Remote } from '../client/remote.ts'
import { streamWays } from '../client/stream-ways.ts'
import { type Command, type CommandIo, EXIT, print, usageFault } from '../command.ts'
import { createProgressBar } from '../terminal/progress-bar.ts'
import { jsonText, plainText } from '../terminal/text.ts'

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
    const words = { op, args: values.args, files: values.file, context: contextOf(values) }
    const outgoing = await prepareCall(words, io.stdin)
    const { follow, json, output } = values
    return new CallCommand(outgoing, remote, io, { follow, json, ...(output !== undefined && { output }) }).run()
  },
}

function contextOf(values: {
  'idempotency-key'?: string
  session?: string
  locale?: string
  'timeout-ms'?: string
}): CallWords['context'] {
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
  readonly #outgoing: OutgoingCall
  readonly #remote: Remote
  readonly #io: CommandIo
  readonly #wishes: Wishes
  /** The address where the call can be polled, once the server accepted it. */
  #address: string | undefined

  constructor(outgoing: OutgoingCall, remote: Remote, io: CommandIo, wishes: Wishes) {
    this.#outgoing = outgoing
    this.#remote = remote
    this.#io = io
    this.#wishes = wishes
  }

  async run(): Promise<number> {
    try {
      const first = await this.#remote.send(this.#outgoing)
      if (first.envelope.state === 'error') return await this.#failed(first)
      return await this.#accepted(first)
    } catch (thrown) {
      if (this.#address === undefined) throw thrown
      // The server accepted the call, so the call continues whatever happens here.
      const { signal, stderr } = this.#io
      print(stderr, `callplane: the call continues on the server; poll it at ${this.#address}`)
      if (signal.aborted) return EXIT.interrupted
      throw thrown
    }
  }

  async #accepted(first: Received): Promise<number> {
    const { envelope } = first
    if (envelope.result !== undefined) return this.#done(envelope)
    if (isOver(envelope)) return this.#elsewhere(envelope)
    if (!this.#wishes.follow) return this.#say(envelope)
    if (envelope.stream) return this.#frames(first)
    this.#address = this.#remote.pollAddress(envelope)
    if (!this.#wishes.json && (await this.#isChunked())) return this.#chunks(`${this.#address}/chunks`)
    const last = await this.#follow(first, this.#address)
    this.#address = undefined
    if (last.state === 'error') return this.#failed({ envelope: last })
    return last.result === undefined ? this.#elsewhere(last) : this.#done(last)
  }

  async #follow(first: Received, address: string): Promise<Envelope> {
    const calling = this.#remote.callingAt(address)
    const { signal } = this.#remote
    const bar = createProgressBar(this.#io.stderr)
    let last = first.envelope
    bar.show(last.state, last.progress)
    try {
      for await (const now of changes(calling, first, signal)) {
        last = now
        bar.show(now.state, now.progress)
      }
    } finally {
      bar.clear()
    }
    // An event says only that the result is elsewhere; a poll gives its address.
    if (last.state === 'error' || last.result !== undefined || last.location) return last
    return (await calling.transport.poll(last.requestId, signal)).envelope
  }

  async #frames(first: Received): Promise<number> {
    const { stdout } = this.#io
    const { calling, fetcher, signal } = this.#remote
    const { sessionId, locale } = this.#outgoing.context
    // Those of later subscriptions, which have ids of their own.
    const options = { signal, ...(sessionId !== undefined && { sessionId }), ...(locale !== undefined && { locale }) }
    const frames = new Subscription(calling, fetcher, this.#outgoing, options, streamWays, { first, maxBroken: 3 })
    try {
      for await (const frame of frames) print(stdout, plainText(textOf(frame)))
      return EXIT.ok
    } catch (thrown) {
      // The loop has unsubscribed.
      if (signal.aborted) return EXIT.interrupted
      if (!isFault(thrown) || thrown.outcome !== 'failed') throw thrown
      const { requestId = '', code, message, details } = thrown
      const error = { code, message, ...(details && { cause: details }) }
      return this.#failed({ envelope: { requestId, state: 'error', error } })
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
    if (await this.#isChunked()) return this.#chunks(location.uri)
    if (output === undefined) return this.#say(location)
    const { calling, fetcher, signal } = this.#remote
    const { pieces } = await readRanges(calling, fetcher, location, signal)
    await deliver(pieces(), this.#io, output)
    return EXIT.ok
  }

  async #chunks(address: string): Promise<number> {
    const { calling, fetcher, signal } = this.#remote
    await deliver(readChunks(calling, fetcher, address, signal), this.#io, this.#wishes.output)
    this.#address = undefined
    return EXIT.ok
  }

  async #isChunked(): Promise<boolean> {
    const entry = (await this.#remote.registry()).find(({ op }) => op === this.#outgoing.operation)
    return entry?.chunked === true
  }

  #say(value: unknown): number {
    print(this.#io.stdout, jsonText(value, 2))
    return EXIT.ok
  }

  async #failed({ status = 200, envelope }: Received): Promise<number> {
    const { stderr } = this.#io
    const { code = 'FAILED', message = 'No reason was given.', cause } = envelope.error ?? {}
    if (this.#wishes.json) this.#say(envelope)
    print(stderr, plainText(`callplane: ${code}: ${message}`))
    if (cause) print(stderr, jsonText(cause, 2))
    if (code === 'UNKNOWN_OP') await this.#suggest()
    if (code === 'IDEMPOTENCY_KEY_REQUIRED') print(stderr, 'Pass one with --idempotency-key, for example a new UUID.')
    return status >= 400 && status < 500 ? EXIT.usage : EXIT.failed
  }

  async #suggest(): Promise<void> {
    const names = (await this.#remote.registry()).map(({ op }) => String(op))
    const close = nearest(this.#outgoing.operation, names, 3, (name) => [
      name,
      name.replace(/^v\d+:/, ''),
      name.replace(/^.*[:.]/, ''),
    ])
    if (close.length > 0) print(this.#io.stderr, plainText(`Did you mean ${close.join(' or ')}?`))
    else print(this.#io.stderr, 'Run "callplane ops" to list the operations.')
  }
}

/** JSON as it is, other encodings in base64, as server-sent events have them. */
function textOf(frame: unknown): string {
  return frame instanceof Uint8Array ? Buffer.from(frame).toString('base64') : JSON.stringify(frame)
}
