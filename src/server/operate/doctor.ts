/** Examines what a server with these settings would use: its database, its data folder and its bucket. */
import { type Finding, fine, problem, warning } from '../../core/finding.ts'
import { systemClock } from '../build/environment.ts'
import { examineFolder } from './doctor-folder.ts'
import { examineObjects } from './doctor-objects.ts'
import { readSchemaOf, type StorePlace } from './schemas.ts'

export type { Finding }

export interface DoctorOptions extends StorePlace {
  listenUrl?: string
  /** The address of a bucket. Default: files in the data folder. */
  objects?: string
  env: NodeJS.ProcessEnv
}

export async function examineServer(options: DoctorOptions): Promise<readonly Finding[]> {
  const { objects, env } = options
  return [
    ...(await examineStore(options)),
    ...(await examineFolder(options)),
    ...(objects === undefined ? [] : await examineObjects(objects, env)),
  ]
}

async function examineStore(options: DoctorOptions): Promise<readonly Finding[]> {
  const { url, schema, listenUrl } = options
  if (url === undefined) return examineFile(options)
  const { examineDatabase } = await import('../../stores/postgres/operate/doctor/examine.ts')
  return examineDatabase({ url, schema, ...(listenUrl !== undefined && { listenUrl }), now: systemClock.now })
}

async function examineFile(place: StorePlace): Promise<readonly Finding[]> {
  try {
    const { version, known } = await readSchemaOf(place)
    if (version === 0) return [fine('database', `A start creates the database in ${place.data}.`)]
    if (version === known) return [fine('database', `The database in ${place.data} has version ${version}.`)]
    return [
      warning('database', `The database has version ${version} of ${known}.`, 'A start upgrades it. Back it up first.'),
    ]
  } catch (thrown) {
    const { code, message } = thrown as { code?: string; message: string }
    if (code === 'STORAGE_LOCKED') return [fine('database', `A server uses the database in ${place.data}.`)]
    return [problem('database', message, 'Correct it, and run this again.')]
  }
}
