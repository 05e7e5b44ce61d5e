/** The load of a server with two workers, whose calls are in SQLite. */
import { loadStory } from '../scenarios/operate/load-story.ts'
import { startPair } from './pair.ts'

loadStory(async (options) => {
  const [here, there] = await startPair(options, { clock: options.clock })
  // Each worker tells the metrics of all.
  return { here, there, metrics: [here] }
})
