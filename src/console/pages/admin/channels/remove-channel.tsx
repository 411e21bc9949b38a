import { Button, Group, Text } from '@mantine/core';
import { useNavigate } from '@tanstack/react-router';
import { useTranslation } from 'react-i18next';
import { removeChannel } from '../../../../contract/channels.ts';
import { useRefresh } from '../../../data/admin.ts';
import { call } from '../../../data/client.ts';
import { Confirm } from '../../../parts/confirm.tsx';
import { useNotices } from '../../../parts/notices.tsx';
import { Panel } from '../frame/facts.tsx';
import type { ChannelDetail } from './channel-page.tsx';

export function RemoveChannel({ channel }: { readonly channel: ChannelDetail }) {
  const { t } = useTranslation('upstreams');
  const refresh = useRefresh();
  const notices = useNotices();
  const navigate = useNavigate();
  const { name } = channel;
  const remove = async (): Promise<void> => {
    await call(removeChannel, { params: { id: String(channel.id) } });
    await navigate({ to: '/admin/channels' as string });
    await refresh();
    notices.done(t('channels.removed', { name }));
  };
  return (
    <Panel title={t('channels.remove')}>
      <Group justify="space-between">
        <Text size="sm" c="dimmed" maw={420}>
          {t('channels.removeText')}
        </Text>
        <Confirm
          title={t('channels.removeTitle', { name })}
          action={t('channels.removeAction', { name })}
          onConfirm={remove}
          trigger={(open) => (
            <Button variant="light" color="red" onClick={open}>
              {t('channels.remove')}
            </Button>
          )}
        >
          {t('channels.removeText')}
        </Confirm>
      </Group>
    </Panel>
  );
}
