/**
 * The process that runs one server under test. It reports what only the process itself knows: its CPU time and memory.
 */
import { readFileSync } from 'node:fs'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { answerQuestions } from './ask.ts'
import type { Contender, ContenderOptions, Serving } from './contenders/contender.ts'
import type { ProfileLine } from './profiler.ts'

export interface HostOptions extends ContenderOptions {
  contender: keyof typeof CONTENDERS
}

export interface HostAnswers {
  start: { port: number; startedInMs: number }
  memory: { rssMb: number; peakMb: number }
}

/** Loaded on demand, so that no server loads another's modules. */
const CONTENDERS = {
  callplane: () => import('./contenders/callplane.ts'),
  'node-http': () => import('./contenders/node-http.ts'),
  fastify: () => import('./contenders/fastify.ts'),
  hono: () => import('./contenders/hono.ts'),
  express: () => import('./contenders/express.ts'),
  trpc: () => import('./contenders/trpc.ts'),
  orpc: () => import('./contenders/orpc.ts'),
  'mcp-sdk-v1': () => import('./contenders/mcp-sdk-v1.ts'),
  'mcp-sdk-v2': () => import('./contenders/mcp-sdk-v2.ts'),
  'client-fetch': () => import('./contenders/client-fetch.ts'),
  'client-callplane': () => import('./contenders/client-callplane.ts'),
  'client-trpc': () => import('./contenders/client-trpc.ts'),
  'client-orpc': () => import('./contenders/client-orpc.ts'),
  'client-mcp-v1': () => import('./contenders/client-mcp-v1.ts'),
  'client-mcp-v2': () => import('./contenders/client-mcp-v2.ts'),
  prepared: () => import('./contenders/prepared.ts'),
  tool: () => import('./contenders/tool.ts'),
  direct: () => import('./contenders/direct.ts'),
  governed: () => import('./contenders/governed.ts'),
  guard: () => import('./contenders/guard.ts'),
  durable: () => import('./contenders/durable.ts'),
  'durable-http': () => import('./contenders/durable-http.ts'),
  'postgres-node': () => import('./contenders/postgres-node.ts'),
  'postgres-river': () => import('./contenders/postgres-river.ts'),
  growth: () => import('./contenders/growth.ts'),
  fairness: () => import('./contenders/fairness.ts'),
  'sockets-io': () => import('./contenders/sockets-io.ts'),
  'sockets-trpc': () => import('./contenders/sockets-trpc.ts'),
  'sockets-orpc': () => import('./contenders/sockets-orpc.ts'),
  'frames-ws': () => import('./contenders/frames-ws.ts'),
  'frames-callplane': () => import('./contenders/frames-callplane.ts'),
  'quic-calls-bare': () => import('./contenders/quic-calls-bare.ts'),
  'quic-frames-bare': () => import('./contenders/quic-frames-bare.ts'),
  'webrtc-bare': () => import('./contenders/webrtc-bare.ts'),
  'brokers-callplane': () => import('./contenders/brokers-callplane.ts'),
  'brokers-mqtt': () => import('./contenders/brokers-mqtt.ts'),
  'brokers-kafka': () => import('./contenders/brokers-kafka.ts'),
} satisfies Record<string, () => Promise<{ start: Contender }>>

let serving: Serving | undefined
let stopProfile: (() => Promise<ProfileLine[]>) | undefined

answerQuestions({
  async start({ contender, ...options }: HostOptions): Promise<HostAnswers['start']> {
    const { start } = await CONTENDERS[contender]()
    const from = performance.now()
    serving = await start(options)
    return { port: serving.port, startedInMs: performance.now() - from }
  },
  cpuUs() {
    const { user, system } = process.cpuUsage()
    return user + system
  },
  memory(): HostAnswers['memory'] {
    return { rssMb: process.memoryUsage.rss() / 2 ** 20, peakMb: peakBytes() / 2 ** 20 }
  },
  /** What is used after a garbage collection. */
  heapBytes(): number {
    setFlagsFromString('--expose-gc')
    const collect = runInNewContext('gc') as () => void
    collect()
    collect()
    const { heapUsed, external } = process.memoryUsage()
    return heapUsed + external
  },
  async startProfile() {
    stopProfile = await (await import('./profiler.ts')).startProfile()
  },
  stopProfile: () => stopProfile?.(),
  work: (given: unknown) => serving?.work?.(given),
  stop: () => serving?.close(),
})

/** The kernel's high-water mark, if the kernel reports one. */
function peakBytes(): number {
  try {
    const match = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync('/proc/self/status', 'utf8'))
    if (match) return Number(match[1]) * 1024
  } catch (thrown) {
    if ((thrown as NodeJS.ErrnoException).code !== 'ENOENT') throw thrown
  }
  return process.resourceUsage().maxRSS * 1024
}
