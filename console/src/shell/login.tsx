/** Signing in: with a code, a token, or an identity provider. The same form appears above the page when a session ends. */
import { useState } from 'preact/hooks'
import type { SessionState } from '../api/session.ts'
import { Button } from '../design/button.tsx'
import { Dialog } from '../design/dialog.tsx'
import { Failure, Notice } from '../design/feedback.tsx'
import { Check, TextField } from '../design/field.tsx'
import { texts } from '../texts/en/login.ts'
import { Mark } from './frame.tsx'
import { usePage } from './page.ts'

type Out = Extract<SessionState, { kind: 'out' }>

export function LoginScreen({ state }: { state: Out }) {
  return (
    <main class="login">
      <div class="card">
        <h1>
          <Mark /> {texts.title}
        </h1>
        {state.problem && (
          <Notice tone="bad">
            <p>{state.problem}</p>
          </Notice>
        )}
        <SignInForm ways={state.ways} oidcName={state.oidcName} />
      </div>
      <p class="faint">{texts.about}</p>
    </main>
  )
}

/** Above everything, so that nothing typed is lost. Calls that wait for the sign-in continue by themselves. */
export function SignInAgain() {
  const { session } = usePage().server
  return (
    <Dialog title={texts.again.title} mustChoose onClose={() => {}}>
      <p class="quiet">{texts.again.text}</p>
      <SignInForm ways={session.ways} oidcName={undefined} />
      <Button tone="plain" onClick={() => session.signOut()}>
        {texts.again.leave}
      </Button>
    </Dialog>
  )
}

function SignInForm({ ways, oidcName }: { ways: Out['ways']; oidcName: string | undefined }) {
  const { session } = usePage().server
  const [text, setText] = useState('')
  const [readOnly, setReadOnly] = useState(false)
  const [keep, setKeep] = useState(session.keep)
  const [problem, setProblem] = useState<string>()
  const [failure, setFailure] = useState<unknown>()
  const [isBusy, setBusy] = useState(false)

  async function signIn() {
    const given = text.trim()
    setProblem(given === '' ? texts.missing : undefined)
    if (given === '' || isBusy) return
    setBusy(true)
    setFailure(undefined)
    session.keep = keep
    try {
      const credential = CODE.test(given) ? { code: codeIn(given) } : { token: given }
      setProblem(await session.signIn({ ...credential, ...(readOnly && { readOnly }) }))
    } catch (thrown) {
      setFailure(thrown)
    } finally {
      setBusy(false)
    }
  }

  return (
    <form
      class="sign-in"
      onSubmit={(event) => {
        event.preventDefault()
        void signIn()
      }}
    >
      {ways.includes('oidc') && (
        <>
          <Button
            tone="primary"
            size="large"
            onClick={async () => {
              try {
                location.assign(await session.oidcUrl(location.hash))
              } catch (thrown) {
                setFailure(thrown)
              }
            }}
          >
            {texts.oidc(oidcName)}
          </Button>
          <p class="or">{texts.or}</p>
        </>
      )}
      <TextField
        label={texts.credential}
        hint={texts.credentialHint}
        problem={problem}
        type="password"
        autocomplete="off"
        spellcheck={false}
        autoFocus
        mono
        value={text}
        onInput={(event) => setText(event.currentTarget.value)}
      />
      <Check label={texts.readOnly} checked={readOnly} onChange={setReadOnly} />
      <Check label={texts.keep} checked={keep} onChange={setKeep} />
      {failure !== undefined && <Failure error={failure} />}
      <Button type="submit" tone={ways.includes('oidc') ? undefined : 'primary'} size="large" disabled={isBusy}>
        {isBusy ? texts.signingIn : texts.signIn}
      </Button>
    </form>
  )
}

/** The whole link that `serve` prints, or the code alone. */
const CODE = /(?:#\/login\?code=|^cpc_)/

function codeIn(text: string): string {
  return decodeURIComponent(/code=([^&]+)/.exec(text)?.[1] ?? text)
}
