import { useTranslation } from 'react-i18next';
import type { TaskStatus } from '../../../../contract/task-states.ts';
import { useFormatCredits } from '../../../components/credit-amount.tsx';

interface TaskCostProps {
  readonly status: TaskStatus;
  readonly quota: number;
  readonly imported: boolean;
}

/** Price of a video; for a failed video the amount refunded, for an imported one the amount paid elsewhere. */
export function TaskCost({ status, quota, imported }: TaskCostProps) {
  const { t } = useTranslation('admin');
  const format = useFormatCredits();
  const amount = format(quota);
  return (
    <span style={{ fontVariantNumeric: 'tabular-nums' }}>
      {imported
        ? t('tasks.importedCost', { amount })
        : status === 'FAILURE' && quota > 0
          ? t('tasks.returned', { amount })
          : amount}
    </span>
  );
}
