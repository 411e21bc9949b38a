import { Badge } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { ApplicationStatus } from '../../../../contract/beta-applications.ts';

const COLOR: Readonly<Record<ApplicationStatus, string>> = { pending: 'yellow', approved: 'teal', rejected: 'red' };

export function Decision({ status }: { readonly status: ApplicationStatus }) {
  const { t } = useTranslation('desk');
  return <Badge color={COLOR[status]}>{t(`beta.states.${status}`)}</Badge>;
}
