import type { Database } from '../../platform/db/database.ts';
import type { PubSub } from '../../platform/db/pub-sub.ts';
import { hasConcurrentWriters } from '../../platform/db/sql.ts';
import type { Tables } from '../../tables.ts';
import { PollBackoffPerCredential } from './poll-backoff-per-credential.ts';
import { PollScheduler, type PollSchedulerDependencies } from './poll-scheduler.ts';
import { PollStore } from './poll-store.ts';
import { PollingConcurrencyShare } from './polling-concurrency-share.ts';
import { PollingProcessStore } from './polling-process-store.ts';

export interface PollingDependencies extends Omit<PollSchedulerDependencies, 'store' | 'backoffs' | 'processes'> {
  readonly database: Database<Tables>;
  readonly pubSub: Pick<PubSub, 'publish' | 'subscribe'>;
}

/** The scheduler of one process, which knows of the other processes where there may be some. */
export function makePollScheduler({ database, pubSub, ...dependencies }: PollingDependencies): PollScheduler {
  const { clock, log, periodMs } = dependencies;
  return new PollScheduler({
    ...dependencies,
    store: new PollStore(database),
    backoffs: new PollBackoffPerCredential({ pubSub, clock, periodMs }),
    processes: hasConcurrentWriters(database.kysely)
      ? new PollingConcurrencyShare({ store: new PollingProcessStore(database), pubSub, clock, log })
      : undefined,
  });
}
