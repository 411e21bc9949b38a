import { Alert, Button, Stack, Text } from '@mantine/core';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { acceptInvitation } from '../../../contract/organizations.ts';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { Page } from '../../components/page.tsx';
import { callApi } from '../../data/api-client.ts';
import { enterOrganization } from '../../data/browser-storage.ts';
import { readLinkToken } from '../sign-in/sign-in-frame.tsx';

/** Target of an invitation's link. Requires a click, because programs that preview links open them. */
export function InvitationPage() {
  const { t } = useTranslation('organizations');
  const queries = useQueryClient();
  const [token] = useState(readLinkToken);
  const accept = useMutation({
    mutationFn: async () => (await callApi(acceptInvitation, { body: { token } })).data,
    onSuccess: () => queries.invalidateQueries({ queryKey: ['organizations'] }),
  });
  const joined = accept.data;
  return (
    <Page title={t('acceptTitle')} size="sm">
      <Stack align="flex-start">
        {joined === undefined ? (
          <>
            <Text size="sm" c="dimmed">
              {t('acceptText')}
            </Text>
            <ErrorAlert error={accept.error} />
            <Button loading={accept.isPending} disabled={token === ''} onClick={() => accept.mutate()}>
              {t('accept')}
            </Button>
          </>
        ) : (
          <>
            <Alert color="teal" variant="light" role="status">
              {t('accepted', { name: joined.name })}
            </Alert>
            <Button onClick={() => enterOrganization(joined.slug)}>{t('workHere')}</Button>
          </>
        )}
      </Stack>
    </Page>
  );
}
