import { Badge } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { TaskStatus } from '../../../../contract/task-states.ts';
import { TASK_STATUS_COLOR } from '../../../components/task-status-color.ts';

export function TaskStatusBadge({ status }: { readonly status: TaskStatus }) {
  const { t } = useTranslation('admin');
  return <Badge color={TASK_STATUS_COLOR[status]}>{t(`tasks.states.${status}`)}</Badge>;
}
