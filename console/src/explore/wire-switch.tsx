/** The choice of the wire. One that cannot carry the call stays in the list, and says why. */
import { texts } from '../texts/en/explore.ts'
import type { PageCall } from './use-wire-call.ts'
import { WIRES } from './wires/index.ts'
import type { WireId } from './wires/wire.ts'

interface WireSwitchProps {
  call: PageCall
  value: WireId
  onChange(wire: WireId): void
}

export function WireSwitch({ call, value, onChange }: WireSwitchProps) {
  return (
    <fieldset class="segments wires" aria-label={texts.wire} title={texts.wireHint}>
      {WIRES.map((wire) => {
        const refusal = call.isReady ? wire.refusal(call) : undefined
        return (
          <button
            type="button"
            key={wire.id}
            class={refusal ? 'cannot' : undefined}
            title={refusal && texts.refusals[refusal]}
            aria-pressed={wire.id === value}
            onClick={() => onChange(wire.id)}
          >
            {wire.title}
          </button>
        )
      })}
    </fieldset>
  )
}
