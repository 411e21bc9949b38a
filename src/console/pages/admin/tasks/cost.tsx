import { useTranslation } from 'react-i18next';
import type { TaskStatus } from '../../../../contract/states.ts';
import { useQuota } from '../../../parts/quota.tsx';

/** What a video costs; of a failed one what was returned. */
export function Cost({ status, quota }: { readonly status: TaskStatus; readonly quota: number }) {
  const { t } = useTranslation('admin');
  const format = useQuota();
  const amount = format(quota);
  return (
    <span style={{ fontVariantNumeric: 'tabular-nums' }}>
      {status === 'FAILURE' && quota > 0 ? t('tasks.returned', { amount }) : amount}
    </span>
  );
}
