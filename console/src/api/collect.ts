/** Reads a download to its end, and tells how much has arrived. */
import type { Download } from '../../../src/client/downloads/download.ts'

export async function collect(download: Download, onBytes: (bytes: number) => void): Promise<Blob> {
  const parts: Uint8Array<ArrayBuffer>[] = []
  let bytes = 0
  const reader = download.stream().getReader()
  for (;;) {
    const { done, value } = await reader.read()
    if (done) return new Blob(parts, { type: download.mimeType })
    parts.push(value)
    bytes += value.length
    onBytes(bytes)
  }
}
