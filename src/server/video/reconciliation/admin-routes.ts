import type { Static } from 'typebox';
import * as endpoints from '../../../contract/reconciliation.ts';
import { list, ok, toPage } from '../../../contract/schemas.ts';
import { toSeconds } from '../../../contract/time.ts';
import type { Channel } from '../../channels/channel-directory.ts';
import { AppError, notExistError } from '../../platform/errors.ts';
import type { RouteRegistry } from '../../platform/http/route-registry.ts';
import { OutboundError } from '../../platform/outbound/outbound.ts';
import { PollFailed } from '../../upstreams/error.ts';
import type { Reconciliation } from './reconciliation-service.ts';
import type { ReconciliationRow, ReconciliationStore } from './reconciliation-store.ts';

export interface ReconciliationRouteDependencies {
  readonly reconciliation: Reconciliation;
  readonly store: ReconciliationStore;
  readonly channels: { byId(id: number): Promise<Channel | undefined> };
}

/** What was settled against what vendors billed, for administrators. */
export function addReconciliationRoutes(
  routes: RouteRegistry,
  { reconciliation, store, channels }: ReconciliationRouteDependencies,
): void {
  routes.add(endpoints.listReconciliations, async ({ query }) => {
    const { offset, pageSize } = toPage(query);
    const { rows, total } = await store.list(
      query.channel_id === undefined ? undefined : Number(query.channel_id),
      offset,
      pageSize,
    );
    return list(
      rows.map((row) => toReconciliation(row, row.channel_name ?? '')),
      total,
    );
  });

  routes.add(endpoints.reconcileChannel, async ({ params }) => {
    const channel = await channels.byId(Number(params.id));
    if (channel === undefined) throw notExistError('channel');
    const row = await reconciliation.reconcile(channel).catch(rethrowUnreadable);
    return ok(row === undefined ? null : toReconciliation(row, channel.name));
  });
}

function rethrowUnreadable(error: unknown): never {
  if (error instanceof OutboundError || error instanceof PollFailed) throw new AppError('upstream_unavailable');
  throw error;
}

const MICRO = 1_000_000;

function toReconciliation(row: ReconciliationRow, channelName: string): Static<typeof endpoints.Reconciliation> {
  const { billed_units: billed, settled_units: settled } = row;
  return {
    id: row.id,
    channel_id: row.channel_id,
    channel_name: channelName,
    vendor: row.vendor,
    unit: row.unit,
    from: row.from_time === null ? null : toSeconds(row.from_time),
    to: toSeconds(row.to_time),
    videos: row.videos,
    settled_units: settled / MICRO,
    settled_quota: row.settled_quota,
    billed_units: billed === null ? null : billed / MICRO,
    difference: billed === null ? null : (billed - settled) / MICRO,
  };
}
