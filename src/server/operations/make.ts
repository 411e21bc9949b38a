import type { Database } from '../platform/db/database.ts';
import type { Tables } from '../tables.ts';
import { IncidentMonitor, type IncidentMonitorDependencies } from './incident-monitor.ts';
import { OperationsStore } from './store.ts';

export interface OperationsDependencies extends Omit<IncidentMonitorDependencies, 'store'> {
  readonly database: Database<Tables>;
}

export interface Operations {
  readonly store: OperationsStore;
  readonly monitor: IncidentMonitor;
}

/** Assembles the watch over incidents and processes. */
export function makeOperations({ database, ...dependencies }: OperationsDependencies): Operations {
  const store = new OperationsStore(database);
  return { store, monitor: new IncidentMonitor({ ...dependencies, store }) };
}
