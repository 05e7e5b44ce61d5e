/** What the doctor says about a bucket. */
import { expect, test } from 'vitest'
import { runCommand } from '../../../cli/streams.ts'
import { describeWith, s3Server } from '../../../engines/engines.ts'
import { REGION } from '../../../engines/seaweedfs.ts'
import { temporaryFolder } from '../../../scenarios/server.ts'
import { useSeaweedFs } from './bucket.ts'

describeWith(s3Server, 'the doctor of a bucket', () => {
  const s3 = useSeaweedFs()

  test('a bucket that can be used is fine; a missing one and wrong credentials are problems', async () => {
    const { endpoint, credentials } = s3.server
    const bucket = await s3.server.createBucket()
    const examine = async (name: string, secret: string) => {
      const url = `s3://${name}/objects?region=${REGION}&endpoint=${encodeURIComponent(endpoint)}`
      const env = { AWS_ACCESS_KEY_ID: credentials.accessKeyId, AWS_SECRET_ACCESS_KEY: secret }
      const { code, stdout } = await runCommand(['doctor', '--data', temporaryFolder(), '--objects', url], { env })
      return { code, line: stdout.split('\n').find((line) => line.includes(' objects ')) }
    }

    const good = await examine(bucket, credentials.secretAccessKey)
    const missing = await examine('no-such-bucket', credentials.secretAccessKey)
    const forbidden = await examine(bucket, 'wrong')

    expect(good).toEqual({ code: 0, line: expect.stringContaining('The bucket can be written') })
    expect(missing).toEqual({ code: 1, line: expect.stringMatching(/^PROBLEM/) })
    expect(forbidden).toEqual({ code: 1, line: expect.stringMatching(/^PROBLEM/) })
  })
})
