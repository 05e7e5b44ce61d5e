/** `npm create callplane`: from the command line to a written project and the next steps. */
import { execFileSync } from 'node:child_process'
import { relative, resolve } from 'node:path'
import { parseWishes, USAGE, type Wishes } from './arguments.ts'
import { manifestOf } from './manifest.ts'
import { projectName } from './project-name.ts'
import { completeWishes, type Terminal } from './questions.ts'
import { type ProjectFiles, readTemplate } from './template.ts'
import { UsageError } from './usage-error.ts'
import { writeProject } from './write-project.ts'

export interface Surroundings extends Terminal {
  readonly args: readonly string[]
  /** The folder that paths are relative to. */
  readonly folder: string
  readonly errors: NodeJS.WritableStream
}

/** Returns the exit code. */
export async function main(surroundings: Surroundings): Promise<number> {
  try {
    await create(surroundings)
    return 0
  } catch (thrown) {
    if (!(thrown instanceof UsageError)) throw thrown
    surroundings.errors.write(`create-callplane: ${thrown.message}\n`)
    return 2
  }
}

async function create({ args, folder: current, input, output }: Surroundings): Promise<void> {
  const wishes = parseWishes(args)
  if (wishes.help) {
    output.write(USAGE)
    return
  }
  const { folder: named, git } = await completeWishes(wishes, { input, output })
  const folder = resolve(current, named)
  const name = projectName(folder)
  const { files, report } = await filesOf(name, wishes, current)
  writeProject(folder, files)
  if (git) initGit(folder)
  output.write(report + nextSteps(relative(current, folder), files.size))
}

interface Made {
  files: ProjectFiles
  /** What there is to say about the tools of an API. */
  report: string
}

async function filesOf(name: string, { callplane, from }: Wishes, current: string): Promise<Made> {
  const common = [...readTemplate('common', name), ['package.json', manifestOf(name, callplane)] as const]
  if (!from) return { files: new Map([...common, ...readTemplate('operations', name)]), report: '' }
  // Loaded on use: most projects need no YAML reader.
  const { importApi } = await import('./openapi/import-api.ts')
  const { files, report } = await importApi(from, current)
  return { files: new Map([...common, ...readTemplate('api', name), ...files]), report }
}

function initGit(folder: string): void {
  try {
    execFileSync('git', ['init', '--quiet', folder], { stdio: ['ignore', 'ignore', 'pipe'] })
  } catch (cause) {
    throw new UsageError('The project is made, but git init failed. Check that git is installed.', { cause })
  }
}

function nextSteps(folder: string, files: number): string {
  const place = folder === '' ? '' : `cd ${/^[\w./-]+$/.test(folder) ? folder : `'${folder}'`} && `
  return `
Made ${files} files. Next:

  ${place}npm install
  npm test          # and npm start, which serves http://127.0.0.1:4747
  npm run call      # in a second terminal, while npm start runs

`
}
