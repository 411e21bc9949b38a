import type { Channels } from '../channels/channels.ts';
import type { Notifier } from '../notifications/notifier.ts';
import type { Clock } from '../platform/clock.ts';
import type { Database } from '../platform/db/database.ts';
import type { Routes } from '../platform/http/routes.ts';
import type { Log } from '../platform/log.ts';
import type { Outbound } from '../platform/outbound/outbound.ts';
import type { Allowances, Quota } from '../quota/quota.ts';
import type { Tables } from '../tables.ts';
import { addTaskAdminRoutes, type MoneyTrail } from './admin-routes.ts';
import { TaskAdminStore } from './admin-store.ts';
import { Attempts } from './attempts.ts';
import { VendorCalls } from './calls.ts';
import { Contents } from './content.ts';
import { Downloads } from './downloads.ts';
import { Endings } from './endings.ts';
import { addFavouriteRoutes } from './favourite-routes.ts';
import { FavouriteStore } from './favourite-store.ts';
import { Idempotency } from './idempotency.ts';
import { InlineFiles } from './inline-files.ts';
import { Looks } from './looks.ts';
import { addOwnerVideoRoutes } from './owner-routes.ts';
import { PlayAddresses } from './play-address.ts';
import { TaskReader } from './reader.ts';
import { Removals } from './removals.ts';
import { Renewals } from './renewals.ts';
import { addVideoRoutes } from './routes.ts';
import { TaskStore } from './store.ts';
import { addStudioRoutes } from './studio-routes.ts';
import { type FaultPoint, Submitter } from './submit.ts';
import { Synchronizer } from './synchronizer.ts';
import type { Vendors } from './vendors.ts';

export interface VideoParts {
  readonly database: Database<Tables>;
  readonly quota: Quota;
  readonly allowances: Allowances;
  readonly channels: Channels;
  readonly vendors: Vendors;
  readonly money: MoneyTrail;
  readonly notifier: Notifier;
  readonly outbound: Outbound;
  readonly clock: Clock;
  readonly log: Log;
  readonly masterKey: Buffer;
  readonly baseUrl: string;
  readonly newTaskId: () => string;
  readonly syncPeriodMs: number;
  readonly ambiguousTtlMs: number;
  readonly taskTimeoutMs: number;
  /** Ends when the service stops. */
  readonly stopping: AbortSignal;
  /** Named points of the money path, for tests that stop the process there. */
  readonly at: (point: FaultPoint) => void;
}

export interface Video {
  readonly store: TaskStore;
  readonly adminStore: TaskAdminStore;
  readonly calls: VendorCalls;
  readonly synchronizer: Synchronizer;
  /** Removes what has outlived its use, and finds what waits too long; called now and then. */
  sweep(): Promise<void>;
}

/** Builds the video capability and hangs its routes. */
export function makeVideo(routes: Routes, parts: VideoParts): Video {
  const { database, clock, log, vendors, channels, outbound, syncPeriodMs, stopping } = parts;
  const store = new TaskStore(database);
  const calls = new VendorCalls(outbound, clock);
  const endings = new Endings({ ...parts, store });
  const looks = new Looks({ ...parts, store, calls, endings });
  const renewals = new Renewals({ store, channels, vendors, calls, clock, log, stopping });
  const reader = new TaskReader({ store, looks, renewals, vendors, clock, stopping });
  const inlineFiles = new InlineFiles({ vendors, calls, stopping });
  const downloads = new Downloads();
  const contents = new Contents({ outbound, channels, vendors, calls, renewals, inlineFiles, downloads, log });
  const adminStore = new TaskAdminStore(database);
  const attempts = new Attempts(adminStore, clock, log);
  const submitter = new Submitter({ ...parts, store, calls, endings, attempts });
  const idempotency = new Idempotency(database, store, clock);
  const removals = new Removals({ ...parts, calls });
  addVideoRoutes(routes, { ...parts, submitter, idempotency, reader, contents, store, removals });
  addStudioRoutes(routes, { store, submitter, idempotency, removals, clock });
  addFavouriteRoutes(routes, { store, favourites: new FavouriteStore(database) });
  addOwnerVideoRoutes(routes, { store, reader, contents, addresses: new PlayAddresses(parts.masterKey), clock });
  addTaskAdminRoutes(routes, { store: adminStore, channels, money: parts.money });
  const synchronizer = new Synchronizer({ store, looks, clock, log, periodMs: syncPeriodMs });
  return {
    store,
    adminStore,
    calls,
    synchronizer,
    sweep: async () => {
      await Promise.all([idempotency.sweep(), synchronizer.sweep()]);
    },
  };
}
