/** mosquitto's own clients, `mosquitto_pub` and `mosquitto_sub`: MQTT from a program that is not ours. */
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { spawnTied } from './tied-process.ts'

/** A message as `mosquitto_sub` prints it. */
export interface PrintedMessage {
  topic: string
  payload: string
  qos: number
  retain: number
  /** Of MQTT 5: `response-topic`, `correlation-data`, `user-properties` and others. */
  properties?: Record<string, unknown>
}

export interface MosquittoSub extends AsyncDisposable {
  /** Resolves with the next message. Rejects if the client ends. */
  next(): Promise<PrintedMessage>
}

/** Publishes with the arguments of `mosquitto_pub`. Resolves when the broker has accepted the message. */
export async function mosquittoPub(port: number, args: readonly string[]): Promise<void> {
  await promisify(execFile)('mosquitto_pub', ['-h', '127.0.0.1', '-p', String(port), ...args])
}

/** Subscribes with the arguments of `mosquitto_sub`. Resolves when the broker has accepted the subscription. */
export async function mosquittoSub(port: number, args: readonly string[]): Promise<MosquittoSub> {
  // Writing to a pipe, it would keep its first lines in a buffer.
  const command = ['stdbuf', '-oL', 'mosquitto_sub', '-h', '127.0.0.1', '-p', String(port), '-d', '-F', '%j'] as const
  const child = spawnTied([...command, ...args])
  const exited = once(child, 'exit')
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  const errors = text(child.stderr)
  // Messages that waited in a session come before the subscription is accepted.
  const early: string[] = []

  const nextLine = async () => {
    const { value, done } = await lines.next()
    if (done) throw new Error(`mosquitto_sub ended: ${await errors}`)
    return value
  }
  for (let line = await nextLine(); !line.startsWith('Subscribed '); line = await nextLine()) {
    if (isMessage(line)) early.push(line)
  }
  return {
    async next() {
      let line = early.shift() ?? (await nextLine())
      while (!isMessage(line)) line = await nextLine()
      return JSON.parse(line)
    },
    async [Symbol.asyncDispose]() {
      child.kill('SIGKILL')
      await exited
    },
  }
}

function isMessage(line: string): boolean {
  return line.startsWith('{')
}
