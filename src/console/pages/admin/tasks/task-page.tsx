import { Alert, Code, Group, SimpleGrid, Stack, Table, Text, Timeline } from '@mantine/core';
import {
  IconAlertTriangle,
  IconCheck,
  IconCircle,
  IconClock,
  IconListDetails,
  IconSend,
  IconX,
} from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { getTask, listTasks } from '../../../../contract/admin-videos.ts';
import { isTerminal, TASK_STATUS, type TaskStatus } from '../../../../contract/task-states.ts';
import { CopyIconButton, JsonView } from '../../../components/copy-button.tsx';
import { useFormatCredits, useSettlementName, WalletAndPlanAmount } from '../../../components/credit-amount.tsx';
import { PagedTable } from '../../../components/data-table.tsx';
import { QueryError } from '../../../components/error-alert.tsx';
import {
  ChannelFilter,
  ChoiceFilter,
  FilterBar,
  ModelFilter,
  PeriodFilter,
  TextFilter,
  UserFilter,
} from '../../../components/list/filter-bar.tsx';
import { useListFilters } from '../../../components/list/use-list-filters.ts';
import { ModelName, ServedModel } from '../../../components/model-name.tsx';
import { EmptyState, Page, PageLoadingIndicator } from '../../../components/page.tsx';
import { DescriptionList, Panel } from '../../../components/panel.tsx';
import { RelativeTime } from '../../../components/relative-time.tsx';
import { OwnerLink, RouteButton, RouteLink, UserOrChannelLink, useRouteId } from '../../../components/route-link.tsx';
import { QueuePlaceText, TaskStatusBadge } from '../../../components/task-status.tsx';
import {
  dataQuery,
  type ListItem,
  listQuery,
  type NameLookup,
  type Task,
  useChannelNames,
  useChannels,
  useUserNames,
} from '../../../data/admin.ts';
import { formatColon, formatDateTime, formatDuration } from '../../../data/format-values.ts';
import { type Credential, credentialLabel } from '../channels/channel-form-values.ts';
import { ERROR_REASONS, type ErrorReason } from '../channels/channel-status.tsx';

const TASK_REFRESH_MS = 3_000;

/** One video: its channels, states and cost, and the vendor's response. */
export function TaskPage() {
  const { t } = useTranslation('admin');
  const id = useRouteId();
  const task = useQuery({
    ...dataQuery(getTask, { params: { id } }),
    refetchInterval: ({ state: { data } }) => (data !== undefined && isTerminal(data.status) ? false : TASK_REFRESH_MS),
  });
  if (task.data !== undefined) return <TaskDetails task={task.data} />;
  if (task.error === null) return <PageLoadingIndicator />;
  return (
    <Page title={t('tasks.one')} subtitle={<RouteLink to="/admin/tasks">{t('tasks.all')}</RouteLink>}>
      <QueryError query={task} />
    </Page>
  );
}

function TaskDetails({ task }: { readonly task: Task }) {
  const { t } = useTranslation('admin');
  const failure = useTranslation('videos');
  const users = useUserNames([task.user_id]);
  return (
    <Page
      title={task.prompt === '' ? t('tasks.one') : task.prompt.slice(0, MAX_TITLE_LENGTH)}
      subtitle={<RouteLink to="/admin/tasks">{t('tasks.all')}</RouteLink>}
      actions={<TaskState task={task} />}
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
              {failure.t(`failures.${task.fail_cause === '' ? 'unknown' : task.fail_cause}.text`)}
            </Text>
            <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
              {task.fail_reason}
            </Text>
            {task.error_code === '' ? null : <Code>{task.error_code}</Code>}
          </Alert>
        ) : null}
        <Panel title={t('tasks.facts')}>
          <DescriptionList facts={describeTask(task, users, t)} />
          {task.prompt.length <= MAX_TITLE_LENGTH ? null : (
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

function TaskState({ task }: { readonly task: Task }) {
  return (
    <>
      <QueuePlaceText queue={task.queue} />
      <TaskStatusBadge status={task.status} />
    </>
  );
}

/** The whole of a longer prompt is among the details. */
const MAX_TITLE_LENGTH = 100;

function describeTask(task: Task, users: NameLookup, t: ReturnType<typeof useTranslation<'admin'>>['t']) {
  const took = task.finish_time > 0 ? formatDuration(task.finish_time - task.submit_time) : '–';
  return [
    [t('tasks.user'), <OwnerLink key="user" {...task} names={users} />],
    [t('tasks.model'), <ServedModel key="model" id={task.model} served={task.upstream_model} />],
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

const EVENT_STYLE = {
  created: { icon: IconCircle, color: 'gray' },
  attempt_failed: { icon: IconAlertTriangle, color: 'yellow' },
  submitted: { icon: IconSend, color: 'blue' },
  started: { icon: IconClock, color: 'blue' },
  succeeded: { icon: IconCheck, color: 'teal' },
  failed: { icon: IconX, color: 'red' },
} as const;
type TimelineEvent = keyof typeof EVENT_STYLE;
const isTimelineEvent = (name: string): name is TimelineEvent => name in EVENT_STYLE;

/** History of a task: every attempt with its channel and credential. */
function TaskTimeline({ task }: { readonly task: Task }) {
  const { t } = useTranslation(['admin', 'admin-channels']);
  const { timeline } = task;
  const channels = useChannels();
  const known = (reason: string): reason is ErrorReason => ERROR_REASONS.some((each) => each === reason);
  return (
    <Timeline
      bulletSize={26}
      lineWidth={2}
      active={isTerminal(task.status) ? timeline.length : timeline.length - 1}
      color="gray"
    >
      {timeline.map((entry, index) => {
        const { icon: Icon, color } = isTimelineEvent(entry.event) ? EVENT_STYLE[entry.event] : EVENT_STYLE.created;
        return (
          <Timeline.Item
            // biome-ignore lint/suspicious/noArrayIndexKey: a timeline only grows at its end
            key={index}
            bullet={<Icon size={14} />}
            color={`${color}.8`}
            title={isTimelineEvent(entry.event) ? t(`tasks.events.${entry.event}`) : entry.event}
          >
            <Text size="xs" c="dimmed">
              {formatDateTime(entry.time)}
              {entry.attempt > 1 ? ` · ${t('tasks.attemptOf', { count: entry.attempt })}` : ''}
              {entry.channel_id === null ? null : (
                <>
                  {' · '}
                  <RouteLink
                    to="/admin/channels/$id"
                    params={{ id: String(entry.channel_id) }}
                    size="xs"
                    underline="always"
                  >
                    {channels.find(({ id }) => id === entry.channel_id)?.name ??
                      t('tasks.channelOf', { id: entry.channel_id })}
                  </RouteLink>
                  <CredentialName
                    list={channels.find(({ id }) => id === entry.channel_id)?.credential_list}
                    id={entry.credential_id}
                  />
                </>
              )}
            </Text>
            {entry.reason === '' ? null : (
              <Text size="sm">{known(entry.reason) ? t(`admin-channels:reasons.${entry.reason}`) : entry.reason}</Text>
            )}
            {entry.message === '' && entry.code === '' ? null : (
              <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
                {[entry.code, entry.message].filter((each) => each !== '').join(formatColon())}
              </Text>
            )}
          </Timeline.Item>
        );
      })}
    </Timeline>
  );
}

interface CredentialNameProps {
  /** Credentials of the channel; undefined while loading and for deleted channels. */
  readonly list: readonly Credential[] | undefined;
  readonly id: number | null;
}

/** Names the credential of an attempt; of a channel with a single one it goes without saying. */
function CredentialName({ list, id }: CredentialNameProps) {
  const { t } = useTranslation('admin');
  if (id === null || list === undefined) return null;
  const credential = list.find((each) => each.id === id);
  if (credential !== undefined && list.length === 1) return null;
  const name = credential === undefined ? `#${id}` : credentialLabel(credential);
  return (
    <>
      {' · '}
      <span title={credential?.hint}>{t('tasks.credentialOf', { name })}</span>
    </>
  );
}

/** Ledger entries of a task, followed by the amounts charged and returned. */
function TaskLedgerEntries({ money: entries }: { readonly money: Task['money'] }) {
  const { t } = useTranslation('admin');
  const quota = useFormatCredits();
  const settlement = useSettlementName();
  if (entries.length === 0)
    return (
      <Text size="sm" c="dimmed">
        {t('tasks.noMoney')}
      </Text>
    );
  const sumOf = (some: Task['money']): number =>
    some.reduce((sum, { amount, plan_amount: planAmount }) => sum + amount + planAmount, 0);
  const charged = -sumOf(entries);
  const returned = -sumOf(entries.filter(({ kind }) => kind === 'reserve')) - charged;
  return (
    <>
      <Table verticalSpacing="xs" horizontalSpacing={4} aria-label={t('tasks.money')}>
        <Table.Tbody>
          {entries.map(({ time, kind, amount, plan_amount: planAmount }, index) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: a ledger only grows at its end
            <Table.Tr key={index}>
              <Table.Td>
                <Text size="sm">
                  {kind === 'settle'
                    ? settlement(amount + planAmount)
                    : t(`ledger.kinds.${kind}` as 'ledger.kinds.reserve')}
                </Text>
                <Text size="xs" c="dimmed">
                  {formatDateTime(time)}
                </Text>
              </Table.Td>
              <Table.Td ta="right">
                {amount === 0 && planAmount === 0 ? null : (
                  <WalletAndPlanAmount amount={amount} plan_amount={planAmount} />
                )}
              </Table.Td>
            </Table.Tr>
          ))}
        </Table.Tbody>
      </Table>
      <Text size="sm" fw={600} mt="sm">
        {charged === 0 ? t('tasks.nothingPaid') : t('tasks.paid', { amount: quota(charged) })}
        {returned > 0 ? ` · ${t('tasks.returned', { amount: quota(returned) })}` : ''}
      </Text>
    </>
  );
}

type TaskListItem = ListItem<typeof listTasks>;
const LIST_REFRESH_MS = 10_000;

/** Videos of all accounts. */
export function TaskListPage() {
  const { t } = useTranslation(['admin', 'app']);
  const filters = useListFilters(
    ['q', 'task_id', 'status', 'unfinished', 'model', 'user_id', 'channel_id', 'from', 'to'],
    ['time'],
  );
  const tasks = useQuery({ ...listQuery(listTasks, filters.query), refetchInterval: LIST_REFRESH_MS });
  const users = useUserNames(tasks.data?.data.map(({ user_id: id }) => id));
  const channels = useChannelNames();
  return (
    <Page title={t('app:pages.allVideos')} subtitle={t('tasks.lead')}>
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
        <ModelFilter filters={filters} />
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
          { label: t('tasks.model'), cell: ({ model }) => <ModelName id={model} /> },
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
      <RouteLink
        to="/admin/tasks/$id"
        params={{ id: task.task_id }}
        size="sm"
        fw={600}
        truncate
        display="block"
        title={task.prompt}
      >
        {task.prompt || t('tasks.noPrompt')}
      </RouteLink>
      <Text size="xs" c="dimmed" ff="monospace" truncate title={task.task_id}>
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

interface TaskCostProps {
  readonly status: TaskStatus;
  readonly quota: number;
  readonly imported: boolean;
}

/** Price of a video; for a failed video the amount refunded, for an imported one the amount paid elsewhere. */
function TaskCost({ status, quota, imported }: TaskCostProps) {
  const { t } = useTranslation('admin');
  const format = useFormatCredits();
  const amount = format(quota);
  return (
    <span style={{ fontVariantNumeric: 'tabular-nums' }}>
      {imported
        ? t('tasks.importedCost', { amount })
        : status === 'FAILURE' && quota > 0
          ? t('tasks.returned', { amount })
          : amount}
    </span>
  );
}
