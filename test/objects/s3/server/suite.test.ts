import { describe, expect, test } from 'vitest'
import { describeObjectStore } from '../../../../src/testing/suites/objects/objects.ts'
import { describeWith, s3Server } from '../../../engines/engines.ts'
import { useSeaweedFs } from './bucket.ts'

describeWith(s3Server, 'objects in S3', () => {
  const s3 = useSeaweedFs()

  describeObjectStore({ describe, test, expect }, 'objects in S3', async () => {
    const objects = await s3.open(await s3.server.createBucket())
    return { objects, cleanup: async () => objects.close() }
  })
})
