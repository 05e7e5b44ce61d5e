/** `callplane/client/oxp`: a client of OXP and OTC servers for browsers and every other runtime with `fetch`. */
export { createOxpClient } from './client.ts'
export { type OxpCode, OxpError, type OxpErrorFacts, type OxpOutcome } from './error.ts'
export type {
  ChallengeInfo,
  OnChallenge,
  OxpCallOptions,
  OxpClient,
  OxpClientOptions,
  OxpContext,
  OxpProtocol,
  OxpResult,
  OxpToken,
  OxpTool,
  OxpToolRequirements,
  OxpToolTypes,
  Revise,
} from './options.ts'
