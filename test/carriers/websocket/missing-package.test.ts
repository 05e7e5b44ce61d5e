/** A server in a process without the package `ws`. */
import { expect, test } from 'vitest'
import { startWithout } from '../without-package.ts'

const run = (options: string) => startWithout('ws', options)

test('it says once that WebSocket is off and how to get it, and starts', async () => {
  const log = await run('')

  expect(log.match(/WebSocket is off/g)).toHaveLength(1)
  expect(log).toContain('"install":"npm install ws"')
})

test('it does not start if the options ask for WebSocket', async () => {
  expect(await run('websocket: true')).toBe(
    'PACKAGE_MISSING WebSocket needs the package ws. Install it: npm install ws\n',
  )
})

test('it says nothing if WebSocket is switched off', async () => {
  expect(await run('websocket: false')).not.toContain('WebSocket')
})
