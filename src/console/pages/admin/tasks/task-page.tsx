import { Alert, Code, Group, SimpleGrid, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { getTask } from '../../../../contract/admin-videos.ts';
import { isTerminal } from '../../../../contract/task-states.ts';
import { CopyIconButton } from '../../../components/copy-button-and-field.tsx';
import { DescriptionList } from '../../../components/description-list.tsx';
import { ErrorAlert } from '../../../components/error-alert.tsx';
import { JsonView } from '../../../components/json-view.tsx';
import { Page } from '../../../components/page.tsx';
import { PageLoadingIndicator } from '../../../components/page-loading-indicator.tsx';
import { Panel } from '../../../components/panel.tsx';
import { RelativeTime } from '../../../components/relative-time.tsx';
import { RouteButton, RouteLink } from '../../../components/route-link.tsx';
import { useRouteId } from '../../../components/use-route-id.ts';
import { UserOrChannelLink } from '../../../components/user-or-channel-link.tsx';
import type { Task } from '../../../data/admin-types.ts';
import { formatElapsed } from '../../../data/format-times-and-durations.ts';
import { dataQuery } from '../../../data/query-any-admin-endpoint.ts';
import { type NameLookup, useUserNames } from '../../../data/user-and-channel-names.ts';
import { TaskCost } from './task-cost-text.tsx';
import { TaskLedgerEntries } from './task-ledger-entries.tsx';
import { TaskStatusBadge } from './task-status-badge.tsx';
import { TaskTimeline } from './task-timeline.tsx';

const REFRESH_MS = 3_000;

/** One video: its channels and states, its cost, and the vendor's response. */
export function TaskPage() {
  const { t } = useTranslation('admin');
  const id = useRouteId();
  const task = useQuery({
    ...dataQuery(getTask, { params: { id } }),
    refetchInterval: ({ state: { data } }) => (data !== undefined && isTerminal(data.status) ? false : REFRESH_MS),
  });
  if (task.data !== undefined) return <TaskDetails task={task.data} />;
  if (task.error === null) return <PageLoadingIndicator />;
  return (
    <Page title={t('tasks.one')} subtitle={<RouteLink to="/admin/tasks">{t('tasks.all')}</RouteLink>}>
      <ErrorAlert error={task.error} retry={() => void task.refetch()} />
    </Page>
  );
}

function TaskDetails({ task }: { readonly task: Task }) {
  const { t } = useTranslation('admin');
  const failure = useTranslation('video-failures');
  const users = useUserNames([task.user_id]);
  return (
    <Page
      title={t('tasks.one')}
      tabTitle={`${task.task_id} · ${t('tasks.one')}`}
      subtitle={<RouteLink to="/admin/tasks">{t('tasks.all')}</RouteLink>}
      size="xl"
      actions={<TaskStatusBadge status={task.status} />}
    >
      <Stack>
        <div style={{ display: 'flex', alignItems: 'center', gap: 4, minWidth: 0 }}>
          <Code fz="sm" style={{ overflowWrap: 'anywhere' }}>
            {task.task_id}
          </Code>
          <CopyIconButton text={task.task_id} />
        </div>
        {task.status === 'FAILURE' ? (
          <Alert color="red" title={t('tasks.failedBecause')}>
            <Text size="sm" fw={600}>
              {failure.t(`${task.fail_cause === '' ? 'unknown' : task.fail_cause}.text`)}
            </Text>
            <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
              {task.fail_reason}
            </Text>
            {task.error_code === '' ? null : <Code>{task.error_code}</Code>}
          </Alert>
        ) : null}
        <Panel title={t('tasks.facts')}>
          <DescriptionList facts={describeTask(task, users, t)} />
          {task.prompt === '' ? null : (
            <Text size="sm" mt="md" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }} lineClamp={8}>
              {task.prompt}
            </Text>
          )}
        </Panel>
        <SimpleGrid cols={{ base: 1, lg: 2 }} style={{ alignItems: 'start' }}>
          <Panel title={t('tasks.timeline')}>
            <TaskTimeline task={task} />
          </Panel>
          <Panel
            title={t('tasks.money')}
            actions={
              <Group gap="xs">
                <RouteButton
                  to="/account/receipts/$id"
                  params={{ id: task.task_id }}
                  size="compact-sm"
                  variant="default"
                >
                  {t('tasks.receipt')}
                </RouteButton>
                <RouteButton
                  to="/admin/ledger"
                  search={{ task_id: task.internal_id }}
                  size="compact-sm"
                  variant="default"
                >
                  {t('tasks.seeLedger')}
                </RouteButton>
              </Group>
            }
          >
            <TaskLedgerEntries money={task.money} />
          </Panel>
        </SimpleGrid>
        <SimpleGrid cols={{ base: 1, lg: 2 }} style={{ alignItems: 'start' }}>
          <Panel title={t('tasks.request')}>
            <JsonView value={task.request} />
          </Panel>
          <Panel title={t('tasks.vendorSaid')}>
            <JsonView value={{ handle: task.vendor_handle, answer: task.data }} />
          </Panel>
        </SimpleGrid>
      </Stack>
    </Page>
  );
}

function describeTask(task: Task, users: NameLookup, t: ReturnType<typeof useTranslation<'admin'>>['t']) {
  const took = task.finish_time > 0 ? formatElapsed(task.finish_time - task.submit_time) : '–';
  return [
    [t('tasks.user'), <UserOrChannelLink key="user" to="users" id={task.user_id} names={users} />],
    [t('tasks.model'), task.model === task.upstream_model ? task.model : `${task.model} → ${task.upstream_model}`],
    [
      t('tasks.channel'),
      task.channel_id === null ? (
        '–'
      ) : (
        <RouteLink key="channel" to="/admin/channels/$id" params={{ id: String(task.channel_id) }} size="sm">
          {task.channel || `#${task.channel_id}`}
        </RouteLink>
      ),
    ],
    [t('tasks.cost'), <TaskCost key="cost" {...task} />],
    [t('tasks.submitted'), <RelativeTime key="submitted" at={task.submit_time} />],
    [t('tasks.took'), took],
    [t('tasks.attempt'), String(task.attempt)],
    [t('tasks.nextPoll'), task.next_poll_time === null ? '–' : <RelativeTime key="next" at={task.next_poll_time} />],
  ] as const;
}
