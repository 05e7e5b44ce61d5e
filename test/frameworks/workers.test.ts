/** The Worker of docs/guides/frameworks.md, and tools for a model, in workerd: the runtime of Cloudflare Workers. */
import { writeFile } from 'node:fs/promises'
import { stripTypeScriptTypes } from 'node:module'
import { join } from 'node:path'
import { createServer } from 'callplane'
import { rolldown } from 'rolldown'
import { expect, onTestFinished, test } from 'vitest'
import { ROOT } from '../docs/pages.ts'
import { describeWith, jsRuntimes, WORKERD } from '../engines/engines.ts'
import { freePort } from '../engines/free-port.ts'
import { startServer } from '../engines/server-process.ts'
import { temporaryFolder } from '../scenarios/server.ts'
import { useMounted } from './mounted.ts'
import { operations } from './operations.ts'
import { readBlocks } from './project.ts'

/** Starts a Worker that may reach the server. */
async function startWorker(code: string, server: string, port: number): Promise<void> {
  const folder = temporaryFolder()
  const config = join(folder, 'config.capnp')
  await writeFile(join(folder, 'worker.js'), code)
  await writeFile(
    config,
    `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .main), (name = "internet", network = (allow = ["private"]))],
  sockets = [(name = "http", address = "127.0.0.1:${port}", http = (), service = "main")],
);
const main :Workerd.Worker = (
  modules = [(name = "worker", esModule = embed "worker.js")],
  compatibilityDate = "2026-11-01",
  bindings = [(name = "SERVER", text = "${server}")],
);
`,
  )
  const worker = await startServer({
    command: [WORKERD, 'serve', '--verbose', '--control-fd=1', config],
    readyLine: '"event":"listen"',
  })
  onTestFinished(() => worker[Symbol.asyncDispose]())
}

async function bundle(code: string): Promise<string> {
  const entry = join(temporaryFolder(), 'entry.ts')
  await writeFile(entry, code)
  const build = await rolldown({
    input: entry,
    resolve: { alias: { 'callplane/agents': join(ROOT, 'src/agents/index.ts') } },
  })
  const { output } = await build.generate({ format: 'esm' })
  await build.close()
  return output[0].code
}

describeWith(jsRuntimes, 'in a Cloudflare Worker', () => {
  test('the Worker of the page forwards every protocol, and links lead to the Worker', async () => {
    const port = await freePort()
    const base = `http://127.0.0.1:${port}/api`
    const data = temporaryFolder()
    const server = await createServer({ operations, data, basePath: '/api', publicUrl: base })
    onTestFinished(() => server.close(0))
    const { url } = await server.listen({ port: 0 })
    await startWorker(stripTypeScriptTypes(readBlocks().get('worker.ts') ?? ''), url, port)

    await useMounted({ base, webSocket: true })
  })

  test('tools for a model run in a Worker, without any module of Node', async () => {
    const server = await createServer({ operations, data: temporaryFolder() })
    onTestFinished(() => server.close(0))
    const [{ url }, port] = [await server.listen({ port: 0 }), await freePort()]
    const code = await bundle(`import { openTools } from 'callplane/agents'
export default {
  async fetch(request, { SERVER }) {
    const { call } = await openTools({ url: SERVER })
    return Response.json(await call({ id: 'call_1', name: 'jobs_build', args: {} }))
  },
}`)
    await startWorker(code, url, port)

    expect(code).not.toMatch(/from ['"](?!\\.)/)
    expect(await (await fetch(`http://127.0.0.1:${port}`)).json()).toMatchObject({ isError: false, text: 'built' })
  })
})
