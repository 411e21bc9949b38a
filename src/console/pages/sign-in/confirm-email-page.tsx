import { Alert, Button, Stack, Text } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { confirmEmail } from '../../../contract/accounts.ts';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { callApi } from '../../data/api-client.ts';
import { readLinkToken, SignInFrame } from './sign-in-frame.tsx';

/**
 * Target of the link in a confirmation e-mail. Requires a click, because mail filters open links, and a filter must not
 * confirm an address on behalf of someone who only received the e-mail.
 */
export function ConfirmEmailPage() {
  const { t } = useTranslation('sign-in');
  const [token] = useState(readLinkToken);
  const confirm = useMutation({ mutationFn: () => callApi(confirmEmail, { body: { token } }) });
  return (
    <SignInFrame title={t('confirm.title')}>
      <Stack>
        {confirm.isSuccess ? (
          <>
            <Alert color="teal" variant="light" role="status">
              {t('confirm.done')}
            </Alert>
            <Button renderRoot={(props) => <Link to="/account/profile" {...props} />}>{t('confirm.open')}</Button>
          </>
        ) : (
          <>
            <Text size="sm" c="dimmed">
              {t('confirm.text')}
            </Text>
            <ErrorAlert error={confirm.error} />
            <Button loading={confirm.isPending} disabled={token === ''} onClick={() => confirm.mutate()}>
              {t('confirm.action')}
            </Button>
          </>
        )}
      </Stack>
    </SignInFrame>
  );
}
