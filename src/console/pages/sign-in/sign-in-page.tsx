import { Alert, Anchor, Button, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { IconFlask } from '@tabler/icons-react';
import { useMutation } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type FormEvent, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { login, loginSecondStep } from '../../../contract/accounts.ts';
import { call } from '../../data/client.ts';
import { queryClient, useStatus } from '../../data/queries.ts';
import { rememberUser, safePath } from '../../data/session.ts';
import { Failure } from '../../parts/failure.tsx';
import { SignInFrame } from './sign-in-frame.tsx';

/** Password first, then the code where the account asks for one; then back to the page one came for. */
export function SignInPage() {
  const { t } = useTranslation('account');
  const { back } = useSearch({ from: '/sign-in' });
  const navigate = useNavigate();
  const [secondStep, setSecondStep] = useState(false);
  const enter = async (id: number): Promise<void> => {
    rememberUser(id);
    queryClient.clear();
    await navigate({ href: safePath(back) });
  };
  return secondStep ? (
    <SignInFrame title={t('signIn.secondTitle')}>
      <CodeForm onDone={enter} onBack={() => setSecondStep(false)} />
    </SignInFrame>
  ) : (
    <SignInFrame title={t('signIn.title')}>
      <PasswordForm onDone={enter} onSecondStep={() => setSecondStep(true)} />
    </SignInFrame>
  );
}

function PasswordForm({ onDone, onSecondStep }: { onDone: (id: number) => Promise<void>; onSecondStep: () => void }) {
  const { t } = useTranslation('account');
  const { back } = useSearch({ from: '/sign-in' });
  const { data: status } = useStatus();
  const [username, setUsername] = useState('');
  const [password, setPassword] = useState('');
  const signIn = useMutation({
    mutationFn: async () => (await call(login, { body: { username: username.trim(), password } })).data,
    onSuccess: (data) => ('require_2fa' in data ? onSecondStep() : onDone(data.id)),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    signIn.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        {status?.sandbox === true ? (
          <Alert variant="light" color="gray" icon={<IconFlask />} p="xs">
            {t('signIn.sandbox')}
          </Alert>
        ) : null}
        <TextInput
          label={t('signIn.username')}
          autoComplete="username"
          autoCapitalize="none"
          autoFocus
          required
          withAsterisk={false}
          value={username}
          onChange={(event) => setUsername(event.currentTarget.value)}
        />
        <PasswordInput
          label={t('signIn.password')}
          autoComplete="current-password"
          required
          withAsterisk={false}
          value={password}
          onChange={(event) => setPassword(event.currentTarget.value)}
        />
        <Failure error={signIn.error} />
        <Button type="submit" loading={signIn.isPending}>
          {t('signIn.action')}
        </Button>
        {status?.registration === 'open' ? (
          <Text size="sm" c="dimmed">
            {t('signIn.noAccount')}{' '}
            <Anchor
              renderRoot={(props) => <Link to="/register" search={back === undefined ? {} : { back }} {...props} />}
            >
              {t('signIn.register')}
            </Anchor>
          </Text>
        ) : null}
      </Stack>
    </form>
  );
}

function CodeForm({ onDone, onBack }: { onDone: (id: number) => Promise<void>; onBack: () => void }) {
  const { t } = useTranslation('account');
  const [code, setCode] = useState('');
  const verify = useMutation({
    mutationFn: async (given: string) => (await call(loginSecondStep, { body: { code: given.trim() } })).data,
    onSuccess: ({ id }) => onDone(id),
  });
  const change = (next: string): void => {
    setCode(next);
    // Six digits are a whole code: nobody should have to press a button after them.
    if (/^\d{6}$/.test(next.trim()) && !verify.isPending) verify.mutate(next);
  };
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        verify.mutate(code);
      }}
    >
      <Stack>
        <Text size="sm" c="dimmed">
          {t('signIn.secondText')}
        </Text>
        <TextInput
          label={t('signIn.code')}
          autoComplete="one-time-code"
          autoFocus
          required
          withAsterisk={false}
          maxLength={64}
          size="md"
          styles={{ input: { fontVariantNumeric: 'tabular-nums', letterSpacing: '0.15em' } }}
          value={code}
          onChange={(event) => change(event.currentTarget.value)}
        />
        <Failure error={verify.error} />
        <Button type="submit" loading={verify.isPending}>
          {t('signIn.verify')}
        </Button>
        <Button variant="subtle" color="gray" onClick={onBack}>
          {t('signIn.startOver')}
        </Button>
      </Stack>
    </form>
  );
}
