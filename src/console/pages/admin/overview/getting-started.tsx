import { Alert, Group, List, Text, ThemeIcon } from '@mantine/core';
import { IconCheck, IconCircleDashed } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { canManage } from '../../../../contract/account-fields.ts';
import { listTasks } from '../../../../contract/admin-videos.ts';
import type { listChannels } from '../../../../contract/channels.ts';
import { RouteButton } from '../../../components/route-link.tsx';
import { type ListItem, listQuery } from '../../../data/query-any-admin-endpoint.ts';
import { useSelf } from '../../../data/signed-in-user-and-site-queries.ts';
import { usableModelsQuery } from '../../../data/usable-models-query.ts';

interface GettingStartedProps {
  /** Undefined while they are being fetched. */
  readonly channels: readonly ListItem<typeof listChannels>[] | undefined;
}

const firstTaskQuery = listQuery(listTasks, { page_size: '1' });

/** Whether it is known by now if the steps to the first video are to be shown. */
export function useIsGettingStartedDecided(): boolean {
  const tasks = useQuery(firstTaskQuery);
  const models = useQuery(usableModelsQuery);
  const self = useSelf();
  return !tasks.isPending && !models.isPending && !self.isPending;
}

/** The steps to the first video; hidden once there is one. */
export function GettingStarted({ channels }: GettingStartedProps) {
  const { t } = useTranslation('admin');
  const tasks = useQuery(firstTaskQuery);
  const models = useQuery(usableModelsQuery);
  const { data: self } = useSelf();
  if (
    self === undefined ||
    channels === undefined ||
    tasks.data === undefined ||
    models.data === undefined ||
    tasks.data.total > 0
  )
    return null;
  const may = canManage(self.role, self.role);
  const steps = [
    { key: 'channel', done: channels.length > 0, to: '/admin/channels/new' },
    { key: 'test', done: channels.some(({ condition }) => condition === 'working'), to: '/admin/channels' },
    { key: 'model', done: models.data.length > 0, to: '/admin/models' },
    // Below root nobody gives to himself.
    ...(may ? [{ key: 'credits', done: self.quota > 0, to: '/admin/users/$id' } as const] : []),
    { key: 'video', done: false, to: '/studio' },
  ] as const;
  const next = steps.find(({ done }) => !done);
  return (
    <Alert color="accent" variant="light" title={t('gettingStarted.title')}>
      <List spacing="sm" center listStyleType="none">
        {steps.map(({ key, done, to }) => (
          <List.Item
            key={key}
            icon={
              <ThemeIcon
                size={22}
                radius="xl"
                variant={done ? 'filled' : 'transparent'}
                color={done ? 'teal.8' : 'gray'}
              >
                {done ? <IconCheck size={14} /> : <IconCircleDashed size={20} />}
              </ThemeIcon>
            }
          >
            <Group gap="sm">
              <Text size="sm" fw={key === next?.key ? 650 : 400} td={done ? 'line-through' : 'none'}>
                {t(`gettingStarted.${key}`)}
              </Text>
              {key === next?.key ? (
                <RouteButton to={to} params={{ id: String(self.id) }} size="compact-sm">
                  {t(`gettingStarted.${key}Action`)}
                </RouteButton>
              ) : null}
            </Group>
          </List.Item>
        ))}
      </List>
    </Alert>
  );
}
