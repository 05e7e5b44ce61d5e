import { copyFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { readCatalogue } from '../../../src/codegen/read-catalogue.ts'
import { describeWith, goCompiler } from '../../engines/engines.ts'
import { verifies } from '../../requirements.ts'
import { startSite } from '../../scenarios/server.ts'
import { HOSTILE } from './hostile-registry.ts'
import { describeLies } from './lies.ts'
import { describeClient } from './suite.ts'
import { go, goTeller, run, type Teller, temporaryWork, workFolder, writeGo } from './tellers.ts'
import { GUIDE_OPERATIONS, guidePrograms, TYPED_OPERATIONS, TYPED_TOLD } from './typed-operations.ts'

// The first build compiles the standard library.
vi.setConfig({ hookTimeout: 300_000, testTimeout: 120_000 })

describeWith(goCompiler, 'Go', () => {
  let folder: Awaited<ReturnType<typeof workFolder>>
  let teller: Teller

  beforeAll(async () => {
    folder = await workFolder()
    teller = await goTeller(folder.path, readCatalogue({ operations: [] }))
  })
  afterAll(async () => {
    const complaints = await teller.end()
    await folder.remove()
    expect(complaints).toBe('')
  })

  describeClient('Go', () => teller)
  describeLies('Go', () => teller)

  test('types: a program that uses them compiles and runs, and a mistake does not compile', async () => {
    // Its last line is the notice of a deprecated operation, once and with the replacement.
    verifies('opencall:263')
    const work = await temporaryWork()
    const site = await startSite({ operations: TYPED_OPERATIONS })
    await writeGo(work, readCatalogue(await (await site.request('/.well-known/ops')).json()))
    await copyFile(join(import.meta.dirname, 'typed.go'), join(work, 'typed.go'))

    const vetted = await go(work, 'vet', './...')
    const built = await go(work, 'build', '-o', join(work, 'typed'), '.')
    const ran = await run([join(work, 'typed'), site.url])
    await writeFile(
      join(work, 'mistake.go'),
      'package main\n\nimport "example/callplane"\n\nvar _ = callplane.OrdersFindArgs{OrderId: 7}\n',
    )
    const mistaken = await go(work, 'build', '-o', join(work, 'typed'), '.')

    expect(vetted).toEqual({ code: 0, stdout: '', stderr: '' })
    expect(built.stderr).toBe('')
    expect(ran.stderr).toBe('')
    expect(JSON.parse(ran.stdout)).toEqual(TYPED_TOLD)
    expect(mistaken.stderr).toContain('mistake.go:5')
  })

  test('the program of the guide compiles and runs', async () => {
    const work = await temporaryWork()
    const site = await startSite({ operations: GUIDE_OPERATIONS })
    await writeGo(work, readCatalogue(await (await site.request('/.well-known/ops')).json()))
    const [program = ''] = guidePrograms('go', site.url)
    await writeFile(join(work, 'main.go'), program)

    const vetted = await go(work, 'vet', './...')
    const unformatted = await run(['gofmt', '-d', work])
    const ran = await go(work, 'run', '.')

    expect(vetted.stderr).toBe('')
    expect(unformatted.stdout).toBe('')
    expect(ran.stderr).toBe('')
    expect(ran.stdout).toContain('DOORBELL_NOT_FOUND Doorbell ID not found true 500ms')
  })

  test('a hostile registry gives a client that compiles and is formatted', async () => {
    const work = await temporaryWork()
    await writeGo(work, readCatalogue(HOSTILE, { url: 'https://example.invalid', title: 'A */ title `' }))

    const vetted = await go(work, 'vet', './...')
    const unformatted = await run(['gofmt', '-d', join(work, 'callplane')])

    expect(vetted).toEqual({ code: 0, stdout: '', stderr: '' })
    expect(unformatted).toEqual({ code: 0, stdout: '', stderr: '' })
  })
})
