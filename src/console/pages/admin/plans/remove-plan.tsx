import { Button, Group, Text } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { adminDeleteCard } from '../../../../contract/packages.ts';
import { useRefresh } from '../../../data/admin.ts';
import { call } from '../../../data/client.ts';
import { Confirm } from '../../../parts/confirm.tsx';
import { useNotices } from '../../../parts/notices.tsx';
import { Panel } from '../frame/facts.tsx';
import type { Card } from './card-draft.ts';

export function RemovePlan({ card: { id, name } }: { readonly card: Card }) {
  const { t } = useTranslation('plans');
  const refresh = useRefresh();
  const notices = useNotices();
  const navigate = useNavigate();
  const remove = async (): Promise<void> => {
    await call(adminDeleteCard, { params: { id: String(id) } });
    await navigate({ to: '/admin/packages' as string });
    await refresh();
    notices.done(t('cards.removed', { name }));
  };
  return (
    <Panel title={t('cards.remove')}>
      <Group justify="space-between">
        <Text size="sm" c="dimmed" maw={380}>
          {t('cards.removeText')}
        </Text>
        <Confirm
          title={t('cards.removeTitle', { name })}
          action={t('cards.removeAction', { name })}
          onConfirm={remove}
          trigger={(open) => (
            <Button variant="light" color="red" onClick={open}>
              {t('cards.remove')}
            </Button>
          )}
        >
          {t('cards.removeText')}
        </Confirm>
      </Group>
    </Panel>
  );
}
