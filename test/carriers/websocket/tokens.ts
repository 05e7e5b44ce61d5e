/** Two callers with bearer tokens. */
import { createToken } from 'callplane'

export function withTokens() {
  const ann = createToken()
  const bob = createToken()
  const grant = { kind: 'bearer', scopes: ['*'] } as const
  return {
    ann: ann.token,
    bob: bob.token,
    auth: {
      tokens: [
        { ...grant, subject: 'ann', hash: ann.hash },
        { ...grant, subject: 'bob', hash: bob.hash },
      ],
    },
  }
}
