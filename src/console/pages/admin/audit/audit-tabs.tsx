import { useNavigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { SegmentedControl } from '../../../components/segmented-control.tsx';

type RecordsPath = '/admin/audit' | '/admin/logins';

/**
 * Switches between the log of changes and the sign-in history, which is separate because it is large and contains IP
 * addresses.
 */
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
