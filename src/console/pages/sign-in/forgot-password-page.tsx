import { Alert, Anchor, Button, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { requestPasswordReset } from '../../../contract/accounts.ts';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { callApi } from '../../data/api-client.ts';
import { SignInFrame } from './sign-in-frame.tsx';

/** Asks for the e-mail address to send a password reset link to. */
export function ForgotPasswordPage() {
  const { t } = useTranslation('sign-in');
  const [email, setEmail] = useState('');
  const request = useMutation({ mutationFn: () => callApi(requestPasswordReset, { body: { email: email.trim() } }) });
  return (
    <SignInFrame title={t('forgot.title')}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          request.mutate();
        }}
      >
        <Stack>
          {request.isSuccess ? (
            <Alert color="teal" variant="light" role="status">
              {t('forgot.sent', { email })}
            </Alert>
          ) : (
            <>
              <Text size="sm" c="dimmed">
                {t('forgot.text')}
              </Text>
              <TextInput
                type="email"
                label={t('register.email')}
                autoComplete="email"
                autoFocus
                required
                withAsterisk={false}
                value={email}
                onChange={(event) => setEmail(event.currentTarget.value)}
              />
              <ErrorAlert error={request.error} />
              <Button type="submit" loading={request.isPending}>
                {t('forgot.action')}
              </Button>
            </>
          )}
          <Anchor size="sm" renderRoot={(props) => <Link to="/sign-in" {...props} />}>
            {t('forgot.back')}
          </Anchor>
        </Stack>
      </form>
    </SignInFrame>
  );
}
