/** The Tool Contract's public exports for runtimes that execute tools on this server. */
export type { ContractSettings } from './executions.ts'
export { createContractMethods } from './methods.ts'
export { createContractRoutes } from './routes.ts'
export { contractCode, contractWords } from './words.ts'
