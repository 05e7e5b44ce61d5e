/** A process that calls an addition on a server in another process, with one client library. Every sum is checked. */
import type { ContenderOptions, Serving } from './contender.ts'
import { createRepeater } from './repeat.ts'

/** Resolves with what the server says is the sum of the two. */
export type Add = (a: number, b: number) => Promise<unknown>

export function addressOf({ serverPort }: ContenderOptions): string {
  if (serverPort === undefined) throw new Error('Give a client the port of its server.')
  return `http://127.0.0.1:${serverPort}`
}

export function clientOf(add: Add, close = async () => {}): Serving {
  const call = async (index: number) => {
    const sum = await add(index, 1)
    if (sum !== index + 1) throw new Error(`${index} and 1 are ${JSON.stringify(sum)}, said the server.`)
  }
  return { port: 0, work: createRepeater(call), close }
}
