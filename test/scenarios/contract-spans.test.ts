/** The Tool Contract's fields on the spans that a server sends to an application's own SDK. */
import { context, trace } from '@opentelemetry/api'
import { InMemorySpanExporter, SimpleSpanProcessor, TracerProvider } from '@opentelemetry/sdk-trace'
import { operation } from 'callplane'
import { expect, onTestFinished, test, vi } from 'vitest'
import { openTool } from '../backends/tool-server.ts'
import { verifies } from '../requirements.ts'
import { startSite } from './server.ts'

test('every attempt at a remote tool is a span in the Contract’s words', async () => {
  verifies('contract:111', 'contract:112', 'contract:154', 'contract:155', 'contract:156')
  verifies('contract:157', 'contract:158', 'contract:159')
  const exporter = new InMemorySpanExporter()
  trace.setGlobalTracerProvider(new TracerProvider({ spanProcessors: [new SimpleSpanProcessor({ exporter })] }))
  vi.stubEnv('CALLPLANE_SECRET_SHOP_KEY', 'what-opens-the-shop')
  onTestFinished(() => {
    trace.disable()
    context.disable()
    vi.unstubAllEnvs()
  })
  const tool = await openTool((_asked, response) => {
    response.writeHead(tool.asked.length === 1 ? 503 : 200).end('{}')
  })
  const site = await startSite({
    operations: [
      operation('v1:shop.find', {
        backend: { kind: 'http', endpoint: tool.url, allowPrivate: true },
        auth: { secretRef: 'shop-key' },
        retry: { attempts: 2, backoffMs: 1 },
        model: 'async',
      }),
    ],
    secrets: [{ kind: 'env' }],
  })

  await site.call('v1:shop.find', {}, { requestId: 'r1' })
  await site.ended('r1')
  await site.close()

  const common = {
    tool_contract_version: 'v1',
    tool_request_id: 'r1',
    tool_auth_profile: 'bearer',
    tool_auth_secret_ref: 'shop-key',
  }
  const spans = exporter.getFinishedSpans().map(({ attributes }) => attributes)
  expect(spans).toEqual([
    expect.objectContaining({
      ...common,
      tool_attempt: 1,
      tool_status: 'error',
      error_code: 'execution_failed',
      error_reason: 'tool_backend_failure',
      retryable: true,
    }),
    expect.objectContaining({ ...common, tool_attempt: 2, tool_status: 'ok' }),
  ])
  expect(spans[1]).not.toHaveProperty('error_code')
})
