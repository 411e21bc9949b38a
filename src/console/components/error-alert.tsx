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

interface QueryErrorProps {
  readonly query: {
    readonly data: unknown;
    readonly error: unknown;
    readonly refetch: () => Promise<unknown>;
  };
}

/**
 * Why a query failed. While the service is unreachable and there is data to show, nothing: the layout says so, and
 * refetches once the service responds.
 */
export function QueryError({ query: { data, error, refetch } }: QueryErrorProps) {
  return data !== undefined && isUnreachable(error) ? null : <ErrorAlert error={error} retry={() => void refetch()} />;
}

/** True for a network failure, or if the proxy has no service behind it. */
export const isUnreachable = (error: unknown): boolean =>
  error instanceof ReelgateError &&
  (error.code === 'network' || ['http_502', 'http_503', 'http_504'].includes(error.code));

/** The text of an error. @param unreachable text used if the service could not be reached */
export function toErrorMessage(error: unknown, unreachable: string): string {
  if (error instanceof ReelgateError) return error.code === 'network' ? unreachable : error.message;
  return error instanceof Error ? error.message : String(error);
}
