/** `callplane/testing`: to test operations without a server, and adapters with the suites that ours pass. */
export {
  type BackendStories,
  describeBackend,
  type OpenBackend,
  type OpenedBackend,
  type ToolBehaviour,
} from './backend.ts'
export { type CarrierOptions, describeCarrier, type OpenCarrier, type OpenedCarrier } from './carrier.ts'
export { createManualClock, type ManualClock } from './clock.ts'
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
export { createMemoryLog, type LogLine } from './memory-log.ts'
export { createMemoryObjects } from './memory-objects.ts'
export { describeObjectStore, type OpenedObjects } from './objects.ts'
export type { GivenMedia } from './run-media.ts'
export {
  type Child,
  type Content,
  type Ran,
  type RunArguments,
  type RunOptions,
  runOperation,
} from './run-operation.ts'
export type { Expectation, TestRunner } from './runner.ts'
export { describeStore, type OpenedStore } from './store.ts'
