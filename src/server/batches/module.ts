import { BATCH_KEPT_DAYS } from '../../contract/batches.ts';
import { DAY_MS, HOUR_MS } from '../../contract/time-units.ts';
import type { Notifier } from '../notifications/notifier.ts';
import type { AffordableCallCounts } from '../plans/affordable-calls.ts';
import type { ScheduledJob } from '../platform/scheduled-jobs.ts';
import type { Trx } from '../tables.ts';
import { BatchRunner } from './batch-runner.ts';
import { BatchService, toBatch } from './batch-service.ts';
import { BatchSheets } from './batch-sheet.ts';
import { type BatchRow, BatchStore } from './batch-store.ts';
import { LineSender, type LineSenderDependencies } from './line-sender.ts';

type RunnerDependencies = ConstructorParameters<typeof BatchRunner>[0];
type BatchDependencies = Omit<LineSenderDependencies, 'store' | 'video'> &
  Omit<RunnerDependencies, 'store' | 'sender' | 'onEnded'> &
  Pick<ConstructorParameters<typeof BatchService>[0], 'files'> & {
    readonly video: LineSenderDependencies['video'] & RunnerDependencies['video'];
    readonly notifier: Notifier;
    readonly outlook: Pick<AffordableCallCounts, 'of'>;
  };

/** The batches capability. */
export interface Batches {
  readonly service: BatchService;
  readonly sheets: BatchSheets;
  readonly store: BatchStore;
  readonly runner: BatchRunner;
  readonly jobs: readonly ScheduledJob[];
}

/** Assembles the batches capability. */
export function makeBatches(dependencies: BatchDependencies): Batches {
  const store = new BatchStore(dependencies.database);
  const shared = { ...dependencies, store };
  const { notifier, clock } = dependencies;
  const onEnded = async (trx: Trx, batch: BatchRow): Promise<void> => {
    const { event, ...notice } = toEndNotice(batch);
    await notifier.notify(trx, { ...notice, event });
    // An organization's notices reach its owners and admins. The member who started the batch waits for its end, too.
    if (batch.actor_id !== null) await notifier.notify(trx, { ...notice, userId: batch.actor_id });
  };
  const runner = new BatchRunner({ ...shared, sender: new LineSender(shared), onEnded });
  const service = new BatchService({ ...shared, onWork: () => runner.wake() });
  return {
    service,
    sheets: new BatchSheets({ ...shared, service }),
    store,
    runner,
    jobs: [
      {
        name: 'ended batches',
        intervalMs: HOUR_MS,
        run: () => store.deleteEnded(clock.now() - BATCH_KEPT_DAYS * DAY_MS),
      },
    ],
  };
}

const ENDS_EN = { completed: 'completed', failed: 'failed', expired: 'expired', cancelled: 'was cancelled' } as const;
const ENDS_ZH_CN = { completed: '已完成', failed: '失败', expired: '已过期', cancelled: '已取消' } as const;

/** The notification and the event of a batch that has ended. */
function toEndNotice(batch: BatchRow) {
  const status = batch.status as keyof typeof ENDS_EN;
  const { total, completed, failed } = batch;
  return {
    userId: batch.user_id,
    topic: 'batch.ended',
    type: 'system',
    title: { en: `Batch ${ENDS_EN[status]}`, 'zh-CN': `批量任务${ENDS_ZH_CN[status]}` },
    content: {
      en:
        status === 'failed'
          ? 'The input file has errors. Nothing was sent and nothing was charged.'
          : `${completed} of ${total} lines completed, ${failed} failed.`,
      'zh-CN':
        status === 'failed'
          ? '输入文件有错误，未发送任何请求，也未扣费。'
          : `共 ${total} 行，完成 ${completed} 行，失败 ${failed} 行。`,
    },
    targetUrl: `/batches/${batch.id}`,
    deduplicationKey: `batch.ended:${batch.id}`,
    event: { type: `batch.${status}`, subject: `batch:${batch.id}`, data: toBatch(batch) },
  } as const;
}
