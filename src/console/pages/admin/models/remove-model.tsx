import { Button, Group, Text } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { removeModel } from '../../../../contract/model-catalog.ts';
import { useRefresh } from '../../../data/admin.ts';
import { call } from '../../../data/client.ts';
import { Confirm } from '../../../parts/confirm.tsx';
import { useNotices } from '../../../parts/notices.tsx';
import { Panel } from '../frame/facts.tsx';
import { toModelPath } from './model-path.ts';

export function RemoveModel({ id }: { readonly id: string }) {
  const { t } = useTranslation('upstreams');
  const refresh = useRefresh();
  const notices = useNotices();
  const navigate = useNavigate();
  const remove = async (): Promise<void> => {
    await call(removeModel, { params: { id: toModelPath(id) } });
    await navigate({ to: '/admin/models' as string });
    await refresh();
    notices.done(t('models.removed', { name: id }));
  };
  return (
    <Panel title={t('models.remove')}>
      <Group justify="space-between">
        <Text size="sm" c="dimmed" maw={380}>
          {t('models.removeText')}
        </Text>
        <Confirm
          title={t('models.removeTitle', { name: id })}
          action={t('models.removeAction', { name: id })}
          onConfirm={remove}
          trigger={(open) => (
            <Button variant="light" color="red" onClick={open}>
              {t('models.remove')}
            </Button>
          )}
        >
          {t('models.removeText')}
        </Confirm>
      </Group>
    </Panel>
  );
}
