/** Runs the commands for operators against a server with people of single scopes. */
import { openWorks } from '../scenarios/operate/operators.ts'
import { type RunOptions, runCommand } from './streams.ts'

type Works = Awaited<ReturnType<typeof openWorks>>

export async function openDesk(...given: Parameters<typeof openWorks>) {
  const works = await openWorks(...given)
  return { ...works, run: deskAt(works.url, works.people) }
}

/** Without a terminal, unless the options say so. */
export function deskAt(url: string, people: Works['people']) {
  return (who: keyof typeof people, args: readonly string[], options: Omit<RunOptions, 'env'> = {}) =>
    runCommand(args, { ...options, env: { CALLPLANE_URL: url, CALLPLANE_TOKEN: people[who].token } })
}

/** The objects of a command that prints JSON lines. */
export function linesIn({ stdout }: { stdout: string }): Record<string, unknown>[] {
  return stdout
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as Record<string, unknown>)
}
