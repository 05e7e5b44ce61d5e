/**
 * `callplane/testing`: tests operations without a server, and adapters with the suites that the built-in adapters pass.
 */

export {
  type ConformanceCase,
  type ConformanceProtocol,
  conformanceCases,
  type Discovery,
  discover,
  type Example,
  type Level,
  NeedsToken,
  NotApplicable,
  type Parts,
  Skip,
  type Target,
  Unmet,
} from './conformance/index.ts'
export { createManualClock, type ManualClock } from './fakes/clock.ts'
export { createMemoryLog, type LogLine } from './fakes/memory-log.ts'
export { createMemoryObjects } from './fakes/memory-objects.ts'
export { createMessagePair, type MessagePair, type MessagePairOptions } from './fakes/message-pair.ts'
export type { GivenMedia } from './run-operation/run-media.ts'
export {
  type Child,
  type Content,
  type Ran,
  type RunArguments,
  type RunOptions,
  runOperation,
} from './run-operation/run-operation.ts'
export {
  type BackendStories,
  describeBackend,
  type OpenBackend,
  type OpenedBackend,
  type ToolBehaviour,
} from './suites/backend/backend.ts'
export {
  type CarrierOptions,
  type CarrierTraits,
  describeCarrier,
  type OpenCarrier,
  type OpenedCarrier,
} from './suites/carrier/carrier.ts'
export { describeFrames, type FrameReader, type FrameTraits, type OpenedFrames } from './suites/frames/frames.ts'
export {
  describeMessages,
  type MessageCarrierOptions,
  type MessageCarrierTraits,
  type OpenedMessages,
  type OpenMessages,
} from './suites/messages/messages.ts'
export { describeObjectStore, type OpenedObjects } from './suites/objects/objects.ts'
export type { Expectation, TestRunner } from './suites/runner.ts'
export { describeStore, type OpenedStore } from './suites/store/store.ts'
