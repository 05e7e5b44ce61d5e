/**
 * Questions, answers and notices between two processes, over a stream of lines. Whatever is said in one turn of the
 * event loop leaves in one write: a write for each message would cost more than most of them mean.
 */
import type { Duplex } from 'node:stream'
import { Fault, type FaultRecord } from '../../core/fault.ts'

export interface Channel {
  /**
   * Settles with the other side's answer or its fault; with a fault that can be retried if the other side goes away.
   * `decode` is called as soon as the answer is there, before anybody goes on because of what came with it; `failed`
   * where there is none.
   */
  ask<T>(name: string, args: readonly unknown[], decode?: (answer: never) => T, failed?: () => void): Promise<T>
  /** Says something that has no answer. */
  tell(name: string, ...args: unknown[]): void
  /** What is done when the other side asks for this, or says it. Messages come in the order they were sent. */
  on(name: string, handle: (...args: never[]) => unknown): void
  /** Called when everything that came in one write has been looked at, before anybody goes on because of it. */
  afterEach(handled: () => void): void
  /** Resolves when nothing is asked that has no answer yet. */
  idle(): Promise<void>
  /** Resolves when the other side has gone; by then everything it sent has been handled. */
  readonly closed: Promise<void>
  /** Sends what has been said, then lets the other side know that this was all. */
  close(): void
}

/** A question's number and name, or a notice's name behind a zero; an answer is the negative number, and no value means none. */
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
    // ASCII, as nearly all of it is, is written faster if it need not be looked through for anything else.
    stream.write(text, Buffer.byteLength(text) === text.length ? 'latin1' : 'utf8')
  }

  /** A message that cannot be said in JSON fails alone. */
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
    // A notice that nobody listens to yet, or does any more, is none.
    if (number === 0) return void handler?.(...args)
    try {
      if (!handler) throw new Fault('unavailable', `Nobody answers to "${name}" yet. Ask again in a moment.`)
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
  // What breaks a connection between two processes of one machine is the end of one of them.
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
  return new Fault('internal', 'This is not JSON, so that it can neither be sent nor stored.')
}

function gone(): Fault {
  return new Fault('unavailable', 'The process that keeps the calls has ended. Send this again in a moment.', {
    code: 'STORE_GONE',
    retryAfterMs: 1_000,
  })
}
