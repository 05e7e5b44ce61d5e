/** Kills a real server process repeatedly while many clients use it, then checks the history. */
import { onTestFinished, test } from 'vitest'
import { temporaryFolder } from '../cli/processes.ts'
import { verifies } from '../requirements.ts'
import { CrashingServer } from './crashing-server.ts'
import { besiege } from './siege.ts'

test('killed at random moments, the server loses no call, doubles no effect and takes nothing back', {
  timeout: 120_000,
}, async () => {
  verifies('opencall:289', 'opencall:291', 'opencall:294', 'opencall:295')
  const server = new CrashingServer(await temporaryFolder())
  onTestFinished(() => server.kill())

  await besiege(server, {
    rounds: 8,
    clientsARound: 60,
    // Now and then at once, while the server still takes up what the last kill left.
    answersBefore: (round, random) => (round % 3 === 2 ? 1 + random(5) : 1 + random(100)),
    async disturb() {
      await server.kill()
      await server.start()
    },
    callsTaken: 300,
  })
})
