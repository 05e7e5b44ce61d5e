/** The built-in operation that ends streams. docs/readings.md#r31. */
import { refuseReadOnly } from '../../core/call/read-only.ts'
import { Fault } from '../../core/fault.ts'
import { operation } from '../../core/operation/define.ts'
import type { OperationDefinition } from '../../core/operation/operation.ts'
import { jsonSchema } from '../../core/operation/schema.ts'
import type { FollowUp } from '../follow/follow-up.ts'

const NAME = 'v1:unsubscribeFromStream'

export interface UnsubscribeOperation {
  definition: OperationDefinition
  /** Called once, when the engine exists. */
  connect(followUp: FollowUp): void
}

/** `isPublic` is true if a stream is public: a caller without a credential must be able to end its own stream. */
export function createUnsubscribe(isPublic: boolean): UnsubscribeOperation {
  let connected: FollowUp | undefined
  return {
    definition: operation(NAME, {
      description: 'Ends a stream by its request id, or all your streams of a session.',
      public: isPublic,
      tool: false,
      args: jsonSchema<{ requestId?: string; sessionId?: string }>({
        type: 'object',
        additionalProperties: false,
        minProperties: 1,
        maxProperties: 1,
        properties: { requestId: { type: 'string' }, sessionId: { type: 'string' } },
      }),
      result: jsonSchema<{ ended: string[] }>({
        type: 'object',
        required: ['ended'],
        properties: { ended: { type: 'array', items: { type: 'string' } } },
      }),
      async run({ requestId, sessionId }, { caller }) {
        refuseReadOnly(caller, 'end streams')
        if (!connected) throw new Fault('unavailable', 'The server is starting. Try again in a moment.')
        const ended =
          requestId === undefined
            ? await connected.unsubscribeSession(caller, sessionId as string)
            : await connected.unsubscribe(caller, requestId)
        return { ended }
      },
    }),
    connect(followUp) {
      connected = followUp
    },
  }
}
