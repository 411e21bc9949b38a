import { Alert, Anchor, Button, Divider, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { IconFingerprint, IconFlask, IconInfoCircle } from '@tabler/icons-react';
import { useMutation, useQuery } from '@tanstack/react-query';
import { Link, useNavigate, useSearch } from '@tanstack/react-router';
import { type FormEvent, type ReactNode, useEffect, useRef, useState } from 'react';
import { useTranslation } from 'react-i18next';
import { getSessionEnd, login, loginSecondStep } from '../../../contract/accounts.ts';
import { getSession } from '../../../contract/identity-providers.ts';
import { defined } from '../../../contract/objects.ts';
import type { Assertion } from '../../../contract/passkey-credentials.ts';
import { passkeyLogin } from '../../../contract/passkeys.ts';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { PageLoadingIndicator } from '../../components/page.tsx';
import { callApi, queryClient } from '../../data/api-client.ts';
import { storeUserId } from '../../data/browser-storage.ts';
import {
  NoPasskeyError,
  offerPasskeys,
  signalUnknownPasskey,
  takePasskey,
  withdrawOffer,
} from '../../data/passkeys.ts';
import { toSafeRedirectPath } from '../../data/safe-redirect-path.ts';
import { useStatus } from '../../data/self.ts';
import { SignInFrame } from './sign-in-frame.tsx';

/** Signs in and returns to the requested page. */
export function SignInPage() {
  const { back, ended, signed_in: isSignedIn, step } = useSearch({ from: '/sign-in' });
  const navigate = useNavigate();
  const finishSignIn = async (id: number): Promise<void> => {
    storeUserId(id);
    queryClient.clear();
    await navigate({ href: toSafeRedirectPath(back) });
  };
  const isContinuing = useContinuation(isSignedIn === true && step !== 'code', finishSignIn);
  if (isContinuing) return <PageLoadingIndicator />;
  return (
    <SignIn
      back={back}
      isEnded={ended === true}
      startsAtCode={step === 'code'}
      onDone={finishSignIn}
      frame={(title, form) => <SignInFrame title={title}>{form}</SignInFrame>}
    />
  );
}

interface SignInProps extends WaysProps {
  readonly isEnded: boolean;
  /** The second step is outstanding. */
  readonly startsAtCode?: boolean;
  /** Wraps the form of a step in a page or a dialog with the title of the step. */
  readonly frame: (title: string, form: ReactNode) => ReactNode;
}

interface WaysProps {
  /** Path of the page to return to. */
  readonly back: string | undefined;
  /** Whether the form is over a page with input: other pages then open in a tab of their own. */
  readonly isOverPage?: boolean;
  readonly onDone: (id: number) => Promise<void>;
}

/** Asks for the password, then for a code if the account requires one. */
export function SignIn({ isEnded, startsAtCode = false, frame, ...ways }: SignInProps) {
  const { t } = useTranslation('sign-in');
  const [isCode, setCode] = useState(startsAtCode);
  if (isCode) return frame(t('signIn.secondTitle'), <CodeForm onDone={ways.onDone} onBack={() => setCode(false)} />);
  return frame(
    t('signIn.title'),
    <Stack>
      <Notices isEnded={isEnded} />
      <PasswordGate {...ways}>
        <PasswordForm {...ways} onSecondStep={() => setCode(true)} />
      </PasswordGate>
    </Stack>,
  );
}

/** After an identity provider has signed the browser in: finds the account by the cookie. False if it has none. */
function useContinuation(isSignedIn: boolean, onDone: (id: number) => Promise<void>): boolean {
  const session = useQuery({
    queryKey: ['session'],
    queryFn: async ({ signal }) => (await callApi(getSession, {}, { signal })).data.id,
    enabled: isSignedIn,
  });
  const id = session.data;
  // biome-ignore lint/correctness/useExhaustiveDependencies: continues once, with the id
  useEffect(() => {
    if (id !== undefined) void onDone(id);
  }, [id]);
  return isSignedIn && session.error === null;
}

/** Why the session ended, the administrator's notice, and that vendors are simulated. */
function Notices({ isEnded }: { readonly isEnded: boolean }) {
  const { t } = useTranslation('sign-in');
  const { data: status } = useStatus();
  return (
    <>
      {isEnded ? <SessionEndNotice /> : null}
      {status?.sign_in_notice ? (
        <Alert
          variant="light"
          color="blue"
          p="xs"
          role="note"
          style={{ whiteSpace: 'pre-wrap', overflowWrap: 'anywhere' }}
        >
          {status.sign_in_notice}
        </Alert>
      ) : null}
      {status?.sandbox === true ? (
        <Alert variant="light" color="gray" icon={<IconFlask />} p="xs">
          {t('signIn.sandbox')}
        </Alert>
      ) : null}
    </>
  );
}

function PasswordForm({ onSecondStep, ...ways }: WaysProps & { readonly onSecondStep: () => void }) {
  const { t } = useTranslation('sign-in');
  const { back, isOverPage = false, onDone } = ways;
  const { data: status } = useStatus();
  const [username, setUsername] = useState('');
  const [password, setPassword] = useState('');
  const signIn = useMutation({
    mutationFn: async () => (await callApi(login, { body: { username: username.trim(), password } })).data,
    onSuccess: (data) => ('require_2fa' in data ? onSecondStep() : onDone(data.id)),
  });
  const submit = (event: FormEvent): void => {
    event.preventDefault();
    signIn.mutate();
  };
  return (
    <form onSubmit={submit}>
      <Stack>
        <TextInput
          label={t('signIn.username')}
          // `webauthn` puts passkeys among the browser's suggestions.
          autoComplete={status?.passkeys === 'on' ? 'username webauthn' : 'username'}
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
        <ErrorAlert error={signIn.error} />
        <Button type="submit" loading={signIn.isPending}>
          {t('signIn.action')}
        </Button>
        {status?.password_sign_in === true ? <OtherWays {...ways} /> : null}
        {status?.mail === true ? (
          <Anchor size="sm" renderRoot={(props) => <Link to="/forgot-password" target={targetOf(ways)} {...props} />}>
            {t('signIn.forgot')}
          </Anchor>
        ) : status === undefined ? null : (
          <Text size="sm" c="dimmed">
            {t('signIn.askAdministrator')}
          </Text>
        )}
        {status?.registration === 'open' && !isOverPage ? (
          <Text size="sm" c="dimmed">
            {t('signIn.noAccount')}{' '}
            <Anchor renderRoot={(props) => <Link to="/register" search={{ back }} {...props} />}>
              {t('signIn.register')}
            </Anchor>
          </Text>
        ) : null}
      </Stack>
    </form>
  );
}

/** The ways in without a password, below the form. */
function OtherWays(ways: WaysProps) {
  const { data: status } = useStatus();
  return (
    <>
      {status?.passkeys === 'on' ? <PasskeySignIn onDone={ways.onDone} /> : null}
      <IdentityButtons {...ways} isFirst={false} />
    </>
  );
}

function CodeForm({ onDone, onBack }: { onDone: (id: number) => Promise<void>; onBack: () => void }) {
  const { t } = useTranslation('sign-in');
  const { data: status } = useStatus();
  const [code, setCode] = useState('');
  const verify = useMutation({
    mutationFn: async (given: string) => (await callApi(loginSecondStep, { body: { code: given.trim() } })).data,
    onSuccess: ({ id }) => onDone(id),
  });
  const change = (next: string): void => {
    setCode(next);
    // Six digits are a complete code, so the form is submitted without a click.
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
        <ErrorAlert error={verify.error} />
        <Button type="submit" loading={verify.isPending}>
          {t('signIn.verify')}
        </Button>
        {status?.passkeys === 'on' ? <PasskeySecondStep onDone={onDone} /> : null}
        <Button variant="subtle" color="gray" onClick={onBack}>
          {t('signIn.startOver')}
        </Button>
      </Stack>
    </form>
  );
}

const sessionEndQuery = {
  queryKey: ['session-end'],
  queryFn: async ({ signal }: { readonly signal: AbortSignal }) => (await callApi(getSessionEnd, {}, { signal })).data,
};

/** Explains why the session ended. Its height does not change when the reason arrives. */
function SessionEndNotice() {
  const { t } = useTranslation('sign-in');
  const end = useQuery(sessionEndQuery);
  // Every other cause leaves the cookie in place, so a missing cookie has expired.
  const reason = end.data?.reason ?? 'expired';
  return (
    <Alert
      variant="light"
      color="yellow"
      icon={<IconInfoCircle />}
      title={t('ended.title')}
      p="sm"
      role="status"
      mih={92}
    >
      {end.isPending ? ' ' : t(`ended.reasons.${reason}`)}
    </Alert>
  );
}

const targetOf = ({ isOverPage = false }: WaysProps) => (isOverPage ? '_blank' : undefined);

/** Buttons of the identity providers. The browser returns to the sign-in page, which then finds its session. */
function IdentityButtons({ isFirst, ...ways }: WaysProps & { readonly isFirst: boolean }) {
  const { t } = useTranslation('sign-in');
  const { data: status } = useStatus();
  const providers = status?.identity_providers ?? [];
  if (providers.length === 0) return null;
  const page = new URLSearchParams({ ...defined({ back: ways.back }), signed_in: 'true' });
  const query = new URLSearchParams({ return_to: `/sign-in?${page}` });
  return (
    <Stack gap="sm">
      {isFirst ? null : <Divider label={t('signIn.or')} />}
      {providers.map(({ id, title }) => (
        <Button
          key={id}
          component="a"
          href={`/auth/${id}/start?${query}`}
          target={targetOf(ways)}
          variant={isFirst ? 'filled' : 'default'}
        >
          {t('signIn.with', { title })}
        </Button>
      ))}
    </Stack>
  );
}

interface PasswordGateProps extends WaysProps {
  /** The password form. */
  readonly children: ReactNode;
}

/** Where passwords are switched off, shows the other ways in instead of the form, which then serves root alone. */
function PasswordGate({ children, ...ways }: PasswordGateProps) {
  const { t } = useTranslation('sign-in');
  const { data: status } = useStatus();
  const [isRoot, setIsRoot] = useState(false);
  if (status?.password_sign_in !== false) return children;
  return (
    <Stack>
      <IdentityButtons {...ways} isFirst />
      {status.passkeys === 'on' ? <PasskeySignIn onDone={ways.onDone} /> : null}
      {isRoot ? (
        children
      ) : (
        <Button variant="subtle" color="gray" onClick={() => setIsRoot(true)}>
          {t('signIn.asRoot')}
        </Button>
      )}
    </Stack>
  );
}

/** The service accepts a challenge for five minutes; the offer is renewed before. */
const OFFER_MS = 4 * 60_000;

interface PasskeySignInProps {
  readonly onDone: (id: number) => Promise<void>;
}

/** Signs in with a passkey: by a button, and among the suggestions of the user name field. */
function PasskeySignIn({ onDone }: PasskeySignInProps) {
  const { t } = useTranslation('sign-in');
  const signIn = usePasskeyMutation(
    async (credential) => (await callApi(passkeyLogin, { body: { credential } })).data.id,
    onDone,
  );
  const latest = useRef(signIn);
  latest.current = signIn;
  useEffect(() => {
    let isMounted = true;
    const offer = async (): Promise<void> => {
      const credential = await offerPasskeys(() => isMounted && !latest.current.isPending);
      if (isMounted && credential !== undefined) latest.current.mutate(credential);
    };
    const begin = (): void => void offer().catch(() => {});
    begin();
    const timer = setInterval(begin, OFFER_MS);
    return () => {
      isMounted = false;
      clearInterval(timer);
      void withdrawOffer();
    };
  }, []);
  return (
    <>
      <Divider />
      <PasskeyButton
        label={t('passkeys.signIn')}
        error={signIn.error}
        busy={signIn.isPending}
        onClick={() => signIn.mutate(undefined)}
      />
    </>
  );
}

/** Finishes a login whose password was correct with a passkey. */
function PasskeySecondStep({ onDone }: PasskeySignInProps) {
  const { t } = useTranslation('sign-in');
  const verify = usePasskeyMutation(
    async (credential) => (await callApi(loginSecondStep, { body: { credential } })).data.id,
    onDone,
  );
  return (
    <PasskeyButton
      label={t('passkeys.signIn')}
      error={verify.error}
      busy={verify.isPending}
      onClick={() => verify.mutate(undefined)}
    />
  );
}

/** Sends a passkey that was chosen, or lets the user choose one. */
function usePasskeyMutation(send: (credential: Assertion) => Promise<number>, onDone: PasskeySignInProps['onDone']) {
  return useMutation({
    mutationFn: async (chosen: Assertion | undefined) => {
      const credential = chosen ?? (await takePasskey());
      try {
        return await send(credential);
      } catch (error) {
        await signalUnknownPasskey(error, credential);
        throw error;
      }
    },
    onSuccess: onDone,
  });
}

interface PasskeyButtonProps {
  readonly label: string;
  readonly error: unknown;
  readonly busy: boolean;
  readonly onClick: () => void;
}

function PasskeyButton({ label, error, busy, onClick }: PasskeyButtonProps) {
  const { t } = useTranslation('sign-in');
  return (
    <>
      <ErrorAlert error={error instanceof NoPasskeyError ? new Error(t('passkeys.cancelled')) : error} />
      <Button variant="default" leftSection={<IconFingerprint size={18} />} loading={busy} onClick={onClick}>
        {label}
      </Button>
    </>
  );
}
