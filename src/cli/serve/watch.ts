/**
 * `callplane serve --watch`: runs the server in a child process and restarts it when a loaded file changes. A version
 * that does not start prints the reason; the watcher then waits for the next change.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { statSync } from 'node:fs'
import { relative, resolve } from 'node:path'
import { type CommandIo, EXIT, print } from '../command.ts'
import { ChangedFiles } from './changed-files.ts'
import { findModules, isModule } from './modules.ts'
import type { ServeSettings } from './settings.ts'
import { type FromServer, type FromWatcher, WATCHED } from './watched.ts'

/** A server that is still loading does not react to a stop message, so it is killed after this long. */
const STOP_MS = 10_000

type Watched = Pick<ServeSettings, 'path' | 'policy'>

export async function watch({ path, policy }: Watched, io: CommandIo): Promise<number> {
  const modules = [...findModules(path), ...(policy === undefined ? [] : [resolve(policy)])]
  const folder = path !== undefined && statSync(path).isDirectory() ? resolve(path) : undefined
  const loaded = new Set(modules)
  const isNewModule = (file: string) => folder !== undefined && file.startsWith(folder) && isModule(file)

  let wake = () => {}
  let changed: string | undefined
  using files = new ChangedFiles(
    (file) => loaded.has(file) || isNewModule(file),
    (file) => {
      changed = file
      wake()
    },
  )
  if (folder !== undefined) files.watchFolder(folder)
  for (const file of modules) files.watchFolderOf(file)
  io.signal.addEventListener('abort', () => wake(), { once: true })

  while (!io.signal.aborted) {
    changed = undefined
    const server = start(io, (file) => {
      loaded.add(file)
      files.watchFolderOf(file)
    })
    const ended = once(server, 'exit')
    void ended.then(() => wake())
    await until(
      () => changed !== undefined || io.signal.aborted || hasEnded(server),
      (next) => (wake = next),
    )
    if (hasEnded(server) && changed === undefined && !io.signal.aborted) {
      print(io.stderr, 'callplane: the server stopped. It restarts when one of its files changes.')
      await until(
        () => changed !== undefined || io.signal.aborted,
        (next) => (wake = next),
      )
    }
    if (server.connected) server.send('stop' satisfies FromWatcher)
    const kill = setTimeout(() => server.kill('SIGKILL'), STOP_MS)
    await ended
    clearTimeout(kill)
    if (changed !== undefined) print(io.stderr, `callplane: ${relative('.', changed)} changed, starting again`)
  }
  return EXIT.ok
}

function start({ args, env }: CommandIo, onLoaded: (file: string) => void): ChildProcess {
  const program = process.argv[1] as string
  const rest = args.filter((arg) => arg !== '--watch')
  const server = spawn(process.execPath, [...process.execArgv, program, 'serve', ...rest], {
    stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
    env: { ...env, [WATCHED]: '1' },
  })
  server.on('message', ({ loaded }: FromServer) => onLoaded(loaded))
  return server
}

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null
}

async function until(condition: () => boolean, onWake: (wake: () => void) => void): Promise<void> {
  while (!condition()) await new Promise<void>((resolve) => onWake(resolve))
}
