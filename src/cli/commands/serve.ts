/** `callplane serve`: a server made of the operations that some modules export. */
import { Fault } from '../../core/fault.ts'
import { type CallplaneServer, openServer } from '../../server/create-server.ts'
import type { WorkerLink } from '../../server/workers/index.ts'
import { abortOf, type Command, type CommandIo, EXIT, print } from '../command.ts'
import { loadApplication } from '../serve/application.ts'
import { findModulesBeside } from '../serve/modules.ts'
import { parseServe, type ServeSettings } from '../serve/settings.ts'
import { startLine, startMessage } from '../serve/start-message.ts'
import { joinWatcher } from '../serve/watched.ts'
import { chooseLogOutput } from '../terminal/log-lines.ts'

/** Somebody waits for the new version; what is running is handed back and runs there. */
const WATCHED_GRACE_MS = 1_000
const LAST_WORDS_MS = 100

export const serve: Command = {
  help: `
Usage: callplane serve [file or folder] [options]

Takes every operation that the file exports or declares, or that any .ts, .js, .mjs, .yaml or .yml file in the folder
does (tests, type declarations, node_modules and dot folders left out). Without a name: ./operations, ./operations.ts or
.js. TypeScript is taken as it is, without a build; a YAML file declares tools that run elsewhere. A module can also
export
  context      what every handler finds in its ctx: an object, or a function that makes one for each call
  server       options of createServer, such as auth, cors and limits

Options:
  -p, --port <n>         4747 unless given; 0 takes a free one. Also PORT.
  --host <address>       127.0.0.1 unless given. Anything but loopback needs authentication.
  --data <folder>        Where everything is kept; .callplane unless given. Also CALLPLANE_DATA.
  --accept-loss          Starts though the database lacks commits that were acknowledged, and logs what is missing.
  --token <token>        A bearer token that may do everything. CALLPLANE_TOKEN is better: other users of the machine
                         can read a command line. "callplane token" makes one.
  --policy <file>        Who may run what, and what needs an approval: a YAML file, or a module that exports a policy.
  --grpc-port <n>        Serves the Tool Contract over gRPC on this port; 0 takes a free one, which the log names.
  --watch                Starts again when one of the loaded files changes, or the policy.
  --workers <n>          Runs calls in so many processes of their own, all at the same address and on the same data; one
                         that ends is started again. Without it everything is in one process.
  --log-level <level>    debug, info, warn, error or silent; info unless given.
  --no-request-log       No line for each request.
  --no-execution-log     No line for each call, except where it is recorded or governed.
  --strict               Refuses what OpenCALL asks for and lenient servers do without, such as a UUID as requestId.

Where standard output is a terminal the log is made for people, else each line is a JSON object.
Ctrl-C finishes what is running and ends; a second one ends at once.

Examples:
  callplane serve operations.ts --watch
  callplane serve operations.ts --policy policy.yaml
  PORT=8080 CALLPLANE_DATA=/var/lib/callplane callplane serve dist/operations
  CALLPLANE_TOKEN=$(cat token) callplane serve operations.ts --host 0.0.0.0`,
  async run(io) {
    const settings = parseServe(io)
    if (settings.watch) return (await import('../serve/watch.ts')).watch(settings, io)
    if (settings.workers === undefined) return serveOnce(settings, io)
    const { joinServer, takePlace } = await import('../serve/worker.ts')
    const place = takePlace(io.env)
    if (place) return serveLinked({ ...settings, port: place.port }, io, joinServer(place))
    return (await import('../serve/workers.ts')).superviseWorkers({ ...settings, workers: settings.workers }, io)
  },
}

/** `link` where this process is one of several workers. */
async function serveOnce(settings: ServeSettings, io: CommandIo, link?: WorkerLink): Promise<number> {
  const { stdout, env } = io
  const watcher = joinWatcher(env)
  const signal = watcher ? AbortSignal.any([io.signal, watcher]) : io.signal
  const loading = loadApplication(findModulesBeside(settings.policy, settings.path))
  const application = await (link ? Promise.race([loading, link.stopped]) : loading)
  if (!application) return EXIT.ok
  const options = settings.over(application.settings)
  const server = await openServer(
    {
      logTo: chooseLogOutput(io),
      ...options,
      operations: application.operations,
      imports: [...(options.imports ?? []), ...application.imports],
      ...(application.context && { context: application.context }),
    },
    link,
  )
  const { url } = await listenOrClose(server, settings)
  const started = {
    url,
    operations: server.registry.list(Date.now()),
    data: options.data,
    authenticated: options.auth !== undefined,
    ...(link && { workers: { count: settings.workers ?? 1, pid: process.ppid } }),
  }
  const message = stdout.isTTY ? startMessage(started) : startLine(started, new Date())
  if (link) return serveUntilTold(server, link, message, signal)
  print(stdout, message)
  await abortOf(signal)
  if (stdout.isTTY && !watcher) print(stdout, 'Finishing what is running; Ctrl-C again ends at once.')
  await closeFully(server, watcher && WATCHED_GRACE_MS)
  return EXIT.ok
}

/** One of several workers: without the process in the middle nothing can be stored, and it ends. */
function serveLinked(settings: ServeSettings, io: CommandIo, link: WorkerLink): Promise<number> {
  return Promise.race([serveOnce(settings, io, link), failWithoutHub(link)])
}

/** Whoever waits for an answer has been told to come back; that is still sent. */
async function failWithoutHub(link: WorkerLink): Promise<number> {
  await link.lost
  await new Promise((resolve) => setTimeout(resolve, LAST_WORDS_MS))
  return EXIT.failed
}

/** A worker leaves it to the process in the middle to say that the server listens, and when it is over. */
async function serveUntilTold(
  server: CallplaneServer,
  link: WorkerLink,
  message: string,
  signal: AbortSignal,
): Promise<number> {
  link.started(message)
  await Promise.race([link.stopped, abortOf(signal)])
  await closeFully(server)
  await link.leave()
  return EXIT.ok
}

async function listenOrClose(server: CallplaneServer, { host, port }: ServeSettings) {
  try {
    return await server.listen({ host, port })
  } catch (thrown) {
    await closeFully(server)
    if (thrown instanceof Fault && thrown.code === 'UNPROTECTED') throw unprotected(host, thrown)
    throw thrown
  }
}

function unprotected(host: string, cause: Fault): Fault {
  return new Fault(
    'malformed',
    `Without authentication the server listens on loopback only, not on ${host}. Set CALLPLANE_TOKEN ("callplane token" makes one), or export "server" with "auth".`,
    { code: 'UNPROTECTED', cause },
  )
}

/** The server's own timers do not keep a process alive; while it closes, something must. */
async function closeFully(server: CallplaneServer, graceMs?: number): Promise<void> {
  const alive = setInterval(() => {}, 60_000)
  try {
    await server.close(graceMs)
  } finally {
    clearInterval(alive)
  }
}
