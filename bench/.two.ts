import { mkdtempSync } from 'node:fs'
import { startHost, startLoad } from './processes.ts'
import { ratios, runRounds } from './rounds.ts'
import { summarise } from './statistics.ts'
const names = process.argv.slice(2)
const OPT: any = {
  bare: [{ contender: 'node-http' }, 'opencall'], cp: [{ contender: 'callplane' }, 'opencall'], fastify: [{ contender: 'fastify' }, 'opencall'],
  auth: [{ contender: 'callplane', guarded: true, executionLog: false }, 'opencallToken'], authx: [{ contender: 'callplane', guarded: true }, 'opencallToken'],
  mcp: [{ contender: 'callplane' }, 'mcp'], baremcp: [{ contender: 'node-http', envelope: 'mcp' }, 'mcp'],
}
const load = startLoad(); const hosts: any[] = []
for (const n of names) { const d = mkdtempSync('/tmp/two-'); hosts.push(await startHost(n, { ...OPT[n][0], data: d }, d + '.log')) }
const samples = await runRounds(load, hosts, { rounds: 41, warmUpCalls: 60000, warmUpMs: 4000, durationMs: 300, connections: 32, trafficOf: (h: any) => OPT[names[hosts.indexOf(h)]!][1] } as any)
for (const [i, n] of names.entries()) { const s = samples[i]!; const r = summarise(ratios(s, samples[0]!)); const c = summarise(s.map((x) => x.cpuUs)); console.log(n.padEnd(8), c.median.toFixed(1), 'µs best', Math.min(...s.map((x) => x.cpuUs)).toFixed(1), 'rel', r.median.toFixed(3), `${r.low.toFixed(3)}–${r.high.toFixed(3)}`) }
await Promise.all([load, ...hosts].map((p: any) => p.stop())); process.exit(0)
