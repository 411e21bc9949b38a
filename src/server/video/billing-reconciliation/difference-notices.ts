import { DAY_MS, toSeconds } from '../../../contract/time-units.ts';
import type { AdminNotifier } from '../../notifications/notifier-types.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Database } from '../../platform/db/database.ts';
import type { Tables } from '../../tables.ts';
import type { VendorAccountState } from './vendor-account-state-types.ts';

export interface DifferenceNoticeDependencies {
  readonly database: Database<Tables>;
  readonly notifier: AdminNotifier;
  readonly clock: Clock;
}

const MICRO = 1_000_000;

/** Tells administrators where a vendor took more or less than the videos explain: once a day for each channel, over all processes. */
export class DifferenceNotices {
  readonly #dependencies: DifferenceNoticeDependencies;
  constructor(dependencies: DifferenceNoticeDependencies) {
    this.#dependencies = dependencies;
  }

  async report({ channel, unit, judgement }: VendorAccountState): Promise<void> {
    if (judgement === undefined || judgement.unexplained === 0) return;
    const { database, notifier, clock } = this.#dependencies;
    const { id, name, vendor } = channel;
    const [billed, settled, unexplained] = [judgement.billed, judgement.settled, judgement.unexplained].map(
      (micro) => micro / MICRO,
    );
    const content = {
      en: `Billed: ${billed} ${unit}. Settled: ${settled}. Not explained by videos: ${unexplained}.`,
      'zh-CN': `供应商扣除：${billed} ${unit}；已结算：${settled}；无法由视频解释：${unexplained}。`,
    };
    await database.transaction((trx) =>
      notifier.notifyAdministrators(trx, {
        type: 'system',
        topic: 'billing.difference',
        title: {
          en: `Channel “${name}”: the vendor billed something else than was settled`,
          'zh-CN': `渠道“${name}”：供应商账单与结算不符`,
        },
        content,
        targetUrl: '/admin/reconciliation',
        relatedId: id,
        event: {
          type: 'billing.difference',
          subject: `channel:${id}`,
          data: { id, name, vendor, unit, billed, settled, unexplained, since: toSeconds(judgement.from) },
        },
        deduplicationKey: `billing.difference:${id}:${Math.floor(clock.now() / DAY_MS)}`,
      }),
    );
  }
}
