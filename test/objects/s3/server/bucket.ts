/** An object store in a bucket of its own. One S3 server serves all tests of a file. */
import { afterAll, beforeAll } from 'vitest'
import { openS3Objects, type S3Options } from '../../../../src/objects/s3/index.ts'
import { systemClock } from '../../../../src/server/build/environment.ts'
import { REGION, type SeaweedFs, startSeaweedFs } from '../../../engines/seaweedfs.ts'

export interface S3Tests {
  readonly server: SeaweedFs
  open(bucket: string, options?: Partial<S3Options> & { endpoint?: string }): ReturnType<typeof openS3Objects>
}

export function useSeaweedFs(): S3Tests {
  let server: SeaweedFs | undefined
  beforeAll(async () => {
    server = await startSeaweedFs()
  }, 60_000)
  afterAll(async () => {
    await server?.[Symbol.asyncDispose]()
  })
  const running = () => {
    if (!server) throw new Error('The S3 server is started before the first test.')
    return server
  }
  return {
    get server() {
      return running()
    },
    open: (bucket, { endpoint = running().endpoint, ...options } = {}) =>
      openS3Objects({
        url: `s3://${bucket}/objects?region=${REGION}&endpoint=${encodeURIComponent(endpoint)}`,
        credentials: running().credentials,
        clock: systemClock,
        env: {},
        log: silent,
        conceal: () => () => {},
        ...options,
      }),
  }
}

export const silent = { warn: () => {} }
