/**
 * `callplane serve --workers N`: starts the worker processes, keeps their calls for them, starts another one where one
 * has ended, and ends them all when it is asked to.
 */
import type { ChildProcess } from 'node:child_process'
import cluster from 'node:cluster'
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import type { Duplex } from 'node:stream'
import { systemClock } from '../../server/build/environment.ts'
import { createHub, type Hub } from '../../server/workers/index.ts'
import { abortOf, type CommandIo, EXIT, print } from '../command.ts'
import { chooseLogOutput } from '../terminal/log-lines.ts'
import type { ServeSettings } from './settings.ts'
import { encodePlace, LINE, type Place } from './worker.ts'

/** A worker gives what is running ten seconds; one that takes much longer does not listen to reason. */
const STOP_MS = 15_000
const FIRST_DELAY_MS = 100
const MAX_DELAY_MS = 10_000
const MAKE_ROOM = 'See whether the machine has memory, processes and open files left.'
/** One that has lived so long did not fail because of how it was started. */
const STEADY_MS = 30_000

type Settings = Pick<ServeSettings, 'host' | 'port' | 'logLevel'> & { workers: number }

export async function superviseWorkers({ host, port, workers, logLevel }: Settings, io: CommandIo): Promise<number> {
  const { stdout, signal } = io
  // Found beforehand: one that they found together would be lost with the last of them.
  const found = port === 0 ? await findPort(host) : port
  const hub = createHub(systemClock, { destination: chooseLogOutput(io), ...(logLevel && { level: logLevel }) })
  cluster.setupPrimary({
    exec: process.argv[1] as string,
    // All of them, also those that are no option of this command.
    args: process.argv.slice(2),
    // Lines of all of them go where those of one would.
    stdio: ['ignore', 'inherit', 'inherit', 'ipc', 'pipe'],
  })
  const seats = Array.from({ length: workers }, (_, at) => new Seat({ number: at + 1, port: found }, hub, io))
  const interrupted = abortOf(signal)
  try {
    const begun = await Promise.race([beginAll(seats as [Seat, ...Seat[]]), interrupted.then(() => EXIT.ok)])
    if (typeof begun === 'number') return begun
    print(stdout, begun)
    await interrupted
    if (stdout.isTTY) print(stdout, 'Finishing what is running; Ctrl-C again ends at once.')
    return EXIT.ok
  } finally {
    await Promise.all(seats.map((seat) => seat.end()))
    await hub.close()
  }
}

/** One before the others: what is wrong with the application is said once. */
async function beginAll([first, ...others]: [Seat, ...Seat[]]): Promise<string | number> {
  const message = await first.begin()
  if (typeof message === 'number') return message
  const begun = await Promise.all(others.map((seat) => seat.begin()))
  return begun.find((result) => typeof result === 'number') ?? message
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

interface End {
  /** In words and as an exit code. */
  how: string
  code: number
}

interface Running {
  pid: number | undefined
  started: Promise<string>
  ended: Promise<End>
  stop(): void
  kill(): void
}

/** How a process ends, or that there was none. That a message could not be sent to it is no end. */
export function endOf(child: ChildProcess): Promise<End> {
  return new Promise((resolve) => {
    child.on('error', (error) => {
      if (child.pid === undefined) resolve(unstarted(error))
    })
    child.on('exit', (code, signal) => {
      const how = code === null ? `was ended by ${signal}` : `ended with ${code}`
      resolve({ how, code: code ?? EXIT.failed })
    })
  })
}

function unstarted(error: Error): End {
  return { how: `could not be started (${error.message})`, code: EXIT.failed }
}

function neverRan(ended: Promise<End>): Running {
  return { pid: undefined, started: new Promise(() => {}), ended, stop() {}, kill() {} }
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
    if (this.#over.signal.aborted) return EXIT.ok
    const running = this.#start()
    const failed = running.ended.then(({ code, how }) => {
      if (running.pid === undefined) print(this.#io.stderr, `callplane: A worker ${how}. ${MAKE_ROOM}`)
      return code || EXIT.failed
    })
    const result = await Promise.race([running.started, failed])
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
    this.#running = this.#tryToStart()
    return this.#running
  }

  /** Where there is no room for another process, Node throws, or tells later: either is an end, and it is tried again. */
  #tryToStart(): Running {
    try {
      const worker = cluster.fork(encodePlace(this.#place))
      // A connection was to be handed to one that has just ended; its end is what counts, and told below.
      worker.on('error', () => undefined)
      const child = worker.process
      const ended = endOf(child)
      if (child.pid === undefined) return neverRan(ended)
      const { started, stop } = this.#hub.attach(child.stdio[LINE] as Duplex)
      return { pid: child.pid, started, ended, stop, kill: () => void child.kill('SIGKILL') }
    } catch (thrown) {
      return neverRan(Promise.resolve(unstarted(thrown as Error)))
    }
  }

  async #keep(first: Running): Promise<void> {
    let running = first
    for (let failures = 0; ; ) {
      const since = performance.now()
      const { how } = await running.ended
      if (this.#over.signal.aborted) return
      failures = performance.now() - since > STEADY_MS ? 0 : failures + 1
      const delayMs = failures === 0 ? 0 : Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** (failures - 1))
      const which = `worker ${this.#place.number}${running.pid === undefined ? '' : ` (process ${running.pid})`}`
      print(this.#io.stderr, `callplane: ${which} ${how}; another is started in ${delayMs} ms.`)
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
