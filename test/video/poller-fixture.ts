import { HOUR_MS } from '../../src/contract/time-units.ts';
import type { CallOutcome, Channel } from '../../src/server/channels/directory.ts';
import type { ManualClock } from '../../src/server/platform/clock.ts';
import type { Database } from '../../src/server/platform/db/database.ts';
import { openLog } from '../../src/server/platform/log.ts';
import { NO_TRACING } from '../../src/server/platform/tracing/tracing.ts';
import type { Ledger } from '../../src/server/quota/ledger.ts';
import type { Tables } from '../../src/server/tables.ts';
import { TaskUpstreams, UpstreamCalls } from '../../src/server/upstreams/upstream.ts';
import type { QueryOutcome, VendorAdapter } from '../../src/server/vendors/adapter.ts';
import { VendorRegistry } from '../../src/server/vendors/registry.ts';
import { TaskPoller } from '../../src/server/video/poller.ts';
import { TaskCompletion } from '../../src/server/video/task-completion.ts';
import { TaskStore } from '../../src/server/video/task-store.ts';

const CHANNEL = { id: 1, baseUrl: 'http://vendor.test', credentials: {}, options: {}, private: false } as Channel;

/** The poller and task completion, with a vendor whose every poll returns `outcome`, or throws it if it is an error. */
export function makePoller(database: Database<Tables>, quota: Ledger, clock: ManualClock, outcome: object = {}) {
  const log = openLog('silent');
  const tracing = NO_TRACING;
  const store = new TaskStore(database);
  const notifier = { notify: async () => {}, notifyAdministrators: async () => {} };
  const events = { write: async () => {} };
  const completion = new TaskCompletion({
    tracing,
    database,
    store,
    quota,
    notifier,
    events,
    artifacts: { enqueue: async () => {} },
    clock,
    vendors: new VendorRegistry(),
    faultPoint: () => {},
  });
  const reports: CallOutcome[] = [];
  const stopped: string[] = [];
  const adapter: Pick<VendorAdapter, 'query'> = {
    async query() {
      const next = typeof outcome === 'function' ? outcome() : outcome;
      if (next instanceof Error) throw next;
      return next as QueryOutcome;
    },
  };
  const poller = new TaskPoller({
    tracing,
    database,
    store,
    completion,
    results: { check: async (_task, outcome) => outcome },
    clock,
    log,
    channels: { report: (call) => void reports.push(call) },
    upstreams: new TaskUpstreams({
      accounts: { byId: async () => CHANNEL },
      adapters: { get: () => adapter as VendorAdapter },
      calls: new UpstreamCalls({} as ConstructorParameters<typeof UpstreamCalls>[0], clock),
    }),
    retryLost: async () => false,
    stopJob: ({ id }) => void stopped.push(id),
    syncPeriodMs: 1_000,
    ambiguousTtlMs: HOUR_MS,
    taskTimeoutMs: 24 * HOUR_MS,
    submitVisibilityMs: 120_000,
  });
  return { completion, poller, store, reports, stopped };
}
