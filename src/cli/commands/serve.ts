/** `callplane serve`: starts a server with the operations that some modules export. */
import { Fault } from '../../core/fault.ts'
import { type CallplaneServer, openServer } from '../../server/create-server.ts'
import type { WorkerLink } from '../../server/workers/index.ts'
import { abortOf, type Command, type CommandIo, EXIT, print } from '../command.ts'
import { loadApplication } from '../serve/application.ts'
import { loginPath } from '../serve/login-path.ts'
import { findModulesBeside } from '../serve/modules.ts'
import { parseServe, type ServeSettings } from '../serve/settings.ts'
import { startLine, startMessage } from '../serve/start-message.ts'
import { joinWatcher } from '../serve/watched.ts'
import { chooseLogOutput } from '../terminal/log-lines.ts'

/** Short, because the developer waits for the new version. Running calls are handed back and run again there. */
const WATCHED_GRACE_MS = 1_000
const LAST_WORDS_MS = 100

export const serve: Command = {
  help: `
Usage: callplane serve [file or folder] [options]

Serves every operation that the file exports or declares, or that any .ts, .js, .mjs, .yaml or .yml file in the folder
does (except tests, type declarations, node_modules and dot folders). Default: ./operations, ./operations.ts or
./operations.js. TypeScript needs no build; a YAML file declares tools that run elsewhere. A module can also export
  context      additions to every handler's ctx: an object, or a function that returns one for each call
  server       options of createServer, such as auth, cors and limits

Options:
  -p, --port <n>         The port (default: 4747). 0 picks a free one. Also PORT.
  --host <address>       The address (default: 127.0.0.1). Other addresses than loopback need authentication.
  --data <folder>        The data folder (default: .callplane). Also CALLPLANE_DATA.
  --objects <url>        Keeps objects in a bucket instead of files: s3://bucket/prefix?region=…&endpoint=… The credentials
                         come from the environment or a file (docs/adapters/objects/s3.md). Also CALLPLANE_OBJECTS.
  --store <url>          Keeps calls in this Postgres database instead of SQLite: postgres://user@host:5432/database.
                         Servers with the same database share all calls. Needs the package pg. Prefer CALLPLANE_STORE
                         for an address with a password.
  --node-address <a>     The host:port at which other servers on the database read streams of this one (default: the
                         address from which it reaches the database, and a free port).
  --no-migrate           Does not upgrade the schema of the Postgres database, and does not start if a migration is
                         pending. "callplane migrate" applies them.
  --accept-loss          Starts although the database lacks acknowledged commits, and logs what is missing.
  --token <token>        A bearer token that may do everything. Prefer CALLPLANE_TOKEN: other users of the machine
                         can read a command line. "callplane token" creates one.
  --policy <file>        Who may run what, and what needs an approval: a YAML file, or a module that exports a policy.
  --grpc-port <n>        Serves the Tool Contract over gRPC on this port; 0 picks a free one and logs it.
  --websocket            Serves OpenCALL over WebSocket (default: where the package ws is installed). Without the package,
                         the server does not start.
  --no-websocket         Serves no OpenCALL over WebSocket.
  --webrtc               Also carries streams over WebRTC. Needs the package werift.
  --quic <address>       Serves HTTP/3 on this UDP address, such as 127.0.0.1:4433 or 4433. Needs --tls-cert and --tls-key.
  --quic-raw-port <n>    Serves OpenCALL on raw QUIC streams (ALPN callplane/1) on this UDP port, too.
  --tls-cert <file>      Serves HTTPS with this certificate (PEM, with its chain). Needs --tls-key.
  --tls-key <file>       The certificate's private key (PEM, without a passphrase).
  --mqtt <url>           Serves OpenCALL through this MQTT broker: mqtt://host:1883, or mqtts:// for TLS. The user and the
                         password are in CALLPLANE_MQTT_USERNAME and CALLPLANE_MQTT_PASSWORD. Also CALLPLANE_MQTT.
  --mqtt-max-packet <n>  The largest packet in bytes that the broker takes. Set it for MQTT 3.1.1, which does not tell it.
  --kafka <brokers>      OpenCALL over Kafka: host:port, several separated by commas. The login comes from
                         CALLPLANE_KAFKA_USERNAME and CALLPLANE_KAFKA_PASSWORD.
  --cells <file>         Divides callers between several stores: a YAML file with the name, url and slots of each cell
                         (docs/guides/cells.md). Needs --cell and authentication.
  --cell <name>          The cell that this server belongs to.
  --watch                Restarts when a loaded file or the policy changes.
  --workers <n>          Runs calls in this many processes at the same address and on the same data. A process
                         that ends is restarted. Without it, one process does everything.
  --log-level <level>    debug, info, warn, error or silent (default: info).
  --no-request-log       Does not log requests.
  --no-execution-log     Does not log calls, except recorded and governed ones.
  --strict               Enforces what OpenCALL requires and lenient servers do not, such as a UUID as requestId.

On a terminal the log is formatted for people; otherwise each line is a JSON object. Without authentication, a terminal
also gets a link that opens the console. It works once, for ten minutes; "callplane login-link" prints a new one.
Ctrl-C lets running calls finish and then stops; a second Ctrl-C stops at once.

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

/** `link` is set if this process is one of several workers. */
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
  const place = stdout.isTTY && options.console !== false && (await placeOfConsole(server, options.auth !== undefined))
  const started = {
    url,
    ...(place && { console: place }),
    operations: server.registry.list(Date.now()),
    data: options.data,
    authenticated: options.auth !== undefined,
    ...(link && { workers: { count: settings.workers ?? 1, pid: process.ppid } }),
  }
  const message = stdout.isTTY ? startMessage(started) : startLine(started, new Date())
  if (link) return serveUntilTold(server, link, message, signal)
  print(stdout, message)
  await abortOf(signal)
  if (stdout.isTTY && !watcher)
    print(stdout, 'Waiting for running calls to finish; press Ctrl-C again to stop at once.')
  await closeFully(server, watcher && WATCHED_GRACE_MS)
  return EXIT.ok
}

/** Without authentication, the person at this terminal gets a code. Otherwise people have a credential of their own. */
async function placeOfConsole(server: CallplaneServer, authenticated: boolean): Promise<string> {
  const login = authenticated ? undefined : await server.loginCode()
  return login ? loginPath(login.code) : '/console/'
}

/** Runs as one of several workers. A worker cannot store anything without the hub process, so it ends with it. */
function serveLinked(settings: ServeSettings, io: CommandIo, link: WorkerLink): Promise<number> {
  return Promise.race([serveOnce(settings, io, link), failWithoutHub(link)])
}

/** Leaves time to send the waiting clients their last response, which asks them to try again. */
async function failWithoutHub(link: WorkerLink): Promise<number> {
  await link.lost
  await new Promise((resolve) => setTimeout(resolve, LAST_WORDS_MS))
  return EXIT.failed
}

/** The hub process prints the start message for a worker, and decides when the worker stops. */
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
    `Without authentication the server listens on loopback only, not on ${host}. Set CALLPLANE_TOKEN ("callplane token" creates one), or export "server" with "auth".`,
    { code: 'UNPROTECTED', cause },
  )
}

/** The server's timers do not keep the process alive, so an interval does until the server is closed. */
async function closeFully(server: CallplaneServer, graceMs?: number): Promise<void> {
  const alive = setInterval(() => {}, 60_000)
  try {
    await server.close(graceMs)
  } finally {
    clearInterval(alive)
  }
}
