/**
 * Questions, answers and notices between two processes, over a stream of lines. All messages of one turn of the event
 * loop are sent in one write, because one write per message would cost more than the message itself.
 */
import type { Duplex } from 'node:stream'
import { Fault, type FaultRecord } from '../../core/fault.ts'

export interface Channel {
  /**
   * Settles with the other side's answer or its fault. If the other side goes away, the fault can be retried. `decode`
   * is called as soon as the answer arrives, before any code that waits for the same batch of messages continues.
   * `failed` is called if there is no answer.
   */
  ask<T>(name: string, args: readonly unknown[], decode?: (answer: never) => T, failed?: () => void): Promise<T>
  /** Sends a notice. It has no answer. */
  tell(name: string, ...args: unknown[]): void
  /** Sets the handler for questions and notices of this name. Messages arrive in the order in which they were sent. */
  on(name: string, handle: (...args: never[]) => unknown): void
  /** Called when all messages of one write have been handled, before any code that waits for them continues. */
  afterEach(handled: () => void): void
  /** Resolves when every question has its answer. */
  idle(): Promise<void>
  /** Resolves when the other side has closed the stream and everything that it sent has been handled. */
  readonly closed: Promise<void>
  /** Sends the waiting messages, then ends the stream. */
  close(): void
}

/**
 * A question is `[number, name, ...args]`. A notice has the number 0. An answer is `[-number, value]`, or `[-number]`
 * without a value, or `[-number, 0, fault]`.
 */
type Message = [number, ...unknown[]]

interface Question {
  resolve(answer: unknown): void
  reject(fault: Fault): void
  decode: ((answer: never) => unknown) | undefined
  failed: (() => void) | undefined
}

const LINE_END = 10

export function createChannel(stream: Duplex): Channel {
  const handlers = new Map<string, (...args: unknown[]) => unknown>()
  const questions = new Map<number, Question>()
  const closed = Promise.withResolvers<void>()
  let idle: PromiseWithResolvers<void> | undefined
  let handled = () => {}
  let outgoing: Message[] = []
  let begun: Buffer[] = []
  let last = 0
  let open = true

  function send(message: Message): void {
    if (open && outgoing.push(message) === 1) setImmediate(flush)
  }

  function flush(): void {
    const messages = outgoing
    outgoing = []
    if (!open || messages.length === 0) return
    const text = `${encode(messages)}\n`
    // Nearly all text is ASCII. Latin-1 is faster to write than UTF-8, because Node need not encode it.
    stream.write(text, Buffer.byteLength(text) === text.length ? 'latin1' : 'utf8')
  }

  /** A message that is not valid JSON fails alone. The others are sent. */
  function encode(messages: readonly Message[]): string {
    try {
      return JSON.stringify(messages)
    } catch {
      return JSON.stringify(messages.flatMap((message) => (isSayable(message) ? [message] : replace(message))))
    }
  }

  function replace([number]: Message): Message[] {
    if (number < 0) return [[number, 0, unsayable().toRecord()]]
    const question = take(number)
    if (question) fail(question, unsayable())
    return []
  }

  function take(number: number): Question | undefined {
    const question = questions.get(number)
    questions.delete(number)
    if (questions.size === 0) settleIdle()
    return question
  }

  function settleIdle(): void {
    idle?.resolve()
    idle = undefined
  }

  function receive(chunk: Buffer): void {
    let from = 0
    for (let end = chunk.indexOf(LINE_END); end >= 0; end = chunk.indexOf(LINE_END, from)) {
      const line = chunk.subarray(from, end)
      const whole = begun.length === 0 ? line : Buffer.concat([...begun, line])
      if (begun.length > 0) begun = []
      from = end + 1
      for (const message of JSON.parse(whole.toString()) as Message[]) {
        if (message[0] < 0) settle(message)
        else answer(message)
      }
      handled()
    }
    if (from < chunk.length) begun.push(from === 0 ? chunk : chunk.subarray(from))
  }

  function settle(message: Message): void {
    const question = take(-message[0])
    if (!question) return
    const { resolve, decode } = question
    if (message.length === 3) fail(question, Fault.fromRecord(message[2] as FaultRecord))
    else resolve(decode ? decode(message[1] as never) : message[1])
  }

  function answer([number, name, ...args]: Message): void {
    const respond = (value: unknown) => send(value === undefined ? [-number] : [-number, value])
    const refuse = (thrown: unknown) => send([-number, 0, Fault.from(thrown).toRecord()])
    const handler = handlers.get(name as string)
    // A notice without a handler is ignored: the handler is not set yet, or was removed.
    if (number === 0) return void handler?.(...args)
    try {
      if (!handler) throw new Fault('unavailable', `The other process does not serve "${name}" yet. Try again shortly.`)
      const answered = handler(...args)
      if (answered instanceof Promise) answered.then(respond, refuse)
      else respond(answered)
    } catch (thrown) {
      refuse(thrown)
    }
  }

  function end(): void {
    if (!open) return
    open = false
    for (const question of questions.values()) fail(question, gone())
    questions.clear()
    settleIdle()
    closed.resolve()
  }

  stream.on('data', receive)
  stream.on('close', end)
  // A connection between two processes of one machine breaks only when one of them ends.
  stream.on('error', end)

  return {
    ask: (name, args, decode, failed) =>
      new Promise((resolve, reject) => {
        const question: Question = { resolve: resolve as Question['resolve'], reject, decode, failed }
        if (!open) return fail(question, gone())
        questions.set(++last, question)
        send([last, name, ...args])
      }),
    tell: (name, ...args) => send([0, name, ...args]),
    on: (name, handle) => void handlers.set(name, handle as (...args: unknown[]) => unknown),
    afterEach(given) {
      handled = given
    },
    async idle() {
      if (questions.size === 0) return
      idle ??= Promise.withResolvers()
      await idle.promise
    },
    closed: closed.promise,
    close() {
      flush()
      stream.end()
    },
  }
}

function fail({ reject, failed }: Question, fault: Fault): void {
  failed?.()
  reject(fault)
}

function isSayable(message: Message): boolean {
  try {
    JSON.stringify(message)
    return true
  } catch {
    return false
  }
}

function unsayable(): Fault {
  return new Fault('internal', 'The value is not JSON, so it can be neither sent nor stored. Use only JSON values.')
}

function gone(): Fault {
  return new Fault('unavailable', 'The process that stores the calls has ended. Send the call again shortly.', {
    code: 'STORE_GONE',
    retryAfterMs: 1_000,
  })
}
