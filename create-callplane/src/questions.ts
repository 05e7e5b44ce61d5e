/** Asks for what the command line leaves open. */
import { createInterface } from 'node:readline'
import type { Wishes } from './arguments.ts'

export const DEFAULT_FOLDER = 'my-tools'

export interface Terminal {
  readonly input: NodeJS.ReadableStream & { isTTY?: boolean }
  readonly output: NodeJS.WritableStream
}

/** Asks nothing if a folder is named, with `--yes`, or without a terminal. */
export async function completeWishes(
  wishes: Wishes,
  { input, output }: Terminal,
): Promise<{ folder: string; git: boolean }> {
  const { folder, git, yes } = wishes
  if (folder !== undefined || yes || input.isTTY !== true) return { folder: folder ?? DEFAULT_FOLDER, git }
  const lines = createInterface({ input, output })
  // An iterator keeps lines that were typed before their question, and ends when the input does.
  const answers = lines[Symbol.asyncIterator]()
  const ask = async (question: string): Promise<string> => {
    output.write(question)
    const { value, done } = await answers.next()
    return done ? '' : value.trim()
  }
  try {
    const named = await ask(`Folder of the project (${DEFAULT_FOLDER}): `)
    const wantsGit = git || /^y/i.test(await ask('Run git init? (y/N): '))
    return { folder: named || DEFAULT_FOLDER, git: wantsGit }
  } finally {
    lines.close()
  }
}
