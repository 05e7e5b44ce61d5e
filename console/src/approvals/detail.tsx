/** One approval: what the call would do, what differs from the last one, and the decision. */
import { useMutation, useQuery, useQueryClient } from '@tanstack/preact-query'
import { useState } from 'preact/hooks'
import type { ApprovalView } from '../api/types.ts'
import { Button } from '../design/button.tsx'
import { Failure, Notice, Skeleton } from '../design/feedback.tsx'
import { TextField } from '../design/field.tsx'
import { Icon } from '../design/icon.tsx'
import { hasUnseen, SeenText } from '../design/seen-text.tsx'
import { bytesOf, Time } from '../design/time.tsx'
import { DiffTable, FOLDED_AT, textOf } from '../diff/diff-table.tsx'
import { compare, leavesOf } from '../diff/structure.ts'
import { href } from '../routes.ts'
import { nameOf, personOf } from '../runs/people.ts'
import { useMay, usePage } from '../shell/page.ts'
import { texts } from '../texts/en/approvals.ts'

export function ApprovalDetail({ id, next }: { id: string; next: string | undefined }) {
  const { server } = usePage()
  const found = useQuery({
    queryKey: ['approval', id],
    queryFn: ({ signal }) => server.call('v1:callplane.approvals.get', { id }, signal),
  })
  return (
    <div class="screen approval">
      <a class="back button plain small" href={href('approvals')}>
        <Icon name="left" /> {texts.back}
      </a>
      {found.error && <Failure error={found.error} retry={() => void found.refetch()} />}
      {!found.data && !found.error && <Skeleton lines={8} />}
      {found.data && <Loaded approval={found.data} next={next} />}
    </div>
  )
}

function Loaded({ approval, next }: { approval: ApprovalView; next: string | undefined }) {
  const [opened, setOpened] = useState<ReadonlySet<string>>(new Set())
  const { previous, args } = approval
  const isGone = args === null && approval.status !== 'pending'
  const leaves = leavesOf(args)
  const unread = leaves.filter(({ path, after }) => textOf(after).length > FOLDED_AT && !opened.has(path))
  const open = (path: string) => setOpened((before) => new Set(before).add(path))
  return (
    <>
      <header class="screen-head">
        <h1 class="title">
          <a class="mono" href={href('operation', { op: nameOf(approval.operation) })}>
            {nameOf(approval.operation)}
          </a>
        </h1>
        <span class="chip">{texts.statuses[approval.status]}</span>
      </header>
      <Facts approval={approval} />
      {hasUnseen(JSON.stringify(args)) && <Notice tone="warn">{texts.hidden}</Notice>}
      {previous && (
        <section class="panel">
          <header>
            <h2>{texts.changes}</h2>
            <Time at={previous.decidedAt} ago />
          </header>
          <div class="body">
            <DiffTable
              differences={compare(previous.args, args)}
              sides={texts.sides}
              label={texts.changes}
              onOpen={open}
            />
          </div>
        </section>
      )}
      <section class="panel">
        <header>
          <h2>{texts.args}</h2>
          {!previous && <span class="faint">{texts.none}</span>}
        </header>
        <div class="body">
          {isGone ? (
            <p class="quiet">{texts.argsGone}</p>
          ) : (
            <DiffTable differences={leaves} label={texts.args} onOpen={open} />
          )}
        </div>
      </section>
      {approval.status === 'pending' && <Decision id={approval.id} unread={unread.length} next={next} />}
    </>
  )
}

function Facts({ approval }: { approval: ApprovalView }) {
  const { rule, reason, decision, attachments } = approval
  return (
    <dl class="facts">
      <dt>{texts.facts.caller}</dt>
      <dd>
        <strong>
          <SeenText text={personOf(approval.caller, approval.userId)} />
        </strong>{' '}
        <span class="faint">
          <SeenText text={approval.caller} />
        </span>
      </dd>
      <dt>{texts.facts.risk}</dt>
      <dd>{approval.risk}</dd>
      {rule && (
        <>
          <dt>{texts.facts.rule}</dt>
          <dd class="mono">{rule}</dd>
        </>
      )}
      {reason && (
        <>
          <dt>{texts.facts.reason}</dt>
          <dd>
            <SeenText text={reason} />
          </dd>
        </>
      )}
      <dt>{texts.facts.asked}</dt>
      <dd>
        <Time at={approval.createdAt} />
      </dd>
      {approval.status === 'pending' && (
        <>
          <dt>{texts.facts.expires}</dt>
          <dd>
            <Time at={approval.expiresAt} ago />
          </dd>
          <dt>{texts.facts.waits}</dt>
          <dd>{approval.waits ? texts.facts.waitsYes : texts.facts.waitsNo}</dd>
        </>
      )}
      {decision && (
        <>
          <dt>{texts.facts.decided}</dt>
          <dd>
            <SeenText text={personOf(decision.by)} /> · <Time at={decision.at} />
            {decision.why && (
              <>
                {' · '}
                <SeenText text={decision.why} />
              </>
            )}
          </dd>
        </>
      )}
      {attachments && (
        <>
          <dt>{texts.facts.attachments}</dt>
          <dd>
            {attachments.map(({ name, mimeType, bytes, sha256 }) => (
              <div key={name}>
                {name} · {mimeType} · {bytesOf(bytes)} · <span class="mono faint">{sha256}</span>
              </div>
            ))}
          </dd>
        </>
      )}
    </dl>
  )
}

function Decision({ id, unread, next }: { id: string; unread: number; next: string | undefined }) {
  const { server, toasts, announce, router } = usePage()
  const may = useMay()
  const queries = useQueryClient()
  const [why, setWhy] = useState('')
  const decide = useMutation({
    mutationFn: (verdict: 'approve' | 'deny') =>
      server.call('v1:callplane.approvals.decide', { id, verdict, ...(why.trim() && { why: why.trim() }) }),
    onSuccess: (decided) => {
      const text = decided.status === 'denied' ? texts.denied : texts.approved
      announce(text)
      toasts.show({ text: `${text}: ${decided.operation}`, tone: 'ok' })
      queries.setQueryData(['approval', id], decided)
      void queries.invalidateQueries({ queryKey: ['approvals'] })
      if (next) router.go(href('approval', { id: next }))
    },
  })
  if (!may('callplane:approve')) return <Notice>{texts.readOnly}</Notice>
  const isBlocked = unread > 0
  return (
    <section class="decision" aria-label={texts.decision}>
      {decide.error && <Failure error={decide.error} />}
      <TextField
        label={texts.why}
        value={why}
        maxLength={1000}
        onInput={(event) => setWhy(event.currentTarget.value)}
      />
      <div class="buttons">
        <Button
          tone="primary"
          size="large"
          icon="check"
          disabled={decide.isPending}
          aria-disabled={isBlocked ? 'true' : undefined}
          aria-describedby={isBlocked ? 'unread' : undefined}
          onClick={() => !isBlocked && !decide.isPending && decide.mutate('approve')}
        >
          {texts.approve}
        </Button>
        <Button
          tone="danger"
          size="large"
          icon="close"
          disabled={decide.isPending}
          onClick={() => decide.mutate('deny')}
        >
          {texts.deny}
        </Button>
        {isBlocked && (
          <p id="unread" class="quiet">
            {texts.unread(unread)}
          </p>
        )}
      </div>
    </section>
  )
}
