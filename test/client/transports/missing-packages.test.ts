/** A transport whose package is not installed: the first call says what to install. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { runWithout } from '../../carriers/without-package.ts'

const client = join(import.meta.dirname, '../../../src/client')

test.each([
  ['mqtt', 'mqtt', "mqttTransport({ url: 'mqtt://127.0.0.1:1' })"],
  ['@platformatic/kafka', 'kafka', "kafkaTransport({ brokers: ['127.0.0.1:1'] })"],
])('without the package %s, the error names it', async (name, folder, transport) => {
  const told = await runWithout(
    name,
    `
  const { createClient } = await import(${JSON.stringify(`${client}/index.ts`)})
  const { ${folder}Transport } = await import(${JSON.stringify(`${client}/${folder}/index.ts`)})
  await createClient({ transport: ${transport} }).call('v1:ping', {})
`,
  )

  expect(told).toMatch(/^PACKAGE_MISSING /)
  expect(told).toContain(`npm install ${name}`)
})
