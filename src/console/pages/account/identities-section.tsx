import { Button, Group, PasswordInput, Stack, Text, TextInput } from '@mantine/core';
import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query';
import { useState } from 'react';
import { useTranslation } from 'react-i18next';
import {
  deleteIdentity,
  type Identity,
  listIdentities,
  type SignInProvider,
  startIdentityLink,
} from '../../../contract/identity-providers.ts';
import { ConfirmDialog, FormDialog } from '../../components/dialog.tsx';
import { ErrorAlert } from '../../components/error-alert.tsx';
import { SettingsSection } from '../../components/panel.tsx';
import { RelativeTime } from '../../components/relative-time.tsx';
import { useToasts } from '../../components/toasts.tsx';
import { callApi } from '../../data/api-client.ts';
import { useSelf, useStatus } from '../../data/self.ts';

const identitiesKey = ['identities'];

/** Identities that sign in to the account; hidden where there is neither a provider nor an identity. */
export function IdentitiesSection() {
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
