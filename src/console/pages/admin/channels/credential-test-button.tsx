import { Button } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { testChannel } from '../../../../contract/channels.ts';
import { useToasts } from '../../../components/toasts.tsx';
import { callApi } from '../../../data/api-client.ts';
import { useInvalidateQueries } from '../../../data/query-any-admin-endpoint.ts';
import { type Credential, credentialLabel } from './credential-labels-schemes-and-form-values.ts';
import { toErrorReason } from './upstream-error-reason-codes.ts';

interface TestCredentialProps {
  readonly channelId: number;
  readonly credential: Credential;
}

/** Tests one credential against the upstream; the result is a toast, and the health beside it is refetched. */
export function CredentialTestButton({ channelId, credential }: TestCredentialProps) {
  const { t } = useTranslation('admin-channels');
  const invalidate = useInvalidateQueries();
  const toasts = useToasts();
  const name = credentialLabel(credential);
  const test = useMutation({
    mutationFn: async () => {
      const query = { credential_id: String(credential.id) };
      return (await callApi(testChannel, { params: { id: String(channelId) }, query })).data;
    },
    onSuccess: async ({ ok, duration_ms: ms, reason }) => {
      await invalidate();
      if (ok) toasts.success(`${name}: ${t('test.works', { ms })}`);
      else toasts.error(`${name}: ${t(`reasons.${toErrorReason(reason)}`)}`);
    },
    onError: (error) => toasts.error(error.message),
  });
  return (
    <Button
      size="compact-sm"
      variant="default"
      aria-label={t('credentials.testOf', { name })}
      loading={test.isPending}
      onClick={() => test.mutate()}
    >
      {t('test.action')}
    </Button>
  );
}
