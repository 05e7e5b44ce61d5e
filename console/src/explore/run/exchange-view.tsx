/** What went over the wire, or would go: headers, bytes and times. */
import { Copy } from '../../design/copy.tsx'
import { SeenText } from '../../design/seen-text.tsx'
import { texts } from '../../texts/en/explore.ts'
import { RowView } from '../results/row-view.tsx'
import type { WireRequest } from '../wires/wire.ts'
import { type Cut, cut, type Exchange, type Header, maskedHeaders } from './exchange.ts'

export function ExchangeView({ exchanges }: { exchanges: readonly Exchange[] }) {
  return (
    <ol class="exchanges">
      {exchanges.map((exchange, at) => (
        <li key={at}>
          <OneExchange exchange={exchange} />
        </li>
      ))}
    </ol>
  )
}

/** Before the first run: the request of the chosen wire. */
export function WouldSend({
  request,
  withToken,
  hasFiles,
}: {
  request: WireRequest
  withToken: boolean
  hasFiles: boolean
}) {
  const headers: Header[] = [
    ...Object.entries(request.headers),
    ...(withToken ? [['Authorization', 'Bearer token'] as const] : []),
  ]
  return (
    <section class="exchange">
      <h3>{texts.wouldSend}</h3>
      <Line method={request.method} path={request.path} />
      <Headers headers={maskedHeaders(headers)} />
      <Body body={request.body === undefined ? undefined : cut(request.body)} />
      {hasFiles && <p class="faint body">{texts.fileParts}</p>}
    </section>
  )
}

function OneExchange({ exchange }: { exchange: Exchange }) {
  const { method, path, headers, body, response, startedAt, firstByteAt, endedAt, problem } = exchange
  return (
    <div class="exchange">
      <div class="value-tools">
        <Line method={method} path={path} />
        <span class="spring" />
        {endedAt !== undefined && (
          <span class="faint number">
            {texts.timing(endedAt - startedAt, firstByteAt === undefined ? undefined : firstByteAt - startedAt)}
          </span>
        )}
      </div>
      <h3>{texts.request}</h3>
      <Headers headers={headers} />
      <Body body={body} />
      <h3>
        {texts.response}{' '}
        {response && (
          <span class={response.status < 400 ? 'status ok' : 'status bad'}>
            {response.status} · {texts.size(response.bytes)}
          </span>
        )}
      </h3>
      {response ? <Headers headers={response.headers} /> : <p class="quiet body">{problem ?? texts.noResponse}</p>}
      {response?.body && <Body body={response.body} />}
      <p class="faint body">{texts.masked}</p>
    </div>
  )
}

function Line({ method, path }: { method: string; path: string }) {
  return (
    <p class="mono request-line">
      <strong>{method}</strong> /<SeenText text={path} />
    </p>
  )
}

function Headers({ headers }: { headers: readonly Header[] }) {
  return (
    <dl class="facts mono headers">
      {headers.map(([name, value], at) => (
        <HeaderFact key={at} name={name} value={value} />
      ))}
    </dl>
  )
}

function HeaderFact({ name, value }: { name: string; value: string }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>
        <SeenText text={value} />
      </dd>
    </>
  )
}

function Body({ body }: { body: Cut | undefined }) {
  if (!body || body.length === 0) return <p class="faint body">{texts.noBody}</p>
  const isCut = body.length > body.text.length
  return (
    <div class="body-bytes">
      <div class="value-tools">
        <span class="faint number">{texts.size(body.length)}</span>
        {isCut && <span class="faint">{texts.cutBody(body.length)}</span>}
        <span class="spring" />
        <Copy text={body.text} />
      </div>
      <RowView text={body.text} language={/^\s*[[{]/.test(body.text) ? 'json' : 'text'} label={texts.request} />
    </div>
  )
}
