/** What the registry says about an operation. */
import type { ComponentChildren } from 'preact'
import { SeenText } from '../design/seen-text.tsx'
import { Wide } from '../design/wide.tsx'
import { href } from '../routes.ts'
import { texts } from '../texts/en/explore.ts'
import { RowView } from './results/row-view.tsx'
import type { Entry } from './wires/wire.ts'

export function DocsView({ entry }: { entry: Entry }) {
  const { argsSchema, resultSchema, frameSchema, errors, mediaSchema = [] } = entry
  const words = texts.docs
  return (
    <div class="docs">
      <section>
        <h3>{words.facts}</h3>
        <dl class="facts">
          <Fact name={words.model}>
            {texts.models[entry.executionModel ?? 'sync']} · {texts.modelHints[entry.executionModel ?? 'sync']}
          </Fact>
          <Fact name={words.scopes}>{entry.authScopes?.join(', ') || words.noScopes}</Fact>
          <Fact name={words.key}>{entry.idempotencyRequired ? words.required : words.optional}</Fact>
          <Fact name={words.retention}>{words.seconds(entry.ttlSeconds ?? 0)}</Fact>
          <Fact name={words.caching}>{entry.cachingPolicy ?? 'none'}</Fact>
          {entry.supportedTransports && <Fact name={words.transports}>{entry.supportedTransports.join(', ')}</Fact>}
          {mediaSchema.map(({ name, acceptedTypes, maxBytes, required }) => (
            <Fact key={name} name={`${words.files}: ${name}`}>
              {words.file(acceptedTypes.join(', '), maxBytes, required)}
            </Fact>
          ))}
        </dl>
      </section>
      {errors && Object.keys(errors).length > 0 && <Errors errors={errors} />}
      <Schema title={words.args} schema={argsSchema} />
      {frameSchema ? (
        <Schema title={words.frame} schema={frameSchema} />
      ) : (
        <Schema title={words.result} schema={resultSchema} />
      )}
    </div>
  )
}

function Fact({ name, children }: { name: string; children: ComponentChildren }) {
  return (
    <>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </>
  )
}

function Errors({ errors }: { errors: NonNullable<Entry['errors']> }) {
  const words = texts.docs
  return (
    <section>
      <h3>{words.errors}</h3>
      <Wide label={words.errors}>
        <table class="table">
          <thead>
            <tr>
              <th>{words.code}</th>
              <th>{words.meaning}</th>
              <th>{words.remedy}</th>
            </tr>
          </thead>
          <tbody>
            {Object.entries(errors).map(([code, { description, remedy, retryable }]) => (
              <tr key={code}>
                <td>
                  <a class="mono" href={href('error', { code })}>
                    {code}
                  </a>
                </td>
                <td>
                  <SeenText text={description} />
                </td>
                <td>
                  <SeenText text={remedy ?? ''} /> {retryable && <span class="quiet">{texts.retryable}</span>}
                </td>
              </tr>
            ))}
          </tbody>
        </table>
      </Wide>
    </section>
  )
}

function Schema({ title, schema }: { title: string; schema: object | undefined }) {
  if (!schema) return null
  return (
    <section>
      <h3>{title}</h3>
      <RowView text={JSON.stringify(schema)} language="json" label={title} />
    </section>
  )
}
