/** One export: the server writes the file, and the page reads it in chunks. */
import { collect } from '../api/collect.ts'
import type { Server } from '../api/server.ts'
import type { ExportArgs } from '../api/types.ts'

export interface Exported {
  blob: Blob
  rows: number
}

/** `onBytes` is told how much has arrived. An abort also ends the call at the server. */
export async function runExport(
  server: Server,
  args: ExportArgs,
  onBytes: (bytes: number) => void,
  signal: AbortSignal,
): Promise<Exported> {
  const client = await server.fullClient()
  signal.throwIfAborted()
  const run = await client.callplane.exports.create.start(args, { signal })
  try {
    const download = await run.result({ signal })
    const blob = await collect(download, (bytes) => {
      signal.throwIfAborted()
      onBytes(bytes)
    })
    return { blob, rows: download.value.rows }
  } catch (thrown) {
    // The file is not wanted any more. If the server is away, the call ends by itself.
    if (signal.aborted) await run.cancel().catch(() => undefined)
    throw thrown
  }
}

/** `runs-2026-10-31.jsonl` */
export function fileNameOf(what: string, format: ExportArgs['format'], now: Date): string {
  return `${what}-${now.toISOString().slice(0, 10)}.${format}`
}
