/** A page of React components. It is bundled and runs in Chromium. */
import { QueryClient, QueryClientProvider } from '@tanstack/react-query'
import { createClient } from 'callplane/client'
import { queryKey, useCall, useRun, useStream } from 'callplane/react'
import { createElement as h, useState } from 'react'
import { createRoot } from 'react-dom/client'
import type * as operations from './operations.ts'
import { mountPoint, origin } from './page.ts'

const api = createClient<typeof operations>({ url: origin })
const queries = new QueryClient()

function button(key: number, id: string, onClick: () => unknown) {
  return h('button', { key, id, type: 'button', onClick }, id)
}

function Item() {
  const [id, setId] = useState('1')
  const { data, error, status } = useCall(api.orders.getItem, { id }, { select: ({ name }) => name.toUpperCase() })
  return h('section', {}, [
    h('p', { key: 1, id: 'item' }, `${status} ${data ?? error?.code ?? ''}`),
    button(2, 'next', () => setId('2')),
    button(3, 'none', () => setId('none')),
    button(4, 'again', () => queries.invalidateQueries({ queryKey: queryKey(api.orders.getItem) })),
  ])
}

function Report() {
  const { status, result, error, progress, start, cancel } = useRun(api.reports.generate)
  return h('section', {}, [
    h('p', { key: 1, id: 'report' }, `${status} ${progress?.fraction ?? ''} ${result?.rows ?? error?.code ?? ''}`),
    button(2, 'start', () => start({ steps: 3 })),
    button(3, 'long', () => start({ steps: 10_000 })),
    button(4, 'cancel', () => cancel()),
  ])
}

function Clock({ to }: { to: number }) {
  const { status, frame, frames } = useStream(api.clock.count, { to }, { keep: 3 })
  return h('p', { id: 'clock' }, `${status} ${frame?.n ?? ''} [${frames.map(({ n }) => n).join()}]`)
}

function Page() {
  const [to, setTo] = useState(4)
  return h(QueryClientProvider, { client: queries }, [
    h(Item, { key: 1 }),
    h(Report, { key: 2 }),
    to > 0 && h(Clock, { key: 3, to }),
    button(4, 'more', () => setTo(200)),
    button(5, 'hide', () => setTo(0)),
  ])
}

createRoot(mountPoint()).render(h(Page))
