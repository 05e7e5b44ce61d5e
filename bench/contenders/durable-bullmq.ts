/**
 * BullMQ with its worker in the same process. A job counts as done when the worker has moved it to the completed set.
 */
import { Queue, Worker } from 'bullmq'
import type { Pair } from './add-checks.ts'
import { ADDED, createWaiters, type JobSystem } from './durable-jobs.ts'

export interface BullmqJobs extends JobSystem {
  run(id: string, args: Pair): Promise<number>
}

const CONCURRENCY = 64

export async function openBullmqJobs(port: number, name = 'jobs'): Promise<BullmqJobs> {
  const connection = { host: '127.0.0.1', port }
  const queue = new Queue<Pair, number>(name, { connection })
  const worker = new Worker<Pair, number>(name, async ({ data: { a, b } }) => a + b, {
    connection,
    concurrency: CONCURRENCY,
  })
  const waiters = createWaiters()
  worker.on('completed', ({ id }, sum) => waiters.done(id as string, sum))
  worker.on('failed', (job, error) => {
    throw new Error(`Job ${job?.id} failed.`, { cause: error })
  })
  await Promise.all([queue.waitUntilReady(), worker.waitUntilReady()])

  // We choose the id, because a job can complete before `add` returns its id.
  function submit(id: string, args: Pair) {
    const completed = waiters.wait(id)
    return { accepted: queue.add('add', args, { jobId: id }), completed }
  }

  return {
    submit: (index) => submit(`job-${index}`, { a: index, b: ADDED }),
    async run(id, args) {
      const { accepted, completed } = submit(id, args)
      await accepted
      return completed
    },
    async countStored() {
      const jobs = await queue.getJobs(['completed'], 0, -1)
      return jobs.filter(({ data, returnvalue }) => returnvalue === data.a + data.b).length
    },
    async close() {
      await worker.close()
      await queue.close()
    },
  }
}
