/** DBOS: each job is a workflow without steps, started directly. */
import { DBOS } from '@dbos-inc/dbos-sdk'
import { ADDED, type JobSystem } from './durable-jobs.ts'

const POOL = 20

export async function openDbosJobs(connectionString: string): Promise<JobSystem> {
  const add = DBOS.registerWorkflow(async (a: number, b: number) => a + b, { name: 'add' })
  DBOS.setConfig({
    name: 'bench',
    systemDatabaseUrl: connectionString,
    systemDatabasePoolSize: POOL,
    logLevel: 'error',
    enableOTLP: false,
  })
  await DBOS.launch()

  return {
    submit(index) {
      const started = DBOS.startWorkflow(add, { workflowID: `job-${index}` })(index, ADDED)
      return { accepted: started, completed: started.then((handle) => handle.getResult()) }
    },
    async countStored() {
      const workflows = await DBOS.listWorkflows({ status: 'SUCCESS', loadInput: false, loadOutput: true })
      return workflows.filter(({ workflowID, output }) => output === Number(workflowID.slice('job-'.length)) + ADDED)
        .length
    },
    close: () => DBOS.shutdown(),
  }
}
