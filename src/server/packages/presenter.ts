import type { Static } from 'typebox';
import type { CodeStatus, getOwnPackage, PackageCard } from '../../contract/packages.ts';
import { modelsOf, type Running, type UsedWindow } from './allowances.ts';
import type { CardRow } from './card-store.ts';
import type { ShownCode } from './code-store.ts';
import type { Granted } from './plans.ts';
import { paceOf } from './windows.ts';

const toSeconds = (unixMs: number): number => Math.floor(unixMs / 1000);

/** A card as everybody sees it. */
export const toCard = (card: CardRow): Static<typeof PackageCard> => ({
  id: card.id,
  package_code: card.package_code,
  name: card.name,
  description: card.description,
  level: card.level,
  price_amount: card.price_amount,
  purchasable: card.purchasable === 1,
  daily_quota: card.daily_quota,
  duration_days: card.duration_days,
  refresh_interval_seconds: card.refresh_interval_seconds,
  system_builtin: card.system_builtin === 1,
  interval_quota: card.interval_quota,
  weekly_quota_limit: card.weekly_quota_limit,
  status: card.status,
  created_time: toSeconds(card.created_at),
});

export const toAdminCard = (card: CardRow) => ({ ...toCard(card), models: modelsOf(card) });

const statusOf = ({ state, expires_at }: ShownCode, now: number): CodeStatus =>
  state === 'unused' && expires_at !== null && expires_at <= now ? 'expired' : state;

export const toCodeRow = (row: ShownCode, now: number) => ({
  id: row.id,
  batch_id: row.batch_id,
  code: row.hint,
  package_code: row.package_code ?? '',
  quota: row.quota,
  status: statusOf(row, now),
  note: row.note,
  used_by: row.used_by ?? 0,
  used_time: toSeconds(row.used_at ?? 0),
  expires_at: toSeconds(row.expires_at ?? 0),
  created_time: toSeconds(row.created_at),
});

export const toGranted = ({ outcome, packageCode, expiresAt }: Granted, quota = 0) => ({
  outcome,
  package_code: packageCode,
  quota,
  package_expires_at: toSeconds(expiresAt),
});

type OwnPackage = Static<(typeof getOwnPackage)['answer']>['data'];

/** What an account has, for its owner. */
export function toOwnPackage(
  { running, windows }: { readonly running: Running; readonly windows: readonly UsedWindow[] },
  about: { readonly wallet: number; readonly zone: string; readonly now: number },
): OwnPackage {
  const { card, timeline } = running;
  const { current } = timeline;
  return {
    package_code: card.package_code,
    name: card.name,
    description: card.description,
    level: card.level,
    started_at: toSeconds(current?.starts_at ?? 0),
    expires_at: toSeconds(current?.expires_at ?? 0),
    models: modelsOf(card),
    allowance_left: Math.min(...windows.map(leftOf)),
    windows: windows.filter(hasAllowance).map((window) => {
      const pace = paceOf(window, window.used, about.now);
      return {
        kind: window.kind,
        limit: window.limit,
        used: window.used,
        left: leftOf(window),
        starts_at: toSeconds(window.startsAt),
        refreshes_at: toSeconds(window.endsAt),
        used_per_hour: pace.usedPerHour,
        runs_out_at: toSeconds(pace.runsOutAt),
      };
    }),
    wallet: about.wallet,
    time_zone: about.zone,
    waiting: timeline.waiting.map((holding) => ({
      package_code: holding.card.package_code,
      name: holding.card.name,
      level: holding.level,
      duration_days: holding.duration_days,
      starts_at: toSeconds(holding.starts_at),
    })),
  };
}

/** A card without an allowance has no windows to show. */
const hasAllowance = ({ limit }: UsedWindow): boolean => limit > 0;

const leftOf = ({ limit, used }: UsedWindow): number => Math.max(0, limit - used);
