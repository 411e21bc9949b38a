import { Alert, Anchor, Button, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useMutation } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { confirmEmail, requestPasswordReset, resetPassword } from '../../../contract/accounts.ts';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { callApi } from '../../data/api-client.ts';
import { clearUserId } from '../../data/browser-storage.ts';
import { readLinkToken, SignInFrame } from './sign-in-frame.tsx';

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
