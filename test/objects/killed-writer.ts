/** Starts a writer of objects as a process, and kills it in the middle. */
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { expect } from 'vitest'
import type { Chunk } from '../../src/core/ports/objects.ts'

export const PROGRAM = join(import.meta.dirname, 'writer-process.ts')

/** `place` is a folder or the address of a bucket. */
export async function runAndKill(
  mode: 'put' | 'chunks',
  place: string,
  pieces: number,
  afterPieces: number,
  env: NodeJS.ProcessEnv = {},
): Promise<void> {
  const child = spawn(process.execPath, [PROGRAM, mode, place, String(pieces)], {
    stdio: ['pipe', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  })
  const exited = once(child, 'exit')
  let handedOver = 0
  for await (const line of createInterface(child.stdout)) {
    expect(line).toBe('piece')
    handedOver += 1
    if (handedOver === afterPieces) child.kill('SIGKILL')
  }
  expect(await exited).toEqual([null, 'SIGKILL'])
}

/** All but the bytes, which the checksums stand for. */
export function factsOf(chain: readonly Chunk[]): object[] {
  return chain.map(({ bytes, ...rest }) => rest)
}
