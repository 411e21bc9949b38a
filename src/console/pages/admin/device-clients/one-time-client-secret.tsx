import { Alert, Button, Stack, Text } from '@mantine/core';
import { useTranslation } from 'react-i18next';
import { CopyField } from '../../../components/copy-button-and-field.tsx';

interface OneTimeSecretProps {
  readonly clientId: string;
  readonly secret: string;
  readonly onClose: () => void;
}

/** A secret that is shown only once. */
export function OneTimeClientSecret({ clientId, secret, onClose }: OneTimeSecretProps) {
  const { t } = useTranslation('admin');
  return (
    <Stack>
      <Alert color="yellow" variant="light">
        {t('deviceClients.once')}
      </Alert>
      <Text size="sm" fw={600} mb={-8}>
        client_id
      </Text>
      <CopyField text={clientId} />
      <Text size="sm" fw={600} mb={-8}>
        client_secret
      </Text>
      <CopyField text={secret} />
      <Button onClick={onClose}>{t('deviceClients.copied')}</Button>
    </Stack>
  );
}
