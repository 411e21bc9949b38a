import { useTranslation } from 'react-i18next';
import type { TaskStatus } from '../../../../contract/states.ts';
import { useFormatCredits } from '../../../components/credit-amount.tsx';

/** What a video costs; of a failed one what was returned. */
export function TaskCost({ status, quota }: { readonly status: TaskStatus; readonly quota: number }) {
  const { t } = useTranslation('admin');
  const format = useFormatCredits();
  const amount = format(quota);
  return (
    <span style={{ fontVariantNumeric: 'tabular-nums' }}>
      {status === 'FAILURE' && quota > 0 ? t('tasks.returned', { amount }) : amount}
    </span>
  );
}
