/** A carrier whose package is not installed: the server does not start, and says what to install. */
import { expect, test } from 'vitest'
import { startWithout } from './without-package.ts'

test.each([
  ['mqtt', 'mqtt: { url: "mqtt://127.0.0.1:1" }'],
  ['@platformatic/kafka', 'kafka: { brokers: ["127.0.0.1:1"] }'],
  ['werift', 'webrtc: true'],
])('without the package %s, the error names it', async (name, options) => {
  const told = await startWithout(name, options)

  expect(told).toMatch(/^PACKAGE_MISSING /)
  expect(told).toContain(`npm install ${name}`)
})
