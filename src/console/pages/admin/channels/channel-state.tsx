import { Badge } from '@mantine/core';
import { useTranslation } from 'react-i18next';

const COLORS = { healthy: 'teal', resting: 'red', trying: 'yellow' } as const;

/** Whether a channel is asked at all, and how it has been doing. */
export function ChannelState({ enabled, state }: { readonly enabled: boolean; readonly state: keyof typeof COLORS }) {
  const { t } = useTranslation('upstreams');
  return enabled ? (
    <Badge color={COLORS[state]} tt="none">
      {t(`states.${state}`)}
    </Badge>
  ) : (
    <Badge color="gray">{t('states.off')}</Badge>
  );
}
