/** NATS JetStream: a file-backed work queue, consumed in the same process, and a KV bucket for the results. */
import { AckPolicy, type JsMsg, jetstream, jetstreamManager, RetentionPolicy, StorageType } from '@nats-io/jetstream'
import { Kvm } from '@nats-io/kv'
import { connect } from '@nats-io/transport-node'
import { ADDED, createWaiters, type JobSystem } from './durable-jobs.ts'

const STREAM = 'jobs'
const CONSUMER = 'worker'
/** Maximum number of messages in flight. */
const AHEAD = 256

export async function openNatsJobs(port: number): Promise<JobSystem> {
  const connection = await connect({ servers: `127.0.0.1:${port}` })
  const streams = await jetstreamManager(connection)
  await streams.streams.add({
    name: STREAM,
    subjects: [STREAM],
    retention: RetentionPolicy.Workqueue,
    storage: StorageType.File,
  })
  await streams.consumers.add(STREAM, { durable_name: CONSUMER, ack_policy: AckPolicy.Explicit, max_ack_pending: -1 })
  const client = jetstream(connection)
  const results = await new Kvm(client).create('results', { storage: StorageType.File, history: 1 })
  const waiters = createWaiters()
  const consumer = await client.consumers.get(STREAM, CONSUMER)
  const messages = await consumer.consume({ max_messages: AHEAD })

  async function handle(message: JsMsg): Promise<void> {
    const { a, b } = message.json<{ a: number; b: number }>()
    await results.put(`job-${a}`, JSON.stringify(a + b))
    message.ack()
    waiters.done(`job-${a}`, a + b)
  }

  const consuming = (async () => {
    // A failure here is an unhandled rejection: it ends the process and the run.
    for await (const message of messages) void handle(message)
  })()

  return {
    submit(index) {
      const completed = waiters.wait(`job-${index}`)
      return { accepted: client.publish(STREAM, JSON.stringify({ a: index, b: ADDED })), completed }
    },
    async countStored(jobs) {
      if (jobs === 0) return 0
      let right = 0
      let left = (await results.status()).values
      for await (const { key, value } of await results.watch()) {
        if (Number(key.slice('job-'.length)) + ADDED === Number(new TextDecoder().decode(value))) right++
        if (--left === 0) break
      }
      return right
    },
    async close() {
      await messages.close()
      await consuming
      await connection.close()
    },
  }
}
