/**
 * A separate process that uses a store: `hold` keeps it open, `die` kills itself during writes, `fail` reaches a limit.
 */
import { execFileSync } from 'node:child_process'
import { writeSync } from 'node:fs'
import { Fault } from '../../src/core/fault.ts'
import { createSqliteStore } from '../../src/stores/sqlite/index.ts'
import { createManualClock } from '../../src/testing/fakes/clock.ts'
import { sampleInstance } from '../../src/testing/fakes/instances.ts'

const [mode, file] = process.argv.slice(2) as ['hold' | 'die' | 'fail', string]
const clock = createManualClock()
// Written synchronously, so that no output is lost when the process is killed.
const say = (line: string) => writeSync(1, `${line}\n`)

function open() {
  try {
    return createSqliteStore({ file, clock, lockWaitMs: 300 })
  } catch (thrown) {
    say(`refused ${Fault.from(thrown).code}`)
    process.exit(1)
  }
}

const store = open()

async function hold(): Promise<void> {
  say('open')
  process.stdin.resume()
  await new Promise((resolve) => process.stdin.once('end', resolve))
  await store.close()
}

async function die(): Promise<void> {
  let acknowledged = 0
  const submit = async () => {
    for (;;) {
      const instance = sampleInstance(clock.now())
      await store.accept(instance)
      say(`accepted ${instance.id}`)
      await store.advance({
        id: instance.id,
        from: ['accepted'],
        to: 'complete',
        outcome: { kind: 'result', value: 1 },
      })
      say(`completed ${instance.id}`)
      if (++acknowledged === 100) process.kill(process.pid, 'SIGKILL')
    }
  }
  await Promise.all(Array.from({ length: 16 }, submit))
}

async function fail(): Promise<void> {
  // With a handler, exceeding the limit fails the write instead of ending the process.
  process.on('SIGXFSZ', () => {})
  const submit = async () => {
    const instance = sampleInstance(clock.now(), { args: 'x'.repeat(20_000) })
    const outcome = await store.accept(instance).then(
      () => 'accepted',
      (thrown) => Fault.from(thrown).code,
    )
    say(`${outcome} ${instance.id}`)
    return outcome
  }
  let outcomes: string[]
  do outcomes = await Promise.all(Array.from({ length: 8 }, submit))
  while (outcomes.every((outcome) => outcome === 'accepted'))
  execFileSync('prlimit', ['--pid', String(process.pid), '--fsize=unlimited'])
  say('room')
  await submit()
  await store.close()
  process.exit(0)
}

const modes = { hold, die, fail }
await modes[mode]()
