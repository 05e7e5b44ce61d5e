/**
 * `callplane serve --workers N`: starts the worker processes, keeps their calls for them, starts another one where one
 * has ended, and ends them all when it is asked to.
 */
import cluster from 'node:cluster'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import type { Duplex } from 'node:stream'
import { systemClock } from '../server/environment.ts'
import { createHub, type Hub } from '../server/workers/index.ts'
import { type CommandIo, EXIT, print } from './command.ts'
import type { ServeSettings } from './serve-settings.ts'
import { encodePlace, LINE, type Place } from './worker.ts'

/** A worker gives what is running ten seconds; one that takes much longer does not listen to reason. */
const STOP_MS = 15_000
const FIRST_DELAY_MS = 100
const MAX_DELAY_MS = 10_000
/** One that has lived so long did not fail because of how it was started. */
const STEADY_MS = 30_000

type Settings = Pick<ServeSettings, 'host' | 'port'> & { workers: number }

export async function superviseWorkers({ host, port, workers }: Settings, io: CommandIo): Promise<number> {
  const { stdout, signal } = io
  // Found beforehand: one that they found together would be lost with the last of them.
  const found = port === 0 ? await findPort(host) : port
  const hub = createHub(systemClock)
  cluster.setupPrimary({
    exec: process.argv[1] as string,
    args: ['serve', ...io.args],
    // Lines of all of them go where those of one would.
    stdio: ['ignore', 'inherit', 'inherit', 'ipc', 'pipe'],
  })
  const seats = Array.from({ length: workers }, (_, at) => new Seat({ number: at + 1, port: found }, hub, io))
  const [first, ...others] = seats as [Seat, ...Seat[]]
  try {
    // One before the others: what is wrong with the application is said once.
    const begun = [await first.begin()]
    if (typeof begun[0] === 'string') begun.push(...(await Promise.all(others.map((seat) => seat.begin()))))
    const failed = begun.find((result) => typeof result === 'number')
    if (failed !== undefined) return failed
    print(stdout, begun[0] as string)
    if (!signal.aborted) await once(signal, 'abort')
    if (stdout.isTTY) print(stdout, 'Finishing what is running; Ctrl-C again ends at once.')
    return EXIT.ok
  } finally {
    await Promise.all(seats.map((seat) => seat.end()))
    await hub.close()
  }
}

/** Where it cannot be listened at all, the first worker says so. */
async function findPort(host: string): Promise<number> {
  const server = createServer()
  try {
    await once(server.listen(0, host), 'listening')
    return (server.address() as AddressInfo).port
  } catch {
    return 0
  } finally {
    server.close()
  }
}

interface Running {
  pid: number | undefined
  started: Promise<string>
  /** How it ended, in words and as an exit code. */
  ended: Promise<{ how: string; code: number }>
  stop(): void
  kill(): void
}

/** One worker after the other, under the same number. */
class Seat {
  readonly #place: Place
  readonly #hub: Hub
  readonly #io: CommandIo
  readonly #over = new AbortController()
  #running: Running | undefined
  #kept: Promise<void> | undefined

  constructor(place: Place, hub: Hub, io: CommandIo) {
    this.#place = place
    this.#hub = hub
    this.#io = io
  }

  /** What the first worker says once it takes calls, or how it failed: it has said why itself. */
  async begin(): Promise<string | number> {
    const running = this.#start()
    const interrupted = once(this.#io.signal, 'abort').then(() => EXIT.interrupted)
    const result = await Promise.race([
      running.started,
      running.ended.then(({ code }) => code || EXIT.failed),
      interrupted,
    ])
    if (typeof result === 'string') this.#kept = this.#keep(running)
    return result
  }

  async end(): Promise<void> {
    this.#over.abort()
    const running = this.#running
    if (running) {
      running.stop()
      const cut = setTimeout(() => running.kill(), STOP_MS)
      await running.ended
      clearTimeout(cut)
    }
    await this.#kept
  }

  #start(): Running {
    const worker = cluster.fork(encodePlace(this.#place))
    // A connection was to be handed to one that has just ended; its end is what counts, and told below.
    worker.on('error', () => undefined)
    const child = worker.process
    const { started, stop } = this.#hub.attach(child.stdio[LINE] as Duplex)
    const ended = once(child, 'exit').then(([code, signal]: (number | string | null)[]) => {
      const how = code === null ? `was ended by ${signal}` : `ended with ${code}`
      return { how, code: Number(code ?? EXIT.failed) }
    })
    this.#running = { pid: child.pid, started, ended, stop, kill: () => void child.kill('SIGKILL') }
    return this.#running
  }

  async #keep(first: Running): Promise<void> {
    let running = first
    for (let failures = 0; ; ) {
      const since = performance.now()
      const { how } = await running.ended
      if (this.#over.signal.aborted) return
      failures = performance.now() - since > STEADY_MS ? 0 : failures + 1
      const delayMs = failures === 0 ? 0 : Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (failures - 1))
      print(
        this.#io.stderr,
        `callplane: worker ${this.#place.number} (process ${running.pid}) ${how}; another is started in ${delayMs} ms.`,
      )
      await this.#pause(delayMs)
      if (this.#over.signal.aborted) return
      running = this.#start()
    }
  }

  /** Cut short by the end. */
  #pause(delayMs: number): Promise<void> {
    return new Promise((resolve) => {
      const timer = setTimeout(resolve, delayMs)
      this.#over.signal.addEventListener('abort', () => {
        clearTimeout(timer)
        resolve()
      })
    })
  }
}
