import { Button, Group, Text } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { adminDeleteUser } from '../../../../contract/account-admin.ts';
import { useRefresh } from '../../../data/admin.ts';
import { call } from '../../../data/client.ts';
import { Confirm } from '../../../parts/confirm.tsx';
import { useNotices } from '../../../parts/notices.tsx';
import { Panel } from '../frame/facts.tsx';
import type { User } from './user-page.tsx';

export function UserDanger({ user }: { readonly user: User }) {
  const { t } = useTranslation('admin');
  const refresh = useRefresh();
  const notices = useNotices();
  const navigate = useNavigate();
  const remove = async (): Promise<void> => {
    await call(adminDeleteUser, { params: { id: String(user.id) } });
    await navigate({ to: '/admin/users' as string });
    await refresh();
    notices.done(t('users.removed', { name: user.username }));
  };
  return (
    <Panel title={t('users.remove')}>
      <Group justify="space-between">
        <Text size="sm" c="dimmed" maw={560}>
          {t('users.removeText')}
        </Text>
        <Confirm
          title={t('users.removeTitle', { name: user.username })}
          action={t('users.removeAction', { name: user.username })}
          onConfirm={remove}
          trigger={(open) => (
            <Button variant="light" color="red" onClick={open}>
              {t('users.remove')}
            </Button>
          )}
        >
          {t('users.removeText')}
        </Confirm>
      </Group>
    </Panel>
  );
}
