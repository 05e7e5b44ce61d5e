/** Every code that a call can end with: meaning, remedy, and its form on every wire. */
import { useQuery } from '@tanstack/preact-query'
import type { FaultView } from '../api/types.ts'
import { Empty, Failure, Skeleton } from '../design/feedback.tsx'
import { Icon } from '../design/icon.tsx'
import { SplitScreen } from '../design/screen.tsx'
import { href } from '../routes.ts'
import { useMay, usePage } from '../shell/page.ts'
import { texts } from '../texts/en/errors.ts'
import './errors.css'

const WIRES = Object.keys(texts.names) as (keyof typeof texts.names)[]
const OF_CLIENT = ['UNREACHABLE', 'TIMED_OUT', 'ABORTED', 'NOT_OPENCALL', 'RESPONSE_TOO_LARGE', 'STREAM_BROKEN']

export function ErrorsScreen() {
  const { server, router } = usePage()
  const place = router.place.value
  const faults = useQuery({
    queryKey: ['faults'],
    queryFn: ({ signal }) => server.call('v1:callplane.faults.list', {}, signal),
  })
  const code = place?.name === 'error' ? place.params.code : undefined
  const query = place?.name === 'errors' ? (place.query.q ?? '') : ''
  if (faults.error) {
    return (
      <div class="screen">
        <Failure error={faults.error} retry={() => void faults.refetch()} />
      </div>
    )
  }
  const all = faults.data?.faults
  return (
    <SplitScreen
      label={texts.title}
      chosen={code}
      list={<CodeList faults={all} code={code} query={query} />}
      detail={all ? <Detail faults={all.filter((one) => hasCode(one, code))} code={code} /> : null}
    />
  )
}

/** A failure arrives with the code of its wire, which may differ from the server's own. */
function hasCode({ code, wires }: FaultView, wanted: string | undefined): boolean {
  return code === wanted || Object.values(wires).some((form) => form.code !== undefined && String(form.code) === wanted)
}

function CodeList({
  faults,
  code,
  query,
}: {
  faults: FaultView[] | undefined
  code: string | undefined
  query: string
}) {
  const { router } = usePage()
  const wanted = query.toUpperCase()
  const shown = faults?.filter(
    (fault) => fault.code.toUpperCase().includes(wanted) || fault.meaning.toUpperCase().includes(wanted),
  )
  return (
    <>
      <header>
        <h1>{texts.title}</h1>
        <input
          class="input"
          type="search"
          aria-label={texts.filter}
          placeholder={texts.filter}
          value={query}
          onInput={(event) => router.replace(href('errors', {}, { q: event.currentTarget.value }))}
        />
      </header>
      {!shown && <Skeleton lines={10} />}
      {shown?.length === 0 && (
        <p class="quiet none" role="status">
          {texts.none(query)}
        </p>
      )}
      <ul>
        {shown?.map((fault) => (
          <li key={fault.code + fault.meaning}>
            <a href={href('error', { code: fault.code })} aria-current={fault.code === code ? 'page' : undefined}>
              <span class="mono">{fault.code}</span>
              <span class="faint">{fault.meaning}</span>
            </a>
          </li>
        ))}
      </ul>
    </>
  )
}

function Detail({ faults, code }: { faults: FaultView[]; code: string | undefined }) {
  if (code === undefined) {
    return (
      <Empty icon="errors" title={texts.choose.title}>
        <p>{texts.choose.text}</p>
      </Empty>
    )
  }
  if (faults.length === 0) {
    const words = OF_CLIENT.includes(code) ? texts.client : texts.unknown
    return (
      <Empty icon="errors" title={words.title}>
        <p class="mono">{code}</p>
        <p>{words.text}</p>
        <div class="actions">
          <a class="button" href={href('errors')}>
            {texts.back}
          </a>
        </div>
      </Empty>
    )
  }
  return (
    <div class="screen">
      <a class="back button plain small" href={href('errors')}>
        <Icon name="left" /> {texts.back}
      </a>
      <header class="screen-head">
        <h1 class="mono title">{code}</h1>
        <RunsLink code={code} />
      </header>
      {faults.map((fault) => (
        <FaultPage key={fault.meaning} fault={fault} />
      ))}
    </div>
  )
}

function RunsLink({ code }: { code: string }) {
  const may = useMay()
  if (!may('callplane:read')) return null
  return (
    <a class="button" href={href('runs', {}, { f: `code:${code}` })}>
      <Icon name="runs" /> {texts.runs}
    </a>
  )
}

function FaultPage({ fault }: { fault: FaultView }) {
  return (
    <>
      <p>
        <span class={fault.retryable ? 'chip' : 'chip warn'}>
          {fault.retryable ? texts.retryable : texts.notRetryable}
        </span>
      </p>
      <div class="fault-text">
        <h2>{texts.meaning}</h2>
        <p>{fault.meaning}</p>
        {fault.remedy && (
          <>
            <h2>{texts.remedy}</h2>
            <p>{fault.remedy}</p>
          </>
        )}
        <h2>{texts.operations}</h2>
        {fault.operations ? (
          <ul>
            {fault.operations.map((op) => (
              <li key={op}>
                <a class="mono" href={href('operation', { op })}>
                  {op}
                </a>
              </li>
            ))}
          </ul>
        ) : (
          <p>{texts.everywhere}</p>
        )}
      </div>
      <section class="panel" aria-label={texts.wires}>
        <header>
          <h2>{texts.wires}</h2>
        </header>
        <table class="table">
          <thead>
            <tr>
              <th>{texts.wire}</th>
              <th>{texts.status}</th>
              <th>{texts.code}</th>
            </tr>
          </thead>
          <tbody>
            {WIRES.map((wire) => {
              const form = fault.wires[wire]
              return (
                <tr key={wire}>
                  <td>{texts.names[wire]}</td>
                  <td class="mono">{form?.status ?? '–'}</td>
                  <td class="mono">{form ? (form.code ?? '–') : <span class="faint">{texts.noWire}</span>}</td>
                </tr>
              )
            })}
          </tbody>
        </table>
      </section>
    </>
  )
}
