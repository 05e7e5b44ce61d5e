/** `callplane serve --objects`: the flag wins over the environment, and both over the application. */
import { expect, test } from 'vitest'
import { parseServe } from '../../src/cli/serve/settings.ts'

const objectsOf = (args: string[], env: NodeJS.ProcessEnv, own?: string) =>
  parseServe({ args, env }).over(own === undefined ? {} : { objects: own }).objects

test('objects are where the flag, the environment or the application says', () => {
  const env = { CALLPLANE_OBJECTS: 's3://environment' }

  expect(objectsOf(['--objects', 's3://flag'], env, 's3://own')).toBe('s3://flag')
  expect(objectsOf([], env, 's3://own')).toBe('s3://environment')
  expect(objectsOf([], {}, 's3://own')).toBe('s3://own')
  expect(objectsOf([], {})).toBeUndefined()
})
