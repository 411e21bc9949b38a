import { Alert, Button, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { CopyField } from '../../../parts/copy.tsx';

interface ShownOnceProps {
  readonly clientId: string;
  readonly secret: string;
  readonly onClose: () => void;
}

/** A secret nobody will see again. */
export function ShownOnce({ clientId, secret, onClose }: ShownOnceProps) {
  const { t } = useTranslation('admin');
  return (
    <Stack>
      <Alert color="yellow" variant="light">
        {t('clients.once')}
      </Alert>
      <Text size="sm" fw={600} mb={-8}>
        client_id
      </Text>
      <CopyField text={clientId} />
      <Text size="sm" fw={600} mb={-8}>
        client_secret
      </Text>
      <CopyField text={secret} />
      <Button onClick={onClose}>{t('clients.copied')}</Button>
    </Stack>
  );
}
