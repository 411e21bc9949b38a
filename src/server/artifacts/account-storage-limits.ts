import type { Config } from '../platform/config.ts';

/** What a plan says of stored copies; null: what the settings say. */
export interface PlanStorage {
  readonly days: number | null;
  readonly gb: number | null;
}

/** What an account's copies get. */
export interface StorageLimits {
  /** 0: for ever. */
  readonly days: number;
  readonly bytes: number;
}

const GB = 1024 ** 3;

/** The limits of an account: its plan's where that has its own, never above the space of all. */
export function accountStorageLimits(
  config: Pick<Config, 'artifactsDays' | 'artifactsMaxGb' | 'artifactsAccountGb'>,
  plan: PlanStorage,
): StorageLimits {
  const gb = plan.gb ?? config.artifactsAccountGb;
  return {
    days: plan.days ?? config.artifactsDays,
    bytes: Math.min(gb === 0 ? config.artifactsMaxGb : gb, config.artifactsMaxGb) * GB,
  };
}
