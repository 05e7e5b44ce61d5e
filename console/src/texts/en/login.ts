/** Words of the sign-in. */
export const texts = {
  title: 'Sign in to Callplane',
  about: 'The page sends requests to this server only. Your session stays in this tab.',
  credential: 'Token, or link with a code',
  credentialHint: 'A bearer token of this server, or the link that “callplane serve” prints.',
  missing: 'Paste a token or a link first.',
  readOnly: 'Read-only session',
  keep: 'Stay signed in when this tab reloads',
  signIn: 'Sign in',
  signingIn: 'Signing in…',
  oidc: (name: string | undefined) => `Continue with ${name ?? 'your identity provider'}`,
  or: 'or',
  refused: 'The server did not accept it.',
  noProvider: 'The server did not name its identity provider. Sign in with a token.',
  /** Why the server sent the person back from the identity provider without a code. */
  providerProblems: {
    denied: 'You did not sign in at the identity provider.',
    forbidden: 'The identity provider knows you, but you may not use this console. Ask its operator for access.',
    expired: 'The sign-in took too long, or was used before. Start it again.',
    failed: 'The identity provider could not be asked. Try again; the log of the server has the reason.',
  } as Readonly<Record<string, string>>,
  again: {
    title: 'Your session has ended',
    text: 'Sign in again to go on. What you have typed is still there, and a call that was waiting continues.',
    leave: 'Leave and sign out',
  },
}
