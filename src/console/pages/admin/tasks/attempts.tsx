import { Text, Timeline } from '@mantine/core';
import { IconAlertTriangle, IconCheck, IconCircle, IconClock, IconSend, IconX } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { isTerminal } from '../../../../contract/states.ts';
import { toMoment } from '../../../data/time.ts';
import { REASONS, type Reason } from '../channels/reasons.ts';
import { ToLink } from '../frame/to-link.tsx';
import type { Task } from './task-page.tsx';

const LOOK = {
  created: { icon: IconCircle, color: 'gray' },
  attempt_failed: { icon: IconAlertTriangle, color: 'yellow' },
  submitted: { icon: IconSend, color: 'blue' },
  started: { icon: IconClock, color: 'blue' },
  succeeded: { icon: IconCheck, color: 'teal' },
  failed: { icon: IconX, color: 'red' },
} as const;
type Event = keyof typeof LOOK;
const isEvent = (name: string): name is Event => name in LOOK;

/** Where a task has been, every attempt with the channel that was asked. */
export function Attempts({ task }: { readonly task: Task }) {
  const { t } = useTranslation(['admin', 'upstreams']);
  const { timeline } = task;
  const known = (reason: string): reason is Reason => REASONS.some((each) => each === reason);
  return (
    <Timeline
      bulletSize={26}
      lineWidth={2}
      active={isTerminal(task.status) ? timeline.length : timeline.length - 1}
      color="gray"
    >
      {timeline.map((entry, index) => {
        const { icon: Icon, color } = isEvent(entry.event) ? LOOK[entry.event] : LOOK.created;
        return (
          <Timeline.Item
            // biome-ignore lint/suspicious/noArrayIndexKey: a timeline only grows at its end
            key={index}
            bullet={<Icon size={14} />}
            color={`${color}.8`}
            title={isEvent(entry.event) ? t(`admin:tasks.events.${entry.event}`) : entry.event}
          >
            <Text size="xs" c="dimmed">
              {toMoment(entry.time)}
              {entry.attempt > 1 ? ` · ${t('admin:tasks.attemptOf', { count: entry.attempt })}` : ''}
              {entry.channel_id === null ? null : (
                <>
                  {' · '}
                  <ToLink to={`/admin/channels/${entry.channel_id}`} size="xs" underline="always">
                    {t('admin:tasks.channelOf', { id: entry.channel_id })}
                  </ToLink>
                </>
              )}
            </Text>
            {entry.reason === '' ? null : (
              <Text size="sm">{known(entry.reason) ? t(`upstreams:reasons.${entry.reason}`) : entry.reason}</Text>
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
