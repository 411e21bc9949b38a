import type { Database } from '../platform/db/database.ts';
import type { Tables } from '../tables.ts';
import { DayFiguresStore } from './day-figures.ts';
import { IncidentRecorder, type IncidentRecorderDependencies, InstanceStore } from './incidents.ts';
import { OutageStore } from './outages.ts';

interface ServiceStatusDependencies extends Omit<IncidentRecorderDependencies, 'store' | 'outages'> {
  readonly database: Database<Tables>;
}

/** The service status, as used by other capabilities. */
export interface ServiceStatus {
  readonly instances: InstanceStore;
  readonly outages: OutageStore;
  readonly overview: DayFiguresStore;
  readonly monitor: IncidentRecorder;
}

/** Assembles the monitoring of incidents and processes. */
export function makeServiceStatus({ database, ...dependencies }: ServiceStatusDependencies): ServiceStatus {
  const instances = new InstanceStore(database);
  const outages = new OutageStore(database);
  const monitor = new IncidentRecorder({ ...dependencies, store: instances, outages });
  return { instances, outages, overview: new DayFiguresStore(database), monitor };
}
