/**
 * `callplane serve --workers N`: starts the worker processes, stores their calls, restarts a worker that ends, and
 * stops all of them at the end. This is the hub process.
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

/** A worker gives running calls ten seconds. One that takes much longer does not react, and is killed. */
const STOP_MS = 15_000
const FIRST_DELAY_MS = 100
const MAX_DELAY_MS = 10_000
const MAKE_ROOM = 'Check that the machine has free memory, processes and file descriptors.'
/** A worker that ran this long did not fail because of its start. */
const STEADY_MS = 30_000

type Settings = Pick<ServeSettings, 'host' | 'port' | 'logLevel'> & { workers: number }

export async function superviseWorkers({ host, port, workers, logLevel }: Settings, io: CommandIo): Promise<number> {
  const { stdout, signal } = io
  // Picked here: a free port that the workers picked together would be lost with the last of them.
  const found = port === 0 ? await findPort(host) : port
  const hub = createHub(systemClock, { destination: chooseLogOutput(io), ...(logLevel && { level: logLevel }) })
  cluster.setupPrimary({
    exec: process.argv[1] as string,
    // All arguments, including those that are not options of this command.
    args: process.argv.slice(2),
    // All workers write to this process's standard output and error.
    stdio: ['ignore', 'inherit', 'inherit', 'ipc', 'pipe'],
  })
  const seats = Array.from({ length: workers }, (_, at) => new Seat({ number: at + 1, port: found }, hub, io))
  const interrupted = abortOf(signal)
  try {
    const begun = await Promise.race([beginAll(seats as [Seat, ...Seat[]]), interrupted.then(() => EXIT.ok)])
    if (typeof begun === 'number') return begun
    print(stdout, begun)
    await interrupted
    if (stdout.isTTY) print(stdout, 'Waiting for running calls to finish; press Ctrl-C again to stop at once.')
    return EXIT.ok
  } finally {
    await Promise.all(seats.map((seat) => seat.end()))
    await hub.close()
  }
}

/** Starts one worker before the others, so that an error in the application is printed once. */
async function beginAll([first, ...others]: [Seat, ...Seat[]]): Promise<string | number> {
  const message = await first.begin()
  if (typeof message === 'number') return message
  const begun = await Promise.all(others.map((seat) => seat.begin()))
  return begun.find((result) => typeof result === 'number') ?? message
}

/** If the host cannot be listened on, the first worker reports it. */
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
  /** As text and as an exit code. */
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

/** Resolves when the process ends or could not be started. A message that could not be sent is not an end. */
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
  return { how: `could not start (${error.message})`, code: EXIT.failed }
}

function neverRan(ended: Promise<End>): Running {
  return { pid: undefined, started: new Promise(() => {}), ended, stop() {}, kill() {} }
}

/** One of the N places for a worker, with the same number for each worker that takes it. */
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

  /**
   * Returns the start message of the first worker, or its exit code if it failed. A worker prints the reason itself.
   */
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

  /**
   * Without resources for another process, Node throws or emits an error later. Both count as an end, and the start is
   * tried again.
   */
  #tryToStart(): Running {
    try {
      const worker = cluster.fork(encodePlace(this.#place))
      // Node could not hand a connection to a worker that just ended. `endOf` reports that end.
      worker.on('error', () => undefined)
      const child = worker.process
      const ended = endOf(child)
      if (child.pid === undefined) return neverRan(ended)
      const { started, stop } = this.#hub.attach(child.stdio[LINE] as Duplex, ended)
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
      print(this.#io.stderr, `callplane: ${which} ${how}; starting another in ${delayMs} ms.`)
      await this.#pause(delayMs)
      if (this.#over.signal.aborted) return
      running = this.#start()
    }
  }

  /** The wait ends early when the server stops. */
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
