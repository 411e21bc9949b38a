import { Alert, Code, SimpleGrid, Stack, Text } from '@mantine/core';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { getTask } from '../../../../contract/admin-tasks.ts';
import { isTerminal } from '../../../../contract/states.ts';
import { type DataOf, dataQuery } from '../../../data/admin.ts';
import { type Names, useUserNames } from '../../../data/names.ts';
import { toElapsed } from '../../../data/time.ts';
import { Copy } from '../../../parts/copy.tsx';
import { Failure } from '../../../parts/failure.tsx';
import { Moment } from '../../../parts/moment.tsx';
import { Page } from '../../../parts/page.tsx';
import { PageLoader } from '../../../parts/page-loader.tsx';
import { Facts, Panel } from '../frame/facts.tsx';
import { JsonView } from '../frame/json-view.tsx';
import { NamedLink } from '../frame/named-link.tsx';
import { ToButton, ToLink } from '../frame/to-link.tsx';
import { useId } from '../frame/use-id.ts';
import { Attempts } from './attempts.tsx';
import { Cost } from './cost.tsx';
import { MoneyTrail } from './money-trail.tsx';
import { TaskState } from './task-state.tsx';

export type Task = DataOf<typeof getTask>;
const REFRESH_MS = 3_000;

/** One video: where it has been, what it cost, what the vendor said. */
export function TaskPage() {
  const { t } = useTranslation('admin');
  const id = useId();
  const task = useQuery({
    ...dataQuery(getTask, { params: { id } }),
    refetchInterval: ({ state: { data } }) => (data !== undefined && isTerminal(data.status) ? false : REFRESH_MS),
  });
  if (task.data !== undefined) return <Known task={task.data} />;
  if (task.error === null) return <PageLoader />;
  return (
    <Page title={t('tasks.one')} lead={<ToLink to="/admin/tasks">{t('tasks.all')}</ToLink>}>
      <Failure error={task.error} retry={() => void task.refetch()} />
    </Page>
  );
}

function Known({ task }: { readonly task: Task }) {
  const { t } = useTranslation('admin');
  const users = useUserNames([task.user_id]);
  return (
    <Page
      title={t('tasks.one')}
      lead={<ToLink to="/admin/tasks">{t('tasks.all')}</ToLink>}
      size="xl"
      actions={<TaskState status={task.status} />}
    >
      <Stack>
        <div style={{ display: 'flex', alignItems: 'center', gap: 4, minWidth: 0 }}>
          <Code fz="sm" style={{ overflowWrap: 'anywhere' }}>
            {task.task_id}
          </Code>
          <Copy text={task.task_id} />
        </div>
        {task.status === 'FAILURE' ? (
          <Alert color="red" title={t('tasks.failedBecause')}>
            <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
              {task.fail_reason}
            </Text>
            {task.error_code === '' ? null : <Code>{task.error_code}</Code>}
          </Alert>
        ) : null}
        <Panel title={t('tasks.facts')}>
          <Facts facts={toFacts(task, users, t)} />
          {task.prompt === '' ? null : (
            <Text size="sm" mt="md" style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }} lineClamp={8}>
              {task.prompt}
            </Text>
          )}
        </Panel>
        <SimpleGrid cols={{ base: 1, lg: 2 }} style={{ alignItems: 'start' }}>
          <Panel title={t('tasks.timeline')}>
            <Attempts task={task} />
          </Panel>
          <Panel
            title={t('tasks.money')}
            actions={
              <ToButton to="/admin/ledger" search={{ task_id: task.internal_id }} size="compact-sm" variant="default">
                {t('tasks.seeLedger')}
              </ToButton>
            }
          >
            <MoneyTrail money={task.money} />
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

function toFacts(task: Task, users: Names, t: ReturnType<typeof useTranslation<'admin'>>['t']) {
  const took = task.finish_time > 0 ? toElapsed(task.finish_time - task.submit_time) : '–';
  return [
    [t('tasks.user'), <NamedLink key="user" to="users" id={task.user_id} names={users} />],
    [t('tasks.model'), task.model === task.upstream_model ? task.model : `${task.model} → ${task.upstream_model}`],
    [
      t('tasks.channel'),
      task.channel_id === null ? (
        '–'
      ) : (
        <ToLink key="channel" to={`/admin/channels/${task.channel_id}`} size="sm">
          {task.channel || `#${task.channel_id}`}
        </ToLink>
      ),
    ],
    [t('tasks.cost'), <Cost key="cost" status={task.status} quota={task.quota} />],
    [t('tasks.submitted'), <Moment key="submitted" at={task.submit_time} />],
    [t('tasks.took'), took],
    [t('tasks.attempt'), String(task.attempt)],
    [t('tasks.nextLook'), task.next_poll_time === null ? '–' : <Moment key="next" at={task.next_poll_time} />],
  ] as const;
}
