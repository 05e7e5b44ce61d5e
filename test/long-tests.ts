/**
 * The test files that `npm test` leaves to `npm run test:all`: crash series, long attacks and tests that need an
 * engine. All other files stay in `npm test`, even slow ones, because they show whether the code works.
 */
import type { Reporter } from 'vitest/node'

const LONG: readonly { files: string; what: string }[] = [
  { files: 'test/crash/**/*.test.ts', what: 'servers that are killed at random moments and at every single point' },
  { files: 'test/workers/crash.test.ts', what: 'workers that are killed at random moments' },
  { files: 'test/objects/crash.test.ts', what: 'writers of objects that are killed again and again' },
  { files: 'test/attack/**/*.test.ts', what: 'hostile requests and costly validation' },
  { files: 'test/backends/container.test.ts', what: 'containers, which need podman' },
  { files: 'test/carriers/mqtt/*.test.ts', what: 'OpenCALL over MQTT, which needs mosquitto' },
  { files: 'test/carriers/kafka/*.test.ts', what: 'OpenCALL over Kafka, with brokers and servers that are killed' },
  { files: 'test/client/brokers/*.test.ts', what: 'the client over MQTT and Kafka, with brokers that are killed' },
  { files: 'test/carriers/quic/*.test.ts', what: 'QUIC and HTTP/3, which need their library, Chromium and Python' },
  { files: 'test/carriers/{websocket,webrtc}/{chromium*,python}.test.ts', what: 'browsers and Python as clients' },
  { files: 'test/carriers/websocket/silent-crowd.test.ts', what: 'thousands of silent connections' },
  {
    files: 'test/scenarios/operate/carriers.test.ts',
    what: 'callers with single scopes over MQTT, Kafka, QUIC, WebRTC and standard input',
  },
  { files: 'test/nodes/streams.test.ts', what: 'streams of servers on one Postgres, with servers that are killed' },
  { files: 'test/stores/postgres/*.test.ts', what: 'the store in Postgres, with connections that are killed' },
  { files: 'test/nodes/*.test.ts', what: 'several servers on one Postgres' },
  { files: 'test/chaos/chaos.test.ts', what: 'nodes on Postgres and S3 that are killed, paused and cut off' },
  { files: 'test/{client,react}/{chromium,bun}.test.ts', what: 'the client and its hooks in Chromium and Bun' },
  {
    files: 'test/client/oxp/{public-servers,chromium}.test.ts',
    what: 'our OXP client with other servers and in Chromium',
  },
  { files: 'test/console/**/*.page.test.ts', what: 'the console in Chromium' },
  { files: 'test/objects/s3/server/*.test.ts', what: 'objects in S3, which need SeaweedFS' },
  { files: 'test/codegen/clients/*.test.ts', what: 'generated clients, which need Python and Go' },
  { files: 'test/console/snippets.test.ts', what: 'snippets of the console, run by their languages' },
  { files: 'test/codegen/foreign-*.test.ts', what: 'clients that other generators make of our OpenAPI document' },
  {
    files: 'test/frameworks/*.test.ts',
    what: 'hosts in processes of their own: frameworks, Bun, Deno, workerd, Next.js',
  },
  { files: 'test/agents/{mastra,langchain}.test.ts', what: 'tools for Mastra and LangChain, which are large packages' },
  { files: 'test/package/create.test.ts', what: 'projects of npm create callplane, from the packed packages' },
  { files: 'test/engines/*.test.ts', what: 'the engines themselves: mosquitto, Kafka, Chromium, Python, SeaweedFS' },
]

const ALL = ['test/**/*.test.ts', 'examples/**/*.test.ts']

/** `quick` is `npm test`, `long` is `npm run test:all`; any other run includes all files. */
export type Part = 'quick' | 'long' | 'whole'

export function partOf(mode: string): Part {
  return mode === 'quick' || mode === 'long' ? mode : 'whole'
}

/** Glob patterns of one part, in vitest's syntax. */
export function filesOf(part: Part): { include: string[]; exclude: string[] } {
  const long = LONG.map(({ files }) => files)
  return { include: part === 'long' ? long : ALL, exclude: ['**/node_modules/**', ...(part === 'quick' ? long : [])] }
}

/** Prints after `npm test` which tests it did not run. */
export class LeftOut implements Reporter {
  onTestRunEnd(): void {
    const lines = LONG.map(({ files, what }) => `    ${what} (${files})`)
    console.log(` Left out; "npm run test:all" runs them:\n${lines.join('\n')}\n`)
  }
}
