/** Workers and the hub process are killed while many clients use the server; then the history is checked. */
import { onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../cli/processes.ts'
import { CrashingServer } from '../crash/crashing-server.ts'
import { besiege } from '../crash/siege.ts'
import { verifies } from '../requirements.ts'

test('killed at random moments, two workers and their store lose no call, double no effect and take nothing back', {
  timeout: 120_000,
}, async () => {
  verifies('opencall:289', 'opencall:291', 'opencall:294', 'opencall:295')
  const server = new CrashingServer(await temporaryFolder(), 2)
  onTestFinished(() => server.kill())

  await besiege(server, {
    rounds: 6,
    clientsARound: 50,
    answersBefore: (_, random) => 1 + random(80),
    async disturb(round, random) {
      if (round % 3 < 2) return server.killWorker(random(2))
      await server.kill()
      await server.start()
    },
    callsTaken: 150,
  })
})
