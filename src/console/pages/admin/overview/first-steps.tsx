import { Alert, Group, List, Text, ThemeIcon } from '@mantine/core';
import { IconCheck, IconCircleDashed } from '@tabler/icons-react';
import { useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { listTasks } from '../../../../contract/admin-tasks.ts';
import { listModelRows } from '../../../../contract/model-catalog.ts';
import { mayManage } from '../../../../contract/roles.ts';
import { listQuery } from '../../../data/admin.ts';
import { useSelf } from '../../../data/queries.ts';
import { ToButton } from '../frame/to-link.tsx';

/** From nothing to the first video; goes away with it. */
export function FirstSteps({ channels }: { readonly channels: number | undefined }) {
  const { t } = useTranslation('admin');
  const tasks = useQuery(listQuery(listTasks, { page_size: '1' }));
  const models = useQuery(listQuery(listModelRows, { page_size: '50' }));
  const { data: self } = useSelf();
  if (
    self === undefined ||
    channels === undefined ||
    tasks.data === undefined ||
    models.data === undefined ||
    tasks.data.total > 0
  )
    return null;
  const served = models.data.data.some((model) => model.enabled && model.channels > 0);
  const may = mayManage(self.role, self.role);
  const steps = [
    { key: 'channel', done: channels > 0, to: '/admin/channels/new' },
    { key: 'model', done: served, to: '/admin/models' },
    // Below root nobody gives to himself.
    ...(may ? [{ key: 'credits', done: self.quota > 0, to: `/admin/users/${self.id}` } as const] : []),
    { key: 'video', done: false, to: '/studio' },
  ] as const;
  const next = steps.find(({ done }) => !done);
  return (
    <Alert color="ember" variant="light" title={t('firstSteps.title')}>
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
                {t(`firstSteps.${key}`)}
              </Text>
              {key === next?.key ? (
                <ToButton to={to} size="compact-sm">
                  {t(`firstSteps.${key}Action`)}
                </ToButton>
              ) : null}
            </Group>
          </List.Item>
        ))}
      </List>
    </Alert>
  );
}
