import type { Database } from '../platform/db/database-types.ts';
import type { Tables } from '../tables.ts';
import { IncidentMonitor, type IncidentMonitorDependencies } from './incident-monitor.ts';
import { InstanceStore } from './instance-store.ts';
import { OverviewStore } from './overview-store.ts';

export interface ServiceStatusDependencies extends Omit<IncidentMonitorDependencies, 'store'> {
  readonly database: Database<Tables>;
}

export interface ServiceStatus {
  readonly instances: InstanceStore;
  readonly overview: OverviewStore;
  readonly monitor: IncidentMonitor;
}

/** Assembles the watch over incidents and processes. */
export function makeServiceStatus({ database, ...dependencies }: ServiceStatusDependencies): ServiceStatus {
  const instances = new InstanceStore(database);
  const monitor = new IncidentMonitor({ ...dependencies, store: instances });
  return { instances, overview: new OverviewStore(database), monitor };
}
