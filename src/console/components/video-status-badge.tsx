import { Badge } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { TaskStatus } from '../../contract/task-states.ts';
import { TASK_STATUS_COLOR } from './task-status-color.ts';

export function VideoStatusBadge({ status }: { readonly status: TaskStatus }) {
  const { t } = useTranslation('studio');
  return (
    <Badge color={TASK_STATUS_COLOR[status]} style={{ flexShrink: 0 }}>
      {t(`stage.${status}`)}
    </Badge>
  );
}
