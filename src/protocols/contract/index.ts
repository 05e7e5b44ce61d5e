/** The Tool Contract: the protocol's public face for those who have tools executed here. */
export type { ContractSettings } from './executions.ts'
export { createContractMethods } from './methods.ts'
export { createContractRoutes } from './routes.ts'
export { contractCode, contractWords } from './words.ts'
