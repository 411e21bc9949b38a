import { Alert, Anchor, Button, PasswordInput, Stack } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { resetPassword } from '../../../contract/accounts.ts';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { callApi } from '../../data/api-client.ts';
import { clearUserId } from '../../data/browser-storage.ts';
import { readLinkToken, SignInFrame } from './sign-in-frame.tsx';

/** Target of a password reset link. */
export function ResetPasswordPage() {
  const { t } = useTranslation('sign-in');
  const [token] = useState(readLinkToken);
  const [password, setPassword] = useState('');
  const reset = useMutation({
    mutationFn: () => callApi(resetPassword, { body: { token, password } }),
    // The server has ended all sessions, including this browser's.
    onSuccess: clearUserId,
  });
  return (
    <SignInFrame title={t('reset.title')}>
      {reset.isSuccess ? (
        <Stack>
          <Alert color="teal" variant="light" role="status">
            {t('reset.done')}
          </Alert>
          <Button renderRoot={(props) => <Link to="/sign-in" {...props} />}>{t('signIn.action')}</Button>
        </Stack>
      ) : (
        <form
          onSubmit={(event) => {
            event.preventDefault();
            reset.mutate();
          }}
        >
          <Stack>
            <PasswordInput
              label={t('reset.password')}
              description={t('register.passwordHint')}
              autoComplete="new-password"
              minLength={8}
              maxLength={128}
              autoFocus
              required
              withAsterisk={false}
              value={password}
              onChange={(event) => setPassword(event.currentTarget.value)}
            />
            <ErrorAlert error={reset.error} />
            <Button type="submit" loading={reset.isPending} disabled={token === ''}>
              {t('reset.action')}
            </Button>
            <Anchor size="sm" renderRoot={(props) => <Link to="/forgot-password" {...props} />}>
              {t('reset.again')}
            </Anchor>
          </Stack>
        </form>
      )}
    </SignInFrame>
  );
}
