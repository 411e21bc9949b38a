import { useNavigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { SegmentedControl } from '../../../components/segmented-control.tsx';

type RecordsPath = '/admin/audit' | '/admin/logins';

/** Between the two records of who did what: changes, and sign-ins, which are many and hold addresses. */
export function AuditAndLoginsTabs({ current }: { readonly current: RecordsPath }) {
  const { t } = useTranslation('login-history');
  const navigate = useNavigate();
  return (
    <SegmentedControl
      aria-label={t('views')}
      value={current}
      onChange={(to) => void navigate({ to: to as RecordsPath })}
      data={[
        { value: '/admin/audit', label: t('changes') },
        { value: '/admin/logins', label: t('tab') },
      ]}
    />
  );
}
