/** The failures of the server for `v1:callplane.faults.list`, from the tables with which the protocols encode them. */
import { Fault, type FaultKind } from '../../core/fault.ts'
import type { FaultInfo, FaultsParts, Wires } from '../../engine/admin/about/faults.ts'
import { codeOf } from '../../protocols/contract/faults.ts'
import { statusOf as contractStatus } from '../../protocols/contract/statuses.ts'
import * as mcp from '../../protocols/mcp/faults.ts'
import { CODES } from '../../protocols/opencall/discovery/fault-codes.ts'
import { KINDS } from '../../protocols/opencall/discovery/fault-kinds.ts'
import { OF_HTTP } from '../../protocols/opencall/discovery/service-errors.ts'
import { encodeFault, statusOf } from '../../protocols/opencall/faults.ts'
import { statusOf as oxpStatus } from '../../protocols/oxp/faults.ts'
import * as rest from '../../protocols/rest/faults.ts'

export const faultTable: FaultsParts['faults'] = { service, wires }

function service(): FaultInfo[] {
  const kinds = Object.entries(KINDS).map(([kind, [meaning, remedy]]) => infoOf(kind as FaultKind, meaning, remedy))
  const codes = Object.entries(CODES).map(([code, [kind, meaning, remedy]]) => infoOf(kind, meaning, remedy, code))
  return [...kinds, ...codes, ...ofHttp()]
}

function infoOf(kind: FaultKind, meaning: string, remedy: string, code?: string): FaultInfo {
  const fault = new Fault(kind, meaning, code === undefined ? {} : { code })
  return { kind, code: fault.code, retryable: fault.retryable, meaning, remedy, wires: wires(fault) }
}

function wires(fault: Fault): Wires {
  const isResult = mcp.isResultOnCall(fault)
  return {
    opencall: { status: statusOf(fault), code: encodeFault(fault).code },
    // A failure that a model can act on is a tool result, whose metadata has the code.
    mcp: isResult
      ? { status: 200, code: fault.code }
      : { status: mcp.statusOf(fault, 'stateless'), code: mcp.encodeError(fault).code },
    oxp: { status: oxpStatus(fault) },
    otc: { status: oxpStatus(fault) },
    rest: { status: rest.isResultOnCall(fault) ? rest.callStatusOf(fault) : rest.statusOf(fault) },
    contract: { status: contractStatus(fault), code: codeOf(fault.kind) },
  }
}

/** Refusals of HTTP, before any protocol reads the request. */
function ofHttp(): FaultInfo[] {
  return OF_HTTP.map(({ code, httpStatus: status, message: meaning, remedy = '', retryable = false }) => ({
    kind: 'http',
    code,
    retryable,
    meaning,
    remedy,
    wires: { opencall: { status, code } },
  }))
}
