import { copyFile, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { readCatalogue } from '../../../src/codegen/read-catalogue.ts'
import { describeWith, PYTHON, pythonClients } from '../../engines/engines.ts'
import { verifies } from '../../requirements.ts'
import { startSite } from '../../scenarios/server.ts'
import { HOSTILE } from './hostile-registry.ts'
import { describeLies } from './lies.ts'
import { describeClient } from './suite.ts'
import { pythonTellers, run, type Teller, temporaryWork, workFolder, writePython } from './tellers.ts'
import { GUIDE_OPERATIONS, guidePrograms, TYPED_OPERATIONS, TYPED_TOLD, TYPED_TOLD_ASYNC } from './typed-operations.ts'

describeWith(pythonClients, 'Python', () => {
  const catalogue = readCatalogue({ operations: [] })
  let folder: Awaited<ReturnType<typeof workFolder>>
  let tellers: Record<'sync' | 'async', Teller>

  beforeAll(async () => {
    folder = await workFolder()
    tellers = await pythonTellers(folder.path, catalogue)
  })
  afterAll(async () => {
    const complaints = await Promise.all(Object.values(tellers).map((teller) => teller.end()))
    await folder.remove()
    // Such as connections that were not closed.
    expect(complaints).toEqual(['', ''])
  })

  for (const flavour of ['sync', 'async'] as const) {
    describeClient(flavour, () => tellers[flavour])
    describeLies(flavour, () => tellers[flavour])
  }

  test('types: a program that uses them is accepted and runs, and every mistake is found', async () => {
    // Its last line is the notice of a deprecated operation, once and with the replacement.
    verifies('opencall:263')
    const work = await temporaryWork()
    const site = await startSite({ operations: TYPED_OPERATIONS })
    const registry = await (await site.request('/.well-known/ops')).json()
    await writePython(work, readCatalogue(registry))
    for (const file of ['typed.py', 'mistyped.py']) await copyFile(join(import.meta.dirname, file), join(work, file))
    const text = await readFile(join(work, 'mistyped.py'), 'utf8')
    const mistakes = text.split('\n').flatMap((line, index) => (line.endsWith('# mistake') ? [index + 1] : []))

    const accepted = await mypy(work, 'callplane_client.py', 'typed.py')
    const refused = await mypy(work, 'mistyped.py')
    const ran = await run([PYTHON, '-B', join(work, 'typed.py'), site.url])

    expect(accepted.stdout).toBe('')
    expect(refused.stdout.match(/^mistyped\.py:\d+/gm)?.map((line) => Number(line.slice(12)))).toEqual(mistakes)
    expect(ran.stderr).toBe('')
    expect(JSON.parse(ran.stdout)).toEqual([...TYPED_TOLD, ...TYPED_TOLD_ASYNC])
  })

  test('the programs of the guide are accepted and run', async () => {
    const work = await temporaryWork()
    const site = await startSite({ operations: GUIDE_OPERATIONS })
    await writePython(work, readCatalogue(await (await site.request('/.well-known/ops')).json()))
    const programs = guidePrograms('python', site.url)
    const files = programs.map((_, index) => `program${index}.py`)
    await Promise.all(files.map((file, index) => writeFile(join(work, file), programs[index] ?? '')))

    const accepted = await mypy(work, ...files)
    const ran = []
    for (const file of files) ran.push(await run(['env', '-C', work, PYTHON, '-B', file]))

    expect(accepted.stdout).toBe('')
    expect(ran.map(({ stderr }) => stderr)).toEqual(['', ''])
    expect(ran[0]?.stdout).toContain('DOORBELL_NOT_FOUND Doorbell ID not found True 0.5 Use one of the ids')
  })

  test('a hostile registry gives a client that is accepted and can be imported', async () => {
    const work = await temporaryWork()
    await writePython(work, readCatalogue(HOSTILE, { title: 'A """ title \\' }))
    const listed =
      'import callplane_client as c; print(len(c._OPS), c.Client("http://127.0.0.1:1").orders.get_item.name)'

    const accepted = await mypy(work, 'callplane_client.py')
    const imported = await run(['env', '-C', work, PYTHON, '-B', '-W', 'error', '-c', listed])

    expect(accepted.stdout).toBe('')
    expect(imported).toEqual({ code: 0, stdout: `${HOSTILE.operations.length} v1:orders.GetItem\n`, stderr: '' })
  })
})

function mypy(folder: string, ...files: string[]) {
  const options = ['--strict', '--no-error-summary', '--cache-dir', join(folder, 'cache')]
  return run(['env', '-C', folder, PYTHON, '-m', 'mypy', ...options, ...files])
}
