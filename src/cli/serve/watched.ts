/** The served side of `--watch`: tells the watching process which files were loaded, and ends when that one says so. */
import { registerHooks } from 'node:module'
import { fileURLToPath } from 'node:url'

export const WATCHED = 'CALLPLANE_WATCHED'

/** What the two processes say to each other. */
export type FromServer = { loaded: string }
export type FromWatcher = 'stop'

/** Nothing, unless this process was started to be watched. */
export function joinWatcher(env: Record<string, string | undefined>): AbortSignal | undefined {
  if (env[WATCHED] === undefined || !process.send) return undefined
  delete env[WATCHED]
  reportLoadedFiles((message) => process.send?.(message))
  const stopped = new AbortController()
  process.on('message', (message: FromWatcher) => {
    if (message === 'stop') stopped.abort()
  })
  // Without its watcher nobody could stop it by Ctrl-C.
  process.on('disconnect', () => stopped.abort())
  return stopped.signal
}

/** Before a file is parsed, so that one with a mistake in it is reported as well. */
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
