import { Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { useStatus } from '../../../data/self.ts';

/** The host for which passkeys are valid, or why there are none. */
export function PasskeyNote() {
  const { t } = useTranslation('passkeys');
  const { data: status } = useStatus();
  if (status === undefined) return null;
  return (
    <Text size="sm" c="dimmed" data-passkey-note>
      {t(`settings.${status.passkeys}`, { host: new URL(status.server_address).hostname })}
    </Text>
  );
}
