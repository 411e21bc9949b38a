import {
  Alert,
  Badge,
  Box,
  Button,
  Code,
  Group,
  PasswordInput,
  SimpleGrid,
  Stack,
  Text,
  TextInput,
} from '@mantine/core';
import { keepPreviousData, useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import { encode } from 'uqr';
import {
  createManagementToken,
  disableTwoFactor,
  enableTwoFactor,
  endSession,
  listSessions,
  logout,
  putSelf,
  setUpTwoFactor,
} from '../../../contract/accounts.ts';
import {
  deleteIdentity,
  type Identity,
  listIdentities,
  type SignInProvider,
  startIdentityLink,
} from '../../../contract/identity-providers.ts';
import { CopyField, CopyIconButton } from '../../components/copy-button.tsx';
import { ConfirmDialog, FormDialog } from '../../components/dialog.tsx';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { RecentLoginAttempts, SessionRow } from '../../components/login-attempts.tsx';
import { NewPasswordInput } from '../../components/new-password-input.tsx';
import { Page } from '../../components/page.tsx';
import { Pager } from '../../components/pager.tsx';
import { SettingsSection } from '../../components/panel.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { endEach, SESSIONS_PAGE_SIZE, sessionsQuery } from '../../data/account-queries.ts';
import { callApi, queryClient } from '../../data/api-client.ts';
import { clearStoredDrafts, clearUserId } from '../../data/browser-storage.ts';
import { toSafeRedirectPath } from '../../data/safe-redirect-path.ts';
import { selfQuery, useSelf, useStatus } from '../../data/self.ts';
import { PasskeysSection } from './passkeys-section.tsx';

/** Passkeys, two-step verification, password, sessions, sign-in history and management token. */

/** Two-step verification, identities, password, sessions, sign-in history and management token. */
export function SecurityPage() {
  const { t } = useTranslation('account');
  return (
    <Page title={t('security.title')} size="md">
      <Stack gap="lg">
        <PasskeysSection />
        <TwoStepSection />
        <IdentitiesSection />
        <PasswordSection />
        <SessionsSection />
        <SettingsSection title={t('loginHistory.title')} subtitle={t('loginHistory.text')}>
          <RecentLoginAttempts />
        </SettingsSection>
        <ManagementTokenSection />
      </Stack>
    </Page>
  );
}

function PasswordSection() {
  const { t } = useTranslation(['account', 'sign-in']);
  const { data: self } = useSelf();
  const queries = useQueryClient();
  const toasts = useToasts();
  const [original, setOriginal] = useState('');
  const [next, setNext] = useState('');
  const change = useMutation({
    mutationFn: () => callApi(putSelf, { body: { password: next, original_password: original } }),
    onSuccess: async () => {
      setOriginal('');
      setNext('');
      toasts.success(t('security.changed'));
      await queries.invalidateQueries({ queryKey: ['sessions'] });
    },
  });
  return (
    <SettingsSection title={t('security.password')} subtitle={t('security.passwordText')}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          change.mutate();
        }}
      >
        <Stack maw={420}>
          {/* Password managers need the user name the password belongs to. */}
          <input type="text" autoComplete="username" value={self?.username ?? ''} readOnly hidden />
          <PasswordInput
            label={t('security.original')}
            autoComplete="current-password"
            required
            value={original}
            onChange={(event) => setOriginal(event.currentTarget.value)}
          />
          <NewPasswordInput
            label={t('security.next')}
            description={t('sign-in:register.passwordHint')}
            required
            value={next}
            onChange={(event) => setNext(event.currentTarget.value)}
          />
          <ErrorAlert error={change.error} />
          <Group>
            <Button type="submit" loading={change.isPending} disabled={original === '' || next === ''}>
              {t('security.change')}
            </Button>
          </Group>
        </Stack>
      </form>
    </SettingsSection>
  );
}

/** Enabling: secret and QR code, then a code, then backup codes, shown once. Disabling requires a code. */
function TwoStepSection() {
  const { t } = useTranslation('account');
  const { data: self } = useSelf();
  const [codes, setCodes] = useState<readonly string[]>();
  const setUp = useMutation({ mutationFn: async () => (await callApi(setUpTwoFactor, {})).data });
  const on = self?.has_2fa === true;
  return (
    <SettingsSection
      title={t('security.twoStep')}
      subtitle={t('security.twoStepText')}
      aside={<Badge color={on ? 'teal' : 'gray'}>{on ? t('security.on') : t('security.off')}</Badge>}
    >
      <ErrorAlert error={setUp.error} />
      {codes !== undefined ? (
        <BackupCodes codes={codes} onKept={() => setCodes(undefined)} />
      ) : on ? (
        <DisableTwoStep />
      ) : setUp.data === undefined ? (
        <Stack align="flex-start" gap="sm">
          <Text size="sm">{t('security.setUpWarning')}</Text>
          <Button loading={setUp.isPending} onClick={() => setUp.mutate()}>
            {t('security.setUp')}
          </Button>
        </Stack>
      ) : (
        <EnableTwoStep {...setUp.data} onDone={setCodes} />
      )}
    </SettingsSection>
  );
}

interface EnableTwoStepProps {
  readonly secret: string;
  readonly otpauth_url: string;
  readonly onDone: (codes: readonly string[]) => void;
}

function EnableTwoStep({ secret, otpauth_url, onDone }: EnableTwoStepProps) {
  const { t } = useTranslation('account');
  const queries = useQueryClient();
  const enable = useMutation({
    mutationFn: async (code: string) => (await callApi(enableTwoFactor, { body: { code } })).data.backup_codes,
    onSuccess: async (codes) => {
      onDone(codes);
      await queries.invalidateQueries({ queryKey: selfQuery.queryKey });
    },
  });
  return (
    <Group align="flex-start" gap="xl">
      <QrCode text={otpauth_url} label={t('security.qr')} />
      <Stack flex={1} miw={240}>
        <Text size="sm">{t('security.scan')}</Text>
        <CopyField text={secret} />
        <CodeForm
          label={t('security.enterCode')}
          action={t('security.turnOn')}
          busy={enable.isPending}
          onCode={enable.mutate}
        />
        <ErrorAlert error={enable.error} />
      </Stack>
    </Group>
  );
}

function DisableTwoStep() {
  const { t } = useTranslation(['account', 'sign-in']);
  const queries = useQueryClient();
  const toasts = useToasts();
  const disable = useMutation({
    mutationFn: (code: string) => callApi(disableTwoFactor, { body: { code } }),
    onSuccess: async () => {
      toasts.success(t('security.turnedOff'));
      await queries.invalidateQueries({ queryKey: selfQuery.queryKey });
    },
  });
  return (
    <Stack>
      <Text size="sm">{t('security.turnOffText')}</Text>
      <CodeForm
        label={t('sign-in:signIn.code')}
        action={t('security.turnOff')}
        busy={disable.isPending}
        onCode={disable.mutate}
      />
      <ErrorAlert error={disable.error} />
    </Stack>
  );
}

interface CodeFormProps {
  readonly label: string;
  readonly action: string;
  readonly busy: boolean;
  readonly onCode: (code: string) => void;
}

function CodeForm({ label, action, busy, onCode }: CodeFormProps) {
  const [code, setCode] = useState('');
  return (
    <form
      onSubmit={(event) => {
        event.preventDefault();
        onCode(code.trim());
      }}
    >
      <Group align="flex-end" gap="sm">
        <TextInput
          label={label}
          autoComplete="one-time-code"
          maxLength={64}
          required
          withAsterisk={false}
          value={code}
          onChange={(event) => setCode(event.currentTarget.value)}
        />
        <Button type="submit" loading={busy} disabled={code.trim() === ''}>
          {action}
        </Button>
      </Group>
    </form>
  );
}

function BackupCodes({ codes, onKept: onSaved }: { readonly codes: readonly string[]; readonly onKept: () => void }) {
  const { t } = useTranslation('account');
  const text = codes.join('\n');
  return (
    <Stack>
      <Alert color="yellow" title={t('security.backupTitle')}>
        {t('security.backupText')}
      </Alert>
      <SimpleGrid cols={{ base: 2, xs: 3 }} maw={420}>
        {codes.map((code) => (
          <Code key={code} fz="sm" ta="center" py={6}>
            {code}
          </Code>
        ))}
      </SimpleGrid>
      <Group>
        <Button
          variant="default"
          component="a"
          href={`data:text/plain;charset=utf-8,${encodeURIComponent(`${text}\n`)}`}
          download="reelgate-backup-codes.txt"
        >
          {t('security.download')}
        </Button>
        <CopyIconButton text={text} />
        <Button onClick={onSaved}>{t('security.kept')}</Button>
      </Group>
    </Stack>
  );
}

/** A QR code drawn as one path; always dark on white, because scanners expect that. */
function QrCode({
  text,
  label,
  size = 196,
}: {
  readonly text: string;
  readonly label: string;
  readonly size?: number;
}) {
  const { data, size: cells } = encode(text, { border: 2 });
  const path = data.flatMap((row, y) => row.map((dark, x) => (dark ? `M${x} ${y}h1v1h-1z` : ''))).join('');
  return (
    <Box bg="white" p={4} w={size + 8} style={{ borderRadius: 10 }}>
      <svg
        width={size}
        height={size}
        viewBox={`0 0 ${cells} ${cells}`}
        role="img"
        aria-label={label}
        shapeRendering="crispEdges"
      >
        <path d={path} fill="#000" />
      </svg>
    </Box>
  );
}

function SessionsSection() {
  const { t } = useTranslation('account');
  const queries = useQueryClient();
  const toasts = useToasts();
  const [page, setPage] = useState(1);
  const sessions = useQuery({ ...sessionsQuery(page), placeholderData: keepPreviousData });
  const end = useMutation({
    mutationFn: (id: number) => callApi(endSession, { params: { id: String(id) } }),
    onSuccess: async () => {
      toasts.success(t('security.ended'));
      await queries.invalidateQueries({ queryKey: ['sessions'] });
    },
  });
  const endOthers = async (): Promise<void> => {
    try {
      await endEach(
        async () => (await callApi(listSessions, { query: {} })).data.filter(({ current }) => !current),
        ({ id }) => callApi(endSession, { params: { id: String(id) } }),
      );
    } finally {
      await queries.invalidateQueries({ queryKey: ['sessions'] });
    }
    toasts.success(t('security.othersEnded'));
  };
  const hasOthers = (sessions.data?.total ?? 0) > 2;
  return (
    <SettingsSection
      title={t('security.sessions')}
      subtitle={t('security.sessionsText')}
      aside={
        hasOthers ? (
          <ConfirmDialog
            title={t('security.endOthersTitle')}
            confirmLabel={t('security.endOthers')}
            onConfirm={endOthers}
            trigger={(open) => (
              <Button variant="light" color="red" onClick={open}>
                {t('security.endOthers')}
              </Button>
            )}
          >
            {t('security.endOthersText')}
          </ConfirmDialog>
        ) : undefined
      }
    >
      <ErrorAlert error={sessions.error ?? end.error} />
      <Stack gap="sm">
        {(sessions.data?.data ?? []).map((session) => (
          <SessionRow key={session.id} session={session}>
            {session.current ? null : (
              <Button size="compact-sm" variant="subtle" color="red" onClick={() => end.mutate(session.id)}>
                {t('security.endSession')}
              </Button>
            )}
          </SessionRow>
        ))}
      </Stack>
      <Pager page={page} total={sessions.data?.total ?? 0} pageSize={SESSIONS_PAGE_SIZE} onChange={setPage} />
    </SettingsSection>
  );
}

function ManagementTokenSection() {
  const { t } = useTranslation('account');
  const { data: self } = useSelf();
  const { data: status } = useStatus();
  const [token, setToken] = useState<string>();
  return (
    <SettingsSection
      title={t('security.access')}
      subtitle={t('security.accessText')}
      aside={
        <ConfirmDialog
          title={t('security.makeAccessTitle')}
          confirmLabel={t('security.makeAccess')}
          onConfirm={async () => setToken((await callApi(createManagementToken, {})).data.access_token)}
          trigger={(open) => (
            <Button variant="default" onClick={open}>
              {t('security.makeAccess')}
            </Button>
          )}
        >
          {t('security.makeAccessText')}
        </ConfirmDialog>
      }
    >
      {token === undefined ? null : (
        <Stack>
          <Alert color="yellow" title={t('security.accessTitle')}>
            {t('security.accessOnce', { header: status?.api_user_header, id: self?.id })}
          </Alert>
          <CopyField text={token} focused />
        </Stack>
      )}
    </SettingsSection>
  );
}

const identitiesKey = ['identities'];

/** Identities that sign in to the account; hidden where there is neither a provider nor an identity. */
function IdentitiesSection() {
  const { t } = useTranslation('account');
  const { data: status } = useStatus();
  const identities = useQuery({
    queryKey: identitiesKey,
    queryFn: async ({ signal }) => (await callApi(listIdentities, {}, { signal })).data,
  });
  const [adding, setAdding] = useState<SignInProvider>();
  const providers = status?.identity_providers ?? [];
  if (providers.length === 0 && (identities.data ?? []).length === 0) return null;
  const titleOf = (id: string): string => providers.find((each) => each.id === id)?.title ?? id;
  return (
    <SettingsSection title={t('identities.title')} subtitle={t('identities.text')}>
      <ErrorAlert error={identities.error} />
      <Stack gap="sm">
        {identities.data?.map((identity) => (
          <IdentityRow key={identity.id} identity={identity} title={titleOf(identity.provider)} />
        ))}
        <Group gap="sm">
          {providers.map((provider) => (
            <Button key={provider.id} variant="default" onClick={() => setAdding(provider)}>
              {t('identities.add', { title: provider.title })}
            </Button>
          ))}
        </Group>
      </Stack>
      {adding === undefined ? null : <LinkDialog provider={adding} onClose={() => setAdding(undefined)} />}
    </SettingsSection>
  );
}

function IdentityRow({ identity, title }: { readonly identity: Identity; readonly title: string }) {
  const { t } = useTranslation('account');
  const queries = useQueryClient();
  const toasts = useToasts();
  const remove = async (): Promise<void> => {
    await callApi(deleteIdentity, { params: { id: String(identity.id) } });
    toasts.success(t('identities.removed', { title }));
    await queries.invalidateQueries({ queryKey: identitiesKey });
  };
  return (
    <Group justify="space-between" wrap="nowrap" gap="sm">
      <div style={{ minWidth: 0 }}>
        <Text size="sm" fw={600} style={{ overflowWrap: 'anywhere' }}>
          {title}
        </Text>
        <Text size="sm" c="dimmed" style={{ overflowWrap: 'anywhere' }}>
          {identity.email === '' ? identity.sub : identity.email}
          {' · '}
          {identity.last_used_time === null ? (
            t('identities.notUsed')
          ) : (
            <RelativeTime at={identity.last_used_time} size="sm" span />
          )}
        </Text>
      </div>
      <ConfirmDialog
        title={t('identities.removeTitle', { title })}
        confirmLabel={t('identities.remove')}
        onConfirm={remove}
        trigger={(open) => (
          <Button size="compact-sm" variant="subtle" color="red" onClick={open}>
            {t('identities.remove')}
          </Button>
        )}
      >
        {t('identities.removeText')}
      </ConfirmDialog>
    </Group>
  );
}

/** Asks for the proof that the service requires, then leaves for the provider. */
function LinkDialog({ provider, onClose }: { readonly provider: SignInProvider; readonly onClose: () => void }) {
  const { t } = useTranslation(['account', 'sign-in']);
  const { data: self } = useSelf();
  const [proof, setProof] = useState('');
  const hasSecondStep = self?.has_2fa === true;
  const start = useMutation({
    mutationFn: async () => {
      const body = proof === '' ? {} : hasSecondStep ? { code: proof.trim() } : { password: proof };
      return (await callApi(startIdentityLink, { params: { provider: provider.id }, body })).data.url;
    },
    onSuccess: (url) => location.assign(url),
  });
  return (
    <FormDialog
      title={t('identities.add', { title: provider.title })}
      submitLabel={t('identities.continue', { title: provider.title })}
      save={start}
      onClose={onClose}
    >
      <Text size="sm">{t(hasSecondStep ? 'identities.proveCode' : 'identities.provePassword')}</Text>
      {hasSecondStep ? (
        <TextInput
          label={t('sign-in:signIn.code')}
          autoComplete="one-time-code"
          maxLength={64}
          required
          data-autofocus
          value={proof}
          onChange={(event) => setProof(event.currentTarget.value)}
        />
      ) : (
        <PasswordInput
          label={t('sign-in:signIn.password')}
          autoComplete="current-password"
          data-autofocus
          value={proof}
          onChange={(event) => setProof(event.currentTarget.value)}
        />
      )}
    </FormDialog>
  );
}

/** Lets an account set up the second factor that it must have, and then returns to the requested page. */
export function SecondFactorPage() {
  const { t } = useTranslation('sign-in');
  const { back } = useSearch({ from: '/sign-in/second-factor' });
  const navigate = useNavigate();
  const { data: status } = useStatus();
  // Refused until a second factor is set up.
  const self = useSelf();
  const signOut = useMutation({
    mutationFn: () => callApi(logout, {}),
    onSuccess: async () => {
      clearStoredDrafts();
      clearUserId();
      queryClient.clear();
      await navigate({ to: '/sign-in' });
    },
  });
  return (
    <Box component="main" p="md" maw={720} mx="auto">
      <Page title={t('passkeys.required.title')} size="md">
        <Stack gap="lg">
          <Text>{t('passkeys.required.text')}</Text>
          {status?.passkeys === 'on' ? <PasskeysSection /> : null}
          <TwoStepSection />
          <ErrorAlert error={signOut.error} />
          <Group justify="space-between">
            <Button variant="subtle" color="gray" loading={signOut.isPending} onClick={() => signOut.mutate()}>
              {t('passkeys.required.signOut')}
            </Button>
            {/* A full load, because the page may be one the server renders, such as the device page. */}
            <Button disabled={!self.isSuccess} onClick={() => location.assign(toSafeRedirectPath(back))}>
              {t('passkeys.required.done')}
            </Button>
          </Group>
        </Stack>
      </Page>
    </Box>
  );
}
