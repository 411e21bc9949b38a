import { Badge } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { ApplicationStatus } from '../../../../contract/beta-applications.ts';

const STATUS_COLOR: Readonly<Record<ApplicationStatus, string>> = {
  pending: 'yellow',
  approved: 'teal',
  rejected: 'red',
};

export function StatusBadge({ status }: { readonly status: ApplicationStatus }) {
  const { t } = useTranslation('admin-beta-applications');
  return <Badge color={STATUS_COLOR[status]}>{t(`states.${status}`)}</Badge>;
}
