/**
 * The server's side of `--watch`: reports the loaded files to the watching process, and stops when that process says
 * so.
 */
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'

export const WATCHED = 'CALLPLANE_WATCHED'

/** The messages between the two processes. */
export type FromServer = { loaded: string }
export type FromWatcher = 'stop'

/** `undefined` if this process has no watcher. */
export function joinWatcher(env: Record<string, string | undefined>): AbortSignal | undefined {
  if (env[WATCHED] === undefined || !process.send) return undefined
  delete env[WATCHED]
  reportLoadedFiles((message) => process.send?.(message))
  const stopped = new AbortController()
  process.on('message', (message: FromWatcher) => {
    if (message === 'stop') stopped.abort()
  })
  // Without its watcher, Ctrl-C would no longer reach this process.
  process.on('disconnect', () => stopped.abort())
  return stopped.signal
}

/** Reports a file before it is parsed, so that a file with a syntax error is watched too. */
function reportLoadedFiles(report: (message: FromServer) => void): void {
  registerHooks({
    load(url, context, nextLoad) {
      if (url.startsWith('file:') && !url.includes('/node_modules/')) {
        const bare = url.replace(/[?#].*$/, '')
        report({ loaded: fileURLToPath(bare) })
      }
      return nextLoad(url, context)
    },
  })
}
