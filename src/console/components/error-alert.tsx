import { Alert, Button, Code, Group, Text } from '@mantine/core';
import { IconAlertTriangle } from '@tabler/icons-react';
import { useTranslation } from 'react-i18next';
import { ReelgateError } from '../../sdk/errors.ts';

/** Shows the service's error message, the remedy, and the request id to quote in a support request. */
export function ErrorAlert({ error, retry }: { readonly error: unknown; readonly retry?: () => void }) {
  const { t } = useTranslation();
  if (error === null || error === undefined) return null;
  const known = error instanceof ReelgateError ? error : undefined;
  return (
    <Alert color="red" icon={<IconAlertTriangle />} role="alert" data-failure radius="md">
      <Text size="sm" style={{ overflowWrap: 'anywhere' }}>
        {toErrorMessage(error, t('unreachable'))}
      </Text>
      {retry !== undefined || (known?.status ?? 0) >= 500 ? (
        <Group mt="xs" gap="sm">
          {retry === undefined ? null : (
            <Button size="compact-sm" variant="default" onClick={retry}>
              {t('tryAgain')}
            </Button>
          )}
          {known?.requestId !== undefined && known.status >= 500 ? (
            <Text size="xs" c="dimmed">
              {t('mentionRequestId')} <Code>{known.requestId}</Code>
            </Text>
          ) : null}
        </Group>
      ) : null}
    </Alert>
  );
}

/** The text of an error. @param unreachable text used if the service could not be reached */
export function toErrorMessage(error: unknown, unreachable: string): string {
  if (error instanceof ReelgateError) return error.code === 'network' ? unreachable : error.message;
  return error instanceof Error ? error.message : String(error);
}
