import { Text } from '@mantine/core';
import { IconListDetails } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { listTasks } from '../../../../contract/admin-tasks.ts';
import { TASK_STATUS } from '../../../../contract/states.ts';
import { listQuery, type RowOf } from '../../../data/admin.ts';
import { useChannelNames, useUserNames } from '../../../data/names.ts';
import { Empty } from '../../../parts/empty.tsx';
import { Moment } from '../../../parts/moment.tsx';
import { Page } from '../../../parts/page.tsx';
import { DayFilter } from '../frame/day-filter.tsx';
import { ChoiceFilter, FilterBar, ID, TextFilter } from '../frame/filter-bar.tsx';
import { useFilters } from '../frame/filters.ts';
import { NamedLink } from '../frame/named-link.tsx';
import { RecordList } from '../frame/record-list.tsx';
import { ToButton, ToLink } from '../frame/to-link.tsx';
import { Cost } from './cost.tsx';
import { TaskState } from './task-state.tsx';

type TaskRow = RowOf<typeof listTasks>;
const REFRESH_MS = 10_000;

/** Everybody's videos. */
export function TasksPage() {
  const { t } = useTranslation(['admin', 'shell']);
  const filters = useFilters(['task_id', 'status', 'unfinished', 'model', 'user_id', 'channel_id', 'from', 'to']);
  const tasks = useQuery({ ...listQuery(listTasks, filters.query), refetchInterval: REFRESH_MS });
  const users = useUserNames(tasks.data?.data.map(({ user_id: id }) => id));
  const channels = useChannelNames();
  return (
    <Page title={t('shell:pages.tasks')} lead={t('tasks.lead')} size="xl">
      <FilterBar filters={filters}>
        <TextFilter filters={filters} name="task_id" label={t('tasks.id')} />
        <ChoiceFilter
          filters={filters}
          name="status"
          label={t('tasks.status')}
          choices={Object.values(TASK_STATUS).map((value) => ({ value, label: t(`tasks.states.${value}`) }))}
        />
        <ChoiceFilter
          filters={filters}
          name="unfinished"
          label={t('tasks.finishedOrNot')}
          choices={[{ value: 'true', label: t('tasks.unfinished') }]}
        />
        <TextFilter filters={filters} name="model" label={t('tasks.model')} width={170} />
        <TextFilter filters={filters} name="user_id" label={t('tasks.userId')} width={160} pattern={ID} />
        <TextFilter filters={filters} name="channel_id" label={t('tasks.channelId')} width={180} pattern={ID} />
        <DayFilter filters={filters} name="from" label={t('tasks.from')} />
        <DayFilter filters={filters} name="to" label={t('tasks.to')} end />
      </FilterBar>
      <RecordList
        label={t('shell:pages.tasks')}
        query={tasks}
        filters={filters}
        keyOf={({ task_id: id }) => id}
        empty={
          <Empty
            icon={<IconListDetails size={28} />}
            title={t('tasks.emptyTitle')}
            action={<ToButton to="/studio">{t('tasks.emptyAction')}</ToButton>}
          >
            {t('tasks.emptyText')}
          </Empty>
        }
        columns={[
          { label: t('tasks.one'), cell: (task) => <Name task={task} /> },
          { label: t('tasks.status'), cell: (task) => <State task={task} /> },
          { label: t('tasks.model'), cell: ({ model }) => model },
          {
            label: t('tasks.user'),
            cell: ({ user_id: id }) => <NamedLink to="users" id={id} names={users} />,
          },
          {
            label: t('tasks.channel'),
            cell: ({ channel_id: id }) => <NamedLink to="channels" id={id} names={channels} />,
          },
          {
            label: t('tasks.cost'),
            align: 'right',
            cell: ({ status, quota }) => <Cost status={status} quota={quota} />,
          },
          { label: t('tasks.submitted'), cell: (task) => <Moment at={task.submit_time} size="sm" /> },
        ]}
      />
    </Page>
  );
}

function Name({ task }: { readonly task: TaskRow }) {
  const { t } = useTranslation('admin');
  return (
    <div style={{ maxWidth: 260 }}>
      <ToLink to={`/admin/tasks/${encodeURIComponent(task.task_id)}`} size="sm" ff="monospace" truncate display="block">
        {task.task_id}
      </ToLink>
      <Text size="xs" c="dimmed" truncate>
        {task.prompt || t('tasks.noPrompt')}
      </Text>
    </div>
  );
}

function State({ task }: { readonly task: TaskRow }) {
  return (
    <>
      <TaskState status={task.status} />
      {task.status === 'FAILURE' ? (
        <Text size="xs" c="dimmed" lineClamp={1} maw={220} title={task.fail_reason}>
          {task.fail_reason}
        </Text>
      ) : null}
    </>
  );
}
