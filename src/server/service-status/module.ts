import type { Database } from '../platform/db/database.ts';
import type { Tables } from '../tables.ts';
import { DayFiguresAndBlockedUsersStore } from './day-figures.ts';
import { InstanceIncidentRecorder, type InstanceIncidentRecorderDependencies, InstanceStore } from './incidents.ts';
import { OutageStore } from './outages.ts';

interface ServiceStatusDependencies extends Omit<InstanceIncidentRecorderDependencies, 'store' | 'outages'> {
  readonly database: Database<Tables>;
}

/** The service status, as used by other capabilities. */
export interface ServiceStatus {
  readonly instances: InstanceStore;
  readonly outages: OutageStore;
  readonly overview: DayFiguresAndBlockedUsersStore;
  readonly monitor: InstanceIncidentRecorder;
}

/** Assembles the monitoring of incidents and processes. */
export function makeServiceStatus({ database, ...dependencies }: ServiceStatusDependencies): ServiceStatus {
  const instances = new InstanceStore(database);
  const outages = new OutageStore(database);
  const monitor = new InstanceIncidentRecorder({ ...dependencies, store: instances, outages });
  return { instances, outages, overview: new DayFiguresAndBlockedUsersStore(database), monitor };
}
