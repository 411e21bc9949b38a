import { Alert, Button, Group, Text } from '@mantine/core';
import { useMutation, useQuery } from '@tanstack/react-query';
import { useTranslation } from 'react-i18next';
import { resendConfirmation } from '../../../contract/accounts.ts';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { callApi } from '../../data/api-client.ts';
import { emailQuery } from '../../data/session-email-and-device-queries.ts';

/** Says that the e-mail is not confirmed yet, and sends the link again. Shows nothing where there is nothing to do. */
export function EmailUnconfirmedNotice() {
  const { t } = useTranslation('account');
  const { data } = useQuery(emailQuery);
  const resend = useMutation({ mutationFn: () => callApi(resendConfirmation, {}) });
  if (data === undefined || data.email === '' || data.confirmed || !data.can_confirm) return null;
  return (
    <Alert color="yellow" variant="light">
      <Text size="sm">{t('profile.emailUnconfirmed', { email: data.email })}</Text>
      <ErrorAlert error={resend.error} />
      <Group mt="xs">
        <Button
          size="compact-sm"
          variant="light"
          loading={resend.isPending}
          disabled={resend.isSuccess}
          onClick={() => resend.mutate()}
        >
          {t(resend.isSuccess ? 'profile.emailSent' : 'profile.emailResend')}
        </Button>
      </Group>
    </Alert>
  );
}
