import type { Static } from 'typebox';
import { list, ok, toPage } from '../../../contract/success-bodies-and-pagination.ts';
import { toSeconds } from '../../../contract/time-units.ts';
import * as endpoints from '../../../contract/vendor-billing-reconciliation.ts';
import type { Channel } from '../../channels/directory.ts';
import { AppError, notExistError } from '../../platform/app-error.ts';
import type { RouteRegistry } from '../../platform/http/route-registry.ts';
import { OutboundError } from '../../platform/outbound/outbound.ts';
import { PollFailed } from '../../upstreams/vendor-errors.ts';
import type { Reconciliation } from './reconciliation-service.ts';
import type { ReconciliationRow, ReconciliationStore } from './reconciliation-store.ts';
import type { VendorAccountState } from './vendor-account-state-types.ts';

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
    const channelId = query.channel_id === undefined ? undefined : Number(query.channel_id);
    const { rows, total } =
      query.by === 'day'
        ? await store.listDays(channelId, offset, pageSize)
        : await store.list(channelId, offset, pageSize);
    return list(
      rows.map((row) => toReconciliation(row, row.channel_name ?? '')),
      total,
    );
  });

  routes.add(endpoints.listReconciledAccounts, async () => ok((await reconciliation.states()).map(toAccount)));

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

const toSecondsOrNull = (unixMs: number | null): number | null => (unixMs === null ? null : toSeconds(unixMs));

const toAccount = (state: VendorAccountState): Static<typeof endpoints.ReconciledAccount> => ({
  channel_id: state.channel.id,
  channel_name: state.channel.name,
  vendor: state.channel.vendor,
  unit: state.unit,
  skew_seconds: toSeconds(state.skewMs),
  read_at: toSecondsOrNull(state.readAt),
  failed_at: toSecondsOrNull(state.failedAt),
  error: state.error,
  judged:
    state.judgement === undefined
      ? null
      : {
          from: toSeconds(state.judgement.from),
          to: toSeconds(state.judgement.to),
          settled_units: state.judgement.settled / MICRO,
          billed_units: state.judgement.billed / MICRO,
          unexplained_units: state.judgement.unexplained / MICRO,
        },
});

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
