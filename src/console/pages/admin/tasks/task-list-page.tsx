import { Text } from '@mantine/core';
import { IconListDetails } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { listTasks } from '../../../../contract/admin-videos.ts';
import { TASK_STATUS } from '../../../../contract/task-states.ts';
import {
  ChannelFilter,
  ChoiceFilter,
  FilterBar,
  PeriodFilter,
  TextFilter,
  UserFilter,
} from '../../../components/list/filter-bar.tsx';
import { PagedTable } from '../../../components/list/paged-table.tsx';
import { useListFilters } from '../../../components/list/use-list-filters.ts';
import { EmptyState, Page } from '../../../components/page.tsx';
import { RelativeTime } from '../../../components/relative-time.tsx';
import { OwnerLink, RouteButton, RouteLink, UserOrChannelLink } from '../../../components/route-link.tsx';
import { QueuePlaceText, TaskStatusBadge } from '../../../components/task-status.tsx';
import { type ListItem, listQuery } from '../../../data/admin.ts';
import { useChannelNames, useUserNames } from '../../../data/names.ts';
import { TaskCost } from './task-cost.tsx';

type TaskListItem = ListItem<typeof listTasks>;
const REFRESH_MS = 10_000;

/** Videos of all accounts. */
export function TaskListPage() {
  const { t } = useTranslation(['admin', 'app']);
  const filters = useListFilters(
    ['q', 'task_id', 'status', 'unfinished', 'model', 'user_id', 'channel_id', 'from', 'to'],
    ['time'],
  );
  const tasks = useQuery({ ...listQuery(listTasks, filters.query), refetchInterval: REFRESH_MS });
  const users = useUserNames(tasks.data?.data.map(({ user_id: id }) => id));
  const channels = useChannelNames();
  return (
    <Page title={t('app:pages.allVideos')} subtitle={t('tasks.lead')} size="xl">
      <FilterBar filters={filters}>
        <TextFilter filters={filters} name="q" label={t('tasks.search')} />
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
        <UserFilter filters={filters} />
        <ChannelFilter filters={filters} />
        <PeriodFilter filters={filters} />
      </FilterBar>
      <PagedTable
        label={t('app:pages.allVideos')}
        query={tasks}
        filters={filters}
        rowKey={({ task_id: id }) => id}
        emptyState={
          <EmptyState
            icon={<IconListDetails size={28} />}
            title={t('tasks.emptyTitle')}
            action={<RouteButton to="/studio">{t('tasks.emptyAction')}</RouteButton>}
          >
            {t('tasks.emptyText')}
          </EmptyState>
        }
        columns={[
          { label: t('tasks.one'), cell: (task) => <TaskLink task={task} /> },
          { label: t('tasks.status'), cell: (task) => <TaskStatusCell task={task} /> },
          { label: t('tasks.model'), cell: ({ model }) => model },
          {
            label: t('tasks.user'),
            cell: (task) => <OwnerLink {...task} names={users} />,
          },
          {
            label: t('tasks.channel'),
            cell: ({ channel_id: id }) => <UserOrChannelLink to="channels" id={id} names={channels} />,
          },
          {
            label: t('tasks.cost'),
            align: 'right',
            cell: (task) => <TaskCost {...task} />,
          },
          {
            label: t('tasks.submitted'),
            sortKey: 'time',
            cell: (task) => <RelativeTime at={task.submit_time} size="sm" />,
          },
        ]}
      />
    </Page>
  );
}

function TaskLink({ task }: { readonly task: TaskListItem }) {
  const { t } = useTranslation('admin');
  return (
    <div style={{ maxWidth: 260 }}>
      <RouteLink to="/admin/tasks/$id" params={{ id: task.task_id }} size="sm" fw={600} truncate display="block">
        {task.prompt || t('tasks.noPrompt')}
      </RouteLink>
      <Text size="xs" c="dimmed" ff="monospace" truncate>
        {task.task_id}
      </Text>
    </div>
  );
}

function TaskStatusCell({ task }: { readonly task: TaskListItem }) {
  return (
    <>
      <TaskStatusBadge status={task.status} />
      <QueuePlaceText queue={task.queue} />
      {task.status === 'FAILURE' ? (
        <Text size="xs" c="dimmed" lineClamp={1} maw={220} title={task.fail_reason}>
          {task.fail_reason}
        </Text>
      ) : null}
    </>
  );
}
