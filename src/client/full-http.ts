/** HTTP with everything: uploads, progress, and results at addresses. */
import { ResultFetcher } from './downloads/fetch-result.ts'
import { HttpTransport } from './http/http-transport.ts'
import type { HttpOptions } from './options.ts'
import { watchCall } from './streams/watch.ts'
import { encodeUpload } from './upload.ts'

export function createHttpTransport(options: HttpOptions): HttpTransport {
  return new HttpTransport(options, {
    encodeUpload,
    watch: watchCall,
    createFetcher: (requests) => new ResultFetcher(requests),
  })
}
