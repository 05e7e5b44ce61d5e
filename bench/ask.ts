/** Requests and replies between the run and its child processes, over Node's IPC channel. */
import type { ChildProcess } from 'node:child_process'

interface Question {
  id: number
  ask: string
  with?: unknown
}

interface Answer {
  id: number
  value?: unknown
  error?: string
}

export type Answers = Record<string, (given: never) => unknown>

export type Asker = <T>(ask: string, given?: unknown) => Promise<T>

/** The requesting side. If a child exits while a request is open, the request fails, so that the run does not hang. */
export function createAsker(child: ChildProcess, name: string): Asker {
  const open = new Map<number, { resolve(value: unknown): void; reject(error: Error): void }>()
  let ended: Error | undefined
  let nextId = 0
  child.on('message', ({ id, value, error }: Answer) => {
    const waiting = open.get(id)
    open.delete(id)
    if (error === undefined) waiting?.resolve(value)
    else waiting?.reject(new Error(`${name}: ${error}`))
  })
  child.once('exit', (code, signal) => {
    ended = new Error(`${name} ended (${signal ?? `code ${code}`}); its own output is above.`)
    for (const { reject } of open.values()) reject(ended)
    open.clear()
  })
  return <T>(ask: string, given?: unknown) =>
    new Promise<T>((resolve, reject) => {
      if (ended) return reject(ended)
      const id = nextId++
      open.set(id, { resolve: resolve as (value: unknown) => void, reject })
      child.send({ id, ask, with: given } satisfies Question)
    })
}

/** The replying side. It runs in the child and ends the child when the run's own process is gone. */
export function answerQuestions(answers: Answers): void {
  process.on('message', async ({ id, ask, with: given }: Question) => {
    try {
      const value = await answers[ask]?.(given as never)
      process.send?.({ id, value } satisfies Answer)
    } catch (thrown) {
      const error = thrown instanceof Error ? (thrown.stack ?? thrown.message) : String(thrown)
      process.send?.({ id, error } satisfies Answer)
    }
  })
  process.on('disconnect', () => process.exit(0))
}
