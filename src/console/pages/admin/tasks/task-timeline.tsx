import { Text, Timeline } from '@mantine/core';
import { IconAlertTriangle, IconCheck, IconCircle, IconClock, IconSend, IconX } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { isTerminal } from '../../../../contract/task-states.ts';
import { RouteLink } from '../../../components/route-link.tsx';
import type { Task } from '../../../data/admin-types.ts';
import { formatDateTime } from '../../../data/format-times-and-durations.ts';
import { ERROR_REASONS, type ErrorReason } from '../channels/upstream-error-reason-codes.ts';

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

/** The history of a task: every attempt with its channel and credential. */
export function TaskTimeline({ task }: { readonly task: Task }) {
  const { t } = useTranslation(['admin', 'admin-channels']);
  const { timeline } = task;
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
                    {t('tasks.channelOf', { id: entry.channel_id })}
                  </RouteLink>
                  {entry.credential_id === null ? '' : ` · ${t('tasks.credentialOf', { id: entry.credential_id })}`}
                </>
              )}
            </Text>
            {entry.reason === '' ? null : (
              <Text size="sm">{known(entry.reason) ? t(`admin-channels:reasons.${entry.reason}`) : entry.reason}</Text>
            )}
            {entry.message === '' && entry.code === '' ? null : (
              <Text size="xs" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
                {[entry.code, entry.message].filter((each) => each !== '').join(': ')}
              </Text>
            )}
          </Timeline.Item>
        );
      })}
    </Timeline>
  );
}
