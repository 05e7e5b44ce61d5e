/** The hub process survives failures of its workers and its disk, and reports them. */
import { createServer, type HandlerContext, operation } from 'callplane'
import { expect, onTestFinished, test } from 'vitest'
import { systemClock } from '../../src/server/build/environment.ts'
import { createHub, openLink, type WorkerLink } from '../../src/server/workers/index.ts'
import { createChannel } from '../../src/stores/hub/index.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { createGate, temporaryFolder } from '../scenarios/server.ts'
import { attach, startPair } from './pair.ts'

/** Nobody takes up what another has left by looking around in the course of a test. */
const work = { leaseMs: 600_000, claimEveryMs: 600_000 }

test('a disk failure while a worker is killed is logged with its cause, and the others continue', async () => {
  const lines: string[] = []
  const disk = { works: true }
  // Read within every write of a lease.
  const now = () => {
    if (disk.works) return systemClock.now()
    throw new Error('the disk is gone')
  }
  const hub = createHub({ ...systemClock, now }, { destination: { write: (line) => void lines.push(line) } })
  const gate = createGate<number>()
  const slow = operation('v1:jobs.slow', { model: 'async', run: () => gate.pass() })
  const add = operation('v1:sums.add', { run: () => 3 })
  const [here, there] = await startPair({ operations: [slow, add], work }, { hub })
  await here.call('v1:jobs.slow', {}, { requestId: 'r1' })
  await gate.began

  disk.works = false
  here.cut()
  await expect.poll(() => lines.join()).toContain('could not release the calls of an ended worker')
  disk.works = true

  expect(JSON.parse(lines[0] as string)).toMatchObject({
    worker: 0,
    level: 'error',
    msg: 'the storage failed',
    err: { cause: { message: 'the disk is gone' } },
  })
  expect((await there.call('v1:sums.add')).body.result).toBe(3)
})

test('calls that a stopping worker hands back run in the other worker at once', async () => {
  const began = Promise.withResolvers<void>()
  const slow = operation('v1:jobs.slow', {
    model: 'async',
    run: (_args, { signal, attempt }: HandlerContext) => {
      if (attempt > 1) return 2
      began.resolve()
      return new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
    },
  })
  const [here, there] = await startPair({ operations: [slow], work })
  await here.call('v1:jobs.slow', {}, { requestId: 'a' })
  await began.promise

  await here.server.close(0)
  here.cut()

  expect((await there.ended('a')).body.result).toBe(2)
})

test('the hub waits one second for an unresponsive worker, and then uses its last report', async () => {
  const clock = createManualClock()
  const hub = createHub(clock)
  const folder = temporaryFolder()
  const asking = openLink(await attach(hub, `${folder}/1`), 1, clock)
  const stuck = createChannel(await attach(hub, `${folder}/2`))
  const asked = { metrics: 0, waits: 0 }
  const never = new Promise<never>(() => {})
  stuck.on('metrics', () => (asked.metrics++ === 0 ? '# TYPE a counter\na 2\n' : never))
  stuck.on('waits', () => asked.waits++ === 0 || never)
  const metrics = asking.metrics(() => '# TYPE a counter\na 1\n')
  const waits = asking.siblings.anyoneElse('waits', () => false)
  onTestFinished(() => stuck.close())

  const before = [await metrics(), await waits('r1')]
  const after = Promise.all([metrics(), waits('r1')])
  await expect.poll(() => asked).toEqual({ metrics: 2, waits: 2 })
  clock.advance(1_000)

  expect(before).toEqual([expect.stringContaining('\na 3\n'), true])
  expect(await after).toEqual([expect.stringContaining('\na 3\n'), false])
})

test('the final counts of a stopping worker stay in the sums', async () => {
  const hub = createHub(systemClock)
  const folder = temporaryFolder()
  const line = await attach(hub, `${folder}/1`)
  const [ending, staying] = [line, await attach(hub, `${folder}/2`)].map((socket, at) =>
    openLink(socket, at + 1, systemClock),
  ) as [WorkerLink, WorkerLink]
  let counted = 1
  ending.metrics(() => `# TYPE a counter\na ${counted}\n`)
  const metrics = staying.metrics(() => '# TYPE a counter\na 10\n')
  const before = await metrics()

  counted = 5
  await ending.leave()
  line.destroy()
  await ending.lost

  expect(before).toContain('\na 11\n')
  await expect.poll(metrics).toContain('\na 15\n')
})

test('an amount that cannot be told to another process is refused before anything is opened', async () => {
  const add = operation('v1:sums.add', { run: () => 3 })
  const start = (options: object) => createServer({ operations: [add], data: temporaryFolder(), ...options })

  await expect(start({ limits: { callBurst: Number.POSITIVE_INFINITY } })).rejects.toThrow(/^limits.callBurst must be/)
  await expect(start({ limits: { callsPerSecond: Number.NaN } })).rejects.toThrow(/^limits.callsPerSecond must be/)
  await expect(start({ work: { leaseMs: -1 } })).rejects.toThrow(/^work.leaseMs must be/)
  const endless = operation('v1:sums.endless', { concurrency: Number.POSITIVE_INFINITY, run: () => 3 })
  await expect(start({ operations: [endless] })).rejects.toThrow('concurrency must be a whole number of 1 or more')
})

test('another worker takes over from one whose process has ended, and not before', async () => {
  const hub = createHub(systemClock)
  const folder = temporaryFolder()
  const process = Promise.withResolvers<void>()
  const taken: number[] = []
  const join = async (at: number, ended?: Promise<void>) => {
    const socket = await attach(hub, `${folder}/${at}`, ended)
    openLink(socket, at, systemClock).takeOver({
      tellNumber: (told) => told(at),
      ended: async (node) => void taken.push(node),
    })
    return socket
  }
  const [dying, other] = [await join(1, process.promise), await join(2)]
  const watching = createChannel(await attach(hub, `${folder}/3`))
  const told = new Promise<void>((resolve) => watching.on('due', () => resolve()))

  dying.destroy()
  // The hub has noticed that the connection is closed, and the others have received what it sent them before.
  await told
  await watching.ask('anyone', ['waits', 'r1'])
  const early = [...taken]
  process.resolve()
  await expect.poll(() => taken).toEqual([1])
  // Nobody is left. The next worker takes over.
  other.destroy()
  const next = await join(4)
  await expect.poll(() => taken).toEqual([1, 2])
  next.destroy()
  watching.close()

  expect(early).toEqual([])
})
