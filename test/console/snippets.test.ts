/** Every snippet is run as a person would run it, and gives the result that the page shows. */
import { chmod, mkdir, symlink, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { operation } from 'callplane'
import { expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { SNIPPETS } from '../../console/src/explore/snippets/index.ts'
import type { SnippetCall, SnippetId } from '../../console/src/explore/snippets/snippet.ts'
import { mcp } from '../../console/src/explore/wires/mcp.ts'
import type { Entry } from '../../console/src/explore/wires/wire.ts'
import { run } from '../codegen/clients/tellers.ts'
import { describeWith, goCompiler } from '../engines/engines.ts'
import { type Site, startSite, temporaryFolder } from '../scenarios/server.ts'

// The first program of Go compiles its standard library.
vi.setConfig({ testTimeout: 300_000 })

const root = join(import.meta.dirname, '../..')
const TOKEN = 'a-token-of-the-test'

/** Each character would do harm in the wrong literal. */
const HOSTILE = {
  text: `'"\`$(touch harm)\${x} \\ %s \r\n\t''' """ \u202e\u200b\u2028\u0000 </script> 😀 é #{1} !! ;type=x @/etc/passwd`,
  "a 'key'": [null, true, -0.5, 1e21],
}

function operationsOf(notes: string[]) {
  return [
    operation('v1:values.echo', { args: z.object({ value: z.any() }), run: ({ value }) => value }),
    operation('v1:reports.make', {
      args: z.object({ rows: z.int() }),
      result: z.object({ rows: z.int() }),
      model: 'async',
      run: ({ rows }) => ({ rows }),
    }),
    operation('v1:notes.add', {
      args: z.object({ text: z.string() }),
      result: z.string(),
      sideEffecting: true,
      ttlSeconds: 60,
      run({ text }) {
        notes.push(text)
        return text
      },
    }),
    operation('v1:files.read', {
      media: [{ name: 'file', required: true, acceptedTypes: ['text/plain'], maxBytes: 1000 }],
      args: z.object({ upper: z.boolean() }),
      result: z.string(),
      async run({ upper }, ctx) {
        const text = new TextDecoder().decode(await ctx.media.file?.bytes())
        return upper ? text.toUpperCase() : text
      },
    }),
    operation('v1:ticks.count-up', {
      args: z.object({ to: z.int() }),
      frame: z.object({ n: z.int() }),
      async *run({ to }) {
        for (let n = 1; n <= to; n++) yield { n }
      },
    }),
  ]
}

interface Ran {
  site: Site
  call: SnippetCall
  text: string
}

/** What a snippet printed, as the result or the frames that it stands for. */
type Runner = (ran: Ran, folder: string) => Promise<unknown>

async function stdout(command: readonly [string, ...string[]]): Promise<string> {
  const { code, stdout, stderr } = await run(command)
  if (code !== 0) throw new Error(`${code}: ${stderr}`)
  return stdout
}

function jsonOrLines({ call }: Ran, printed: string): unknown {
  if (call.entry.executionModel !== 'stream') return JSON.parse(printed)
  return printed
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
}

const RUNNERS: Record<SnippetId, Runner> = {
  async curl({ text, call }) {
    const printed = await stdout(['sh', '-c', text])
    if (call.entry.executionModel !== 'stream') return JSON.parse(printed).result
    return [...printed.matchAll(/event: frame\ndata: (.*)\n/g)].map(([, data = '']) => JSON.parse(data))
  },
  async typescript(ran, folder) {
    await writeFile(join(folder, 'snippet.mjs'), ran.text)
    return jsonOrLines(
      ran,
      await stdout([process.execPath, '--conditions=callplane-source', join(folder, 'snippet.mjs')]),
    )
  },
  async python(ran, folder) {
    await writeFile(join(folder, 'snippet.py'), ran.text)
    return jsonOrLines(ran, await stdout(['python3', join(folder, 'snippet.py')]))
  },
  async go(ran, folder) {
    await writeFile(join(folder, 'snippet.go'), ran.text)
    return jsonOrLines(ran, await stdout(['go', 'run', join(folder, 'snippet.go')]))
  },
  async cli(ran, folder) {
    await mkdir(join(folder, 'bin'), { recursive: true })
    const main = join(root, 'src/cli/main.ts')
    const npx = `#!/bin/sh\nshift\nexec ${process.execPath} --conditions=callplane-source ${main} "$@"\n`
    await writeFile(join(folder, 'bin/npx'), npx)
    await chmod(join(folder, 'bin/npx'), 0o755)
    return jsonOrLines(ran, await stdout(['sh', '-c', `PATH=${join(folder, 'bin')}:$PATH\n${ran.text}`]))
  },
  async mcp({ site, text, call }) {
    const { headers } = mcp.encode({ ...call, requestId: '1' })
    const response = await site.request('/mcp', {
      method: 'POST',
      headers: { ...headers, Authorization: `Bearer ${TOKEN}` },
      body: text,
    })
    const answer = (await response.json()) as { result: { structuredContent: unknown } }
    return answer.result.structuredContent
  },
}

/** The result by a plain call. */
async function expected({ site, call }: Ran): Promise<unknown> {
  if (call.files.length > 0) return 'SOME TEXT'
  if (call.entry.executionModel === 'stream') return [{ n: 1 }, { n: 2 }, { n: 3 }]
  const args = JSON.parse(call.argsText) as object
  const headers = { Authorization: `Bearer ${TOKEN}`, Prefer: 'wait=30' }
  const key = call.entry.sideEffecting ? { idempotencyKey: call.idempotencyKey } : {}
  const { body } = await site.call(call.entry.op, args, key, { headers })
  return body.result
}

const CALLS: readonly [op: string, args: object, file?: string][] = [
  ['v1:values.echo', { value: HOSTILE }],
  ['v1:reports.make', { rows: 3 }],
  ['v1:notes.add', { text: "it's" }],
  ['v1:files.read', { upper: true }, 'some text'],
  ['v1:ticks.count-up', { to: 3 }],
]

describeWith(goCompiler, 'a snippet', () => {
  test.each(SNIPPETS)('$title runs and gives the same result', async ({ id, write }) => {
    const notes: string[] = []
    const site = await startSite({
      operations: operationsOf(notes),
      auth: {
        verify: ({ header }) => (header('authorization') === `Bearer ${TOKEN}` ? { subject: 'tester' } : undefined),
      },
    })
    vi.stubEnv('CALLPLANE_TOKEN', TOKEN)
    onTestFinished(() => void vi.unstubAllEnvs())
    const folder = temporaryFolder()
    await mkdir(join(folder, 'node_modules'))
    await symlink(root, join(folder, 'node_modules/callplane'))
    const { operations } = (await (await site.request('/.well-known/ops')).json()) as { operations: Entry[] }

    for (const [op, args, content] of CALLS) {
      const path = join(folder, "a file's name.txt")
      if (content !== undefined) await writeFile(path, content)
      const entry = operations.find((known) => known.op === op) as Entry
      const call: SnippetCall = {
        entry,
        argsText: JSON.stringify(args, null, 2),
        url: site.url,
        withToken: true,
        idempotencyKey: `key-of-${id}`,
        files: content === undefined ? [] : [{ name: 'file', mimeType: 'text/plain', path }],
        tool: { name: `${op.slice(3).replaceAll(/[.-]/g, '_')}_${op.slice(0, 2)}`, id: '' },
      }
      const text = write(call)
      if (text === undefined) {
        expect([id, op]).toEqual(['mcp', expect.stringMatching(/files|ticks/)])
        continue
      }
      const ran = { site, call, text }

      expect([op, await RUNNERS[id](ran, folder)]).toEqual([op, await expected(ran)])
      expect(text).not.toContain(TOKEN)
      expect(text.replaceAll(/[\n\t]/g, '')).not.toMatch(/[\p{Cc}\p{Cf}\u2028]/u)
    }
    // The plain call of the check joined the call of the snippet.
    expect(notes).toEqual(["it's"])
  })
})
