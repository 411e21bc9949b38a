import { Badge } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import type { TaskStatus } from '../../../../contract/states.ts';

const COLOR: Readonly<Record<TaskStatus, string>> = {
  NOT_START: 'gray',
  SUBMITTED: 'gray',
  QUEUED: 'gray',
  IN_PROGRESS: 'blue',
  SUCCESS: 'teal',
  FAILURE: 'red',
  UNKNOWN: 'yellow',
};

export function TaskState({ status }: { readonly status: TaskStatus }) {
  const { t } = useTranslation('admin');
  return <Badge color={COLOR[status]}>{t(`tasks.states.${status}`)}</Badge>;
}
