/**
 * The vitest reporter behind the gate. After a run of all files it judges the citations, then compares
 * docs/conformance.md with them, or writes the page on request. `npm test` and `npm run test:all` are judged together
 * if the first passes its citations to the second, as CI does. A run of only some files or tests is not judged.
 */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { relative } from 'node:path'
import type { Reporter, TestModule, TestRunEndReason, Vitest } from 'vitest/node'
import type { Part } from '../long-tests.ts'
import { notYetBuilt, requirements, specifications } from './catalogue.ts'
import { renderConformancePage } from './conformance-page.ts'
import { type Citation, findGateProblems } from './gate.ts'
import { citationsOfLongTests, readCitations, writeCitations } from './other-part.ts'

const PAGE = 'docs/conformance.md'
const PAGE_FILE = new URL(`../../${PAGE}`, import.meta.url)

export interface GateOptions {
  part: Part
  writePage: boolean
  /** The file that `npm test` writes its citations to and `npm run test:all` reads. */
  citationsFile?: string | undefined
  /** Called for every problem. Default: prints it and fails the run. */
  fail?: (message: string) => void
}

export class RequirementGate implements Reporter {
  readonly #options: GateOptions
  readonly #fail: (message: string) => void
  #vitest: Vitest | undefined

  constructor(options: GateOptions) {
    this.#options = options
    this.#fail = options.fail ?? failRun
  }

  onInit(vitest: Vitest): void {
    this.#vitest = vitest
  }

  async onTestRunEnd(modules: readonly TestModule[], _errors: unknown, reason: TestRunEndReason): Promise<void> {
    const vitest = this.#vitest
    if (!vitest || reason === 'interrupted' || !(await isFullRun(vitest, modules))) return

    const { root } = vitest.config
    const own = modules.flatMap((module) => [...citationsOf(module, root)])
    const citations = this.#withOtherPart(own, root)
    if (!citations) return
    const problems = findGateProblems({ known: requirements.keys(), notYetBuilt: notYetBuilt.keys(), citations })
    for (const { advice, ids } of problems) this.#fail(`${advice}\n    ${ids.join(' ')}`)

    const page = renderConformancePage({ specifications, notYetBuilt, citations })
    if (this.#options.writePage) {
      writeFileSync(PAGE_FILE, page)
    } else if (reason === 'passed' && problems.length === 0 && page !== readPage()) {
      this.#fail(`${PAGE} no longer says what the tests prove: run "npm run docs:conformance" and commit it.`)
    }
    if (problems.length === 0) {
      console.log(` Requirements  ${requirements.size - notYetBuilt.size} proven, ${notYetBuilt.size} not yet built\n`)
    }
  }

  /** Returns the citations to judge; `undefined` for the long tests alone, which are only some of the files. */
  #withOtherPart(own: Citation[], root: string): Citation[] | undefined {
    const { part, citationsFile } = this.#options
    if (part === 'whole') return own
    if (part === 'quick') {
      if (citationsFile) writeCitations(citationsFile, own)
      return [...own, ...citationsOfLongTests(readPage() ?? '', root)]
    }
    if (!citationsFile) return undefined
    const quick = readCitations(citationsFile)
    if (quick) return [...quick, ...own]
    this.#fail(`"npm test" wrote no citations to ${citationsFile}: run it first, to its end.`)
    return undefined
  }
}

/** True if every test file took part and none was narrowed by name, tag or shard. */
async function isFullRun(vitest: Vitest, modules: readonly TestModule[]): Promise<boolean> {
  const { watch, testNamePattern, tagsFilter, shard } = vitest.config
  if (watch || testNamePattern || tagsFilter?.length || shard) return false
  const ran = new Set(modules.map((module) => module.moduleId))
  const all = await vitest.globTestSpecifications()
  return all.every((specification) => ran.has(specification.moduleId))
}

function* citationsOf(module: TestModule, root: string): Generator<Citation> {
  for (const test of module.children.allTests()) {
    // A test that is expected to fail proves nothing, although vitest counts it as passed.
    const passed = test.result().state === 'passed' && !test.options.fails
    for (const id of test.meta().requirements ?? []) yield { id, file: relative(root, module.moduleId), passed }
  }
}

function readPage(): string | undefined {
  return existsSync(PAGE_FILE) ? readFileSync(PAGE_FILE, 'utf8') : undefined
}

function failRun(message: string): void {
  console.error(`\n Requirement gate: ${message}\n`)
  process.exitCode = 1
}
